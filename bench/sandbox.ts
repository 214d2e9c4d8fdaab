/** The provider as a process of its own, with a backlog: `sandbox.ts ROOMS EVENTS_PER_ROOM` prints its address. */

import { createSandbox, listen } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'

const [rooms, eventsPerRoom] = process.argv.slice(2).map(Number)
const profile = { kind: 'backlog', rooms: rooms!, eventsPerRoom: eventsPerRoom! } as const
const { url } = await listen(createSandbox({ clock: systemClock, seed: 1, profile }))
process.stdout.write(`${url}\n`)

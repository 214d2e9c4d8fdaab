import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Admission } from '../../src/engine/admission/admission.ts'
import { createQueue } from '../../src/engine/admission/queue.ts'
import { createHeard } from '../../src/engine/series/feed.ts'
import { Rooms } from '../../src/engine/series/rooms.ts'
import { type Mask, markOf } from '../../src/postgres/mask.ts'
import { Masks } from '../../src/postgres/masks.ts'
import { requestLine } from '../../src/provider/operation.ts'
import { listPlayers } from '../../src/provider/players/index.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { appOf, hour, minute, second, settingsOf } from './harness.ts'

/* What a process keeps of each app, of which there may be thousands, while weeks go by. */

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const apps = Array.from({ length: 10 }, (_, n) => `app${n}`)

/** A text of its own each time, as they come out of an answer. */
const id = (app: string, n: number) => Buffer.from(`8f14e45f-ceea-467f-${app}-${n}`).toString()

/** KiB of heap that are left in use for each app by what `use` makes and returns. */
async function kept(use: (app: string) => unknown, then?: () => Promise<void>) {
  collect()
  const before = process.memoryUsage().heapUsed
  const made = apps.map(use)
  await then?.()
  collect()
  const after = process.memoryUsage().heapUsed
  expect(made).toHaveLength(apps.length)
  return (after - before) / 1_024 / apps.length
}

it('of what a feed told nothing is left when it was silent for as long as the provider remembers', async () => {
  const clock = new VirtualClock()
  const feeds: ReturnType<typeof createHeard>[] = []
  const begin = (app: string) => {
    const heard = createHeard(clock, hour)
    for (let n = 0; n < 5_000; n++) heard.isNews([id(app, n)])
    feeds.push(heard)
    return heard
  }
  const silence = async () => {
    await clock.advance(2 * hour)
    for (const heard of feeds) heard.isNews([])
  }
  expect(await kept(begin, silence)).toBeLessThan(50)
})

it('of rooms that were met and are none nothing is left when they would be looked at again', async () => {
  const clock = new VirtualClock()
  const all: Rooms[] = []
  const begin = (app: string) => {
    const rooms = new Rooms({ clock, app: appOf(app, []), settings: settingsOf([]), streams: [] })
    for (let n = 0; n < 5_000; n++) rooms.markSeen(id(app, n))
    all.push(rooms)
    return rooms
  }
  const later = async () => {
    await clock.advance(3 * hour)
    for (const rooms of all) rooms.markSeen('another')
  }
  expect(await kept(begin, later)).toBeLessThan(50)
})

it('who was looked up and is not forgotten is remembered once for all apps', async () => {
  const key = Buffer.alloc(32, 7)
  const answer = (app: string) => ({ rows: [{ key, marks: [markOf(key, app, 'user', 'ann')] }] })
  const pool = { query: async ({ values }: { readonly values: readonly string[] }) => answer(values[0]!) }
  const masks = new Masks(pool as never)
  const told: string[] = []
  const look = (app: string) =>
    masks.run(app, async (mask: Mask) => {
      for (let n = 0; n < 2_500; n++) mask.id(id(app, n), 'user', false)
      told.push(mask.id('ann', 'user', false), mask.id('bob', 'user', false))
    })
  let all: readonly Promise<void>[] = []
  const use = (app: string) => {
    const looked = look(app)
    all = [...all, looked]
    return looked
  }
  expect(await kept(use, async () => void (await Promise.all(all)))).toBeLessThan(150)
  expect(new Set(told.filter(each => each.startsWith('forgotten-'))).size).toBe(apps.length)
  expect(told.filter(each => each === 'bob')).toHaveLength(apps.length)
})

it('of counters nothing is left that nobody asked for since, as of the channels whose players were listed', async () => {
  const clock = new VirtualClock()
  let n = 0
  const reply = { ok: true, answer: { body: {}, size: 1 }, timing: { receivedAt: 0, elapsed: 1 } }
  const admission = new Admission(
    {
      ...{ clock, random: { next: () => 0, uuid: () => '' }, queue: createQueue() },
      ledger: {
        take: async ({ scope, group, clockBounds }) => {
          const grant = { scope, group, n: ++n, clockBounds: clockBounds() }
          return { granted: true, grant, now: clock.now(), ahead: 0 }
        },
        settle: async () => {},
        wasSetBack: async () => {},
      },
      transport: { send: async () => reply } as never,
      meter: { request: () => {}, limitViolation: () => {}, debit: () => {}, clockDoubt: () => {} },
    },
    second,
  )
  const ask = (scope: string, window = 60) =>
    admission.send({
      ...{ app: 'a', fence: { shard: 0, owner: '', epoch: 0 }, life: minute, purpose: 'live' },
      signal: new AbortController().signal,
      request: requestLine(listPlayers, { appId: 'a' }),
      limit: { scope, rates: [{ requests: 15, window }], concurrency: 2, counted: 'ledger' },
    })
  await ask('a')
  const left = await kept(
    () => admission,
    async () => {
      for (let channel = 0; channel < 3_000; channel++) await ask(`a ${id('math', channel)}`)
      await clock.advance(3 * hour)
      await ask('a')
    },
  )
  expect(left).toBeLessThan(100)
})

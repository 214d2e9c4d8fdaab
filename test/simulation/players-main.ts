import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock/system.ts'
import { startTestServer } from '../support/postgres.ts'
import { runPlayersDay } from './players-day.ts'
import { type PlayersMutantName, playersMutants, wrongOf } from './players-mutants.ts'
import { type PlayersWorldName, playersWorlds } from './players-worlds.ts'
import { pronounce } from './verdict.ts'
import { drawSwitches } from './world.ts'

const hour = 3_600_000
const names = Object.keys(playersWorlds) as PlayersWorldName[]
const usage = `npm run players-day -- [--world ${names.join('|')}] [--hours N] [--seed N] [--kills-per-hour N]
                       [--processes N] [--plain] [--bug NAME]
What the provider's documents leave open is drawn by the seed, unless the world says it.
plain: nothing goes wrong. bug: one of ${Object.keys(playersMutants).join(', ')}.
Prints one JSON object: what happened, and what is not as it must be; ends with 1 if anything is not.`

function readArguments() {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const { values } = parseArgs({
    options: {
      world: text('class'),
      hours: text('24'),
      seed: text('1'),
      'kills-per-hour': text('2'),
      processes: text('1'),
      plain: { type: 'boolean', default: false },
      bug: { type: 'string' },
    },
  })
  const world = names.find(name => name === values.world)
  const hours = Number(values.hours)
  const seed = Number(values.seed)
  const kills = Number(values['kills-per-hour']) * hours
  const processes = Number(values.processes)
  const isKnown = values.bug === undefined || Object.hasOwn(playersMutants, values.bug)
  if (!world || !isKnown || ![hours, seed, kills, processes].every(amount => amount >= 0))
    throw new TypeError(usage)
  return { world, hours, seed, kills, processes, plain: values.plain, bug: values.bug as PlayersMutantName }
}

const { world, hours, plain, bug, ...asked } = readArguments()
const { apps, switches, ...troubles } = playersWorlds[world]
const server = await startTestServer()
const began = systemClock.monotonic()
const result = await runPlayersDay({
  apps,
  switches: { ...drawSwitches(asked.seed), ...switches },
  ...(plain ? {} : troubles),
  ...asked,
  ...(bug && { bug: playersMutants[bug].plant() }),
  length: hours * hour,
  cloneDatabase: () => server.clone(),
})
const seconds = Math.round((systemClock.monotonic() - began) / 1_000)
process.stdout.write(`${JSON.stringify({ world, hours, ...asked, ...result, seconds })}\n`)
await server.stop()
pronounce(wrongOf(result))

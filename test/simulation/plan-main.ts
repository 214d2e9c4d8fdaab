import { parseArgs } from 'node:util'
import { parseSwitches } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { type Plan, plans } from '../../src/provider/limits.ts'
import { startTestServer } from '../support/postgres.ts'
import { runPlanDay } from './plan-day.ts'
import { drawWorld } from './plan-draw.ts'
import { type PlanMutantName, planMutants, wrongFigures } from './plan-mutants.ts'
import { avoidable } from './plan-oracle.ts'
import { pronounce } from './verdict.ts'

const hour = 3_600_000
const usage = `npm run plan-day -- [--plan ${plans.join('|')}] [--hours N] [--seed N] [--kills N] [--processes N] [--apps N]
                    [--delay MS] [--calls PER-DAY] [--users PER-CALL] [--minutes PER-CALL] [--days OF-HISTORY]
                    [--switch name=value ...] [--series all|few] [--bug NAME]
What the provider's document leaves open is drawn by the seed, unless a switch says it, and so is what it does amiss:
values that come late or never, hours in which less is served, and in runs of five hours or more windows of faults;
whether real time of channels is asked while something goes on in them, whether a project of another plan shares the
credential, and whether the operator says that each endpoint has a counter of its own (limits: split) where it has.
--apps counts the projects of --plan. Overload is not drawn: what it may cost is judged by tests of its own.
bug: one of ${Object.keys(planMutants).join(', ')}.
few: one usage and one quality insight by the hour, so that a day is enough to read all that the plan reaches.
Prints one JSON object: what was asked, what broke a limit, what is complete, what is missing.
Ends with 1 where a limit was broken, or where something is missing, invented or lost that the plan had room for
and that nothing drawn made unavoidable.`

const few = `
  usage-insight: { metrics: [userCount], granularities: [hour] }
  quality-insight: { metrics: [networkDelay], granularities: [hour] }`

function readArguments() {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const { values } = parseArgs({
    options: {
      plan: text('premium'),
      hours: text('24'),
      seed: text('1'),
      kills: text('0'),
      processes: text('1'),
      apps: text('1'),
      delay: text('200'),
      calls: text('400'),
      users: text('12'),
      minutes: text('40'),
      days: text('1'),
      series: text('all'),
      bug: { type: 'string' },
      switch: { type: 'string', multiple: true, default: [] },
    },
  })
  const plan = plans.find(one => one === values.plan)
  const amounts = Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      typeof value === 'string' && !['plan', 'series', 'bug'].includes(name) ? [[name, Number(value)]] : [],
    ),
  ) as Record<
    'hours' | 'seed' | 'kills' | 'processes' | 'apps' | 'delay' | 'calls' | 'users' | 'minutes' | 'days',
    number
  >
  const isKnown = values.bug === undefined || Object.hasOwn(planMutants, values.bug)
  if (!plan || !isKnown || Object.values(amounts).some(amount => !(amount >= 0))) throw new TypeError(usage)
  const pairs = values.switch.map(pair => pair.split('=') as [string, string])
  const streams = values.series === 'few' ? few : ''
  const bug = values.bug as PlanMutantName | undefined
  const said = parseSwitches(Object.fromEntries(pairs))
  const world = drawWorld({ plan, said, seed: amounts.seed, length: amounts.hours * hour })
  return { plan: plan as Plan, bug, streams, world, ...amounts }
}

const { plan, bug, streams, world, hours, seed, kills, processes, apps, delay, calls, users, minutes, days } =
  readArguments()
const server = await startTestServer()
const began = systemClock.monotonic()
const result = await runPlanDay({
  ...{ plan, seed, kills, processes, apps, delay, streams, length: hours * hour },
  ...world,
  profile: { callsPerDay: calls, users, minutes, days },
  ...(bug && { bug: planMutants[bug].plant() }),
  cloneDatabase: () => server.clone(),
})
const seconds = Math.round((systemClock.monotonic() - began) / 1_000)
process.stdout.write(`${JSON.stringify({ plan, hours, seed, ...world, ...result, seconds })}\n`)
await server.stop()
const { findings } = result
pronounce({
  ...wrongFigures(result),
  ...avoidable(result, hours * hour),
  ...(findings.length > 0 && { findings }),
})

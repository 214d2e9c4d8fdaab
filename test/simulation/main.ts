import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock/system.ts'
import { startTestServer } from '../support/postgres.ts'
import { wanted } from './coverage.ts'
import { type FaultClass, faultClasses } from './demands.ts'
import { callsADay, eventsADay, missed, playGate, tenantDays } from './gate.ts'
import { plans } from './oracle/contract.ts'
import { play, say, type Told } from './play.ts'
import { tours, worldOf } from './tours.ts'

const usage = `npm run sim -- [--seed N] [--seeds K] [--days D | --tour NAME] [--plan PLAN] [--without CLASS,...] [--once] [--patience M] [--calm M] [--classes C] [--json] [--verbose]
npm run sim -- --gate [--jobs J] [--tenant-days T] [--minutes M] [--record FILE]
A seed plays the world that it draws: D days of faults, and what heals them. Without days, tour, plan or classes the first ones play
the tours, each another one: --seeds ${Object.keys(tours).length} --once plays all. Every run is played twice, and both must be equal, unless --once is said.
A gate plays the seeds that once failed and then others, J at a time, until T tenant-days were played and every kind of
trouble has happened; or until M minutes are over, whatever is missing by then: one tenant-day is ${eventsADay} events and ${callsADay} calls of an app. With a record,
seeds that stand there are not played again.
A run that heals ends when the same has been amiss for M minutes, 60 unless told (patience), and not before M minutes are over even if
all is well (calm): 65, when all is owed that will be, and in a gate 0, unless told.
Classes: so many at one time, instead of what the seed says.
A tour is a world made for what is rare; PLAN takes the place of the plan that the seed draws.
NAME: ${Object.keys(tours).join(', ')}
PLAN: ${plans.join(', ')}
CLASS: ${faultClasses.join(', ')}`

type Arguments = ReturnType<typeof readArguments>

function readArguments() {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    options: {
      seed: text('1'),
      seeds: text('1'),
      days: { type: 'string' },
      tour: { type: 'string' },
      plan: { type: 'string' },
      without: text(''),
      once: flag,
      json: flag,
      verbose: flag,
      gate: flag,
      jobs: text('2'),
      'tenant-days': text('7'),
      minutes: text('600'),
      patience: text('60'),
      calm: { type: 'string' },
      classes: { type: 'string' },
      record: { type: 'string' },
    },
  })
  const numbers = {
    ...{ seed: Number(values.seed), seeds: Number(values.seeds), days: Number(values.days ?? 0.06) },
    ...{
      jobs: Number(values.jobs),
      tenantDays: Number(values['tenant-days']),
      minutes: Number(values.minutes),
      patience: Number(values.patience),
    },
  }
  const calm = values.calm === undefined ? (values.gate ? 0 : undefined) : Number(values.calm)
  const classes = values.classes === undefined ? undefined : Number(values.classes)
  const without = values.without.split(',').filter(Boolean) as FaultClass[]
  const { tour, plan: said } = values
  const plan = plans.find(one => one === said)
  const isKnown =
    without.every(one => faultClasses.includes(one)) &&
    (tour === undefined || Object.hasOwn(tours, tour)) &&
    said === plan
  const isCalm = calm === undefined || calm >= 0
  if (Object.values(numbers).some(number => !(number > 0)) || !isKnown || !isCalm) throw new TypeError(usage)
  const { once, json, verbose, gate, record } = values
  // Who says what the world is to be like means the world that the seed draws.
  const isDrawn = values.days !== undefined || plan !== undefined || classes !== undefined
  return { ...numbers, calm, classes, tour, plan, isDrawn, without, once, json, verbose, gate, record }
}

async function playSeeds(asked: Arguments): Promise<readonly Told[]> {
  const server = await startTestServer()
  try {
    const told: Told[] = []
    for (let n = 0; n < asked.seeds; n++) {
      const seed = asked.seed + n
      const world = asked.tour !== undefined || asked.isDrawn ? { seed } : worldOf(seed)
      told.push(await play(server, { ...asked, ...world }))
    }
    return told
  } finally {
    await server.stop()
  }
}

/** What nobody catches ends a real process as well: it is a finding. */
function diesOf(error: Error): never {
  say(`FAILED: nobody caught what was thrown\n  ${error.stack ?? String(error)}`)
  process.exit(1)
}

async function main(): Promise<boolean> {
  const asked = readArguments()
  if (!asked.gate) process.on('uncaughtException', diesOf)
  const began = systemClock.monotonic()
  const told = await (asked.gate ? playGate(asked) : playSeeds(asked))
  const never = asked.gate ? missed(told) : []
  const isTimeUp = systemClock.monotonic() - began > asked.minutes * 60_000
  const failed = told.filter(({ findings, repeated }) => findings > 0 || !repeated)
  if (never.length > 0) say(`never happened: ${never.join('; ')}`)
  const minutes = (systemClock.monotonic() - began) / 60_000
  say(
    `${told.length} runs, ${tenantDays(told).toFixed(2)} tenant-days in ${minutes.toFixed(1)} minutes: ` +
      `${failed.length} failed${asked.gate ? `, ${wanted.length - never.length} of ${wanted.length} kinds of trouble happened` : ''}`,
  )
  if (asked.json) process.stdout.write(`${JSON.stringify({ runs: told, missed: never, minutes })}\n`)
  return told.length > 0 && failed.length === 0 && (never.length === 0 || isTimeUp)
}

process.exitCode = (await main()) ? 0 : 1

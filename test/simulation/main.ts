import { existsSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock/system.ts'
import { startTestServer, type TestServer } from '../support/postgres.ts'
import { wanted } from './coverage.ts'
import { type Demands, type FaultClass, faultClasses } from './draw.ts'
import { type RunResult, runSimulation } from './run.ts'
import { firstDifference } from './trace.ts'

const day = 86_400_000
const usage = `npm run sim -- [--seed N] [--seeds K] [--days D] [--without CLASS,...] [--once] [--json] [--verbose]
npm run sim -- --gate [--tenant-days T] [--minutes M] [--record FILE]
A run plays D days of faults and what heals them; every seed is played twice, and both must be equal, unless --once is said.
A gate plays the seeds that once failed and then others until T tenant-days were played or M minutes are over: one
tenant-day is ${20_000} events and ${200} calls of an app. With a record, seeds that stand there are not played again.
CLASS: ${faultClasses.join(', ')}`
/** What makes a tenant-day. */
const eventsADay = 20_000
const callsADay = 200
const longestList = 12

type Arguments = ReturnType<typeof readArguments>

/** A run of a seed, as it is told and recorded. */
interface Told {
  readonly seed: number
  readonly days: number
  readonly findings: number
  readonly repeated: boolean
  readonly events: number
  readonly calls: number
  readonly requests: number
  readonly boots: number
  readonly steps: number
  readonly seconds: number
  readonly hash: string
  readonly happened: readonly string[]
}

function readArguments() {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    options: {
      seed: text('1'),
      seeds: text('1'),
      days: text('0.1'),
      without: text(''),
      once: flag,
      json: flag,
      verbose: flag,
      gate: flag,
      'tenant-days': text('7'),
      minutes: text('600'),
      record: { type: 'string' },
    },
  })
  const numbers = [values.seed, values.seeds, values.days, values['tenant-days'], values.minutes].map(Number)
  const [seed, seeds, days, tenantDays, minutes] = numbers as [number, number, number, number, number]
  const without = values.without.split(',').filter(Boolean) as FaultClass[]
  const isKnown = without.every(one => faultClasses.includes(one))
  if (numbers.some(number => !(number > 0)) || !isKnown) throw new TypeError(usage)
  const { once, json, verbose, gate, record } = values
  return { seed, seeds, days, tenantDays, minutes, without, once, json, verbose, gate, record }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

class Simulation {
  readonly #asked: Arguments
  readonly #server: TestServer

  constructor(asked: Arguments, server: TestServer) {
    this.#asked = asked
    this.#server = server
  }

  /** Plays a seed, twice unless told otherwise, says what is wrong, and how to see it again. */
  async play(seed: number, days: number): Promise<Told> {
    const { without, once } = this.#asked
    const began = systemClock.monotonic()
    const result = await this.#run(seed, days, { without })
    const seconds = (systemClock.monotonic() - began) / 1_000
    const again = once ? undefined : await this.#run(seed, days, { without })
    const difference = again && firstDifference(result.trace, again.trace)
    const { events, calls, requests, boots, happened } = result
    const told: Told = {
      ...{ seed, days, events, calls, requests, boots, seconds },
      findings: result.findings.length,
      repeated: difference === undefined,
      steps: result.trace.entries.length,
      hash: result.trace.hash(),
      happened: [...happened],
    }
    say(line(told))
    if (result.findings.length > 0) await this.#explain(seed, days, result)
    if (difference) say(`  the second run went another way:\n    ${difference[0]}\n    ${difference[1]}`)
    return told
  }

  #run(seed: number, days: number, demands: Demands): Promise<RunResult> {
    return runSimulation({ seed, length: days * day, demands, cloneDatabase: () => this.#server.clone() })
  }

  async #explain(seed: number, days: number, { findings, drawn }: RunResult): Promise<void> {
    const { verbose, without } = this.#asked
    for (const finding of findings.slice(0, verbose ? findings.length : longestList)) say(`  ${finding}`)
    if (findings.length > longestList && !verbose) say(`  and ${findings.length - longestList} more`)
    const needed = verbose ? await this.#fewest(seed, days, drawn.classes) : drawn.classes
    const left = faultClasses.filter(one => !needed.includes(one) || without.includes(one))
    const option = left.length > 0 ? ` --without "${left.join(',')}"` : ''
    say(`  ${verbose ? 'fails with no more than' : 'faults'}: ${needed.join(', ') || 'none'}`)
    say(`  again: npm run sim -- --seed ${seed} --days ${days}${verbose ? option : ''}`)
  }

  /** The smallest set of fault classes with which a seed still fails, found by leaving out one after the other. */
  async #fewest(seed: number, days: number, all: readonly FaultClass[]): Promise<readonly FaultClass[]> {
    let needed = [...all]
    for (const one of all) {
      const fewer = needed.filter(other => other !== one)
      const without = faultClasses.filter(other => !fewer.includes(other))
      if ((await this.#run(seed, days, { without })).findings.length > 0) needed = fewer
    }
    return needed
  }
}

function line(told: Told): string {
  const { seed, findings, repeated, events, calls, requests, boots, steps, seconds, hash } = told
  return [
    `seed ${seed}: ${findings === 0 ? 'well' : `FAILED (${findings})`}${repeated ? '' : ', NOT REPEATED'}`,
    `${events} events, ${calls} calls, ${requests} requests, ${boots} boots, ${steps} steps in ${seconds.toFixed(1)} s`,
    `trace ${hash.slice(0, 12)}`,
  ].join('; ')
}

function tenantDays(told: readonly Told[]): number {
  const sum = (of: (one: Told) => number) => told.reduce((all, one) => all + of(one), 0)
  return Math.min(sum(({ events }) => events) / eventsADay, sum(({ calls }) => calls) / callsADay)
}

interface Regression {
  readonly seed: number
  readonly days: number
}

/** Seeds that failed once, each with the length at which it did. */
function regressions(): readonly Regression[] {
  return JSON.parse(readFileSync(new URL('regressions.json', import.meta.url), 'utf8')) as Regression[]
}

function recorded(file: string | undefined): readonly Told[] {
  if (!file || !existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(text => JSON.parse(text) as Told)
}

/** Plays until enough was played; answers what was, and what never happened in it. */
async function playGate(simulation: Simulation, asked: Arguments) {
  const told = [...recorded(asked.record)]
  const known = new Set(told.map(({ seed, days }) => `${seed} ${days}`))
  const end = systemClock.monotonic() + asked.minutes * 60_000
  const drawn = function* (): Generator<Regression> {
    yield* regressions()
    for (let seed = asked.seed; ; seed++) yield { seed, days: asked.days }
  }
  for (const { seed, days } of drawn()) {
    if (tenantDays(told) >= asked.tenantDays || systemClock.monotonic() > end) break
    if (known.has(`${seed} ${days}`)) continue
    const one = await simulation.play(seed, days)
    told.push(one)
    if (asked.record) await appendFile(asked.record, `${JSON.stringify(one)}\n`)
  }
  const happened = new Set(told.flatMap(one => one.happened))
  return { told, missed: wanted.filter(what => !happened.has(what)) }
}

async function main(): Promise<boolean> {
  const asked = readArguments()
  const server = await startTestServer()
  const began = systemClock.monotonic()
  try {
    const simulation = new Simulation(asked, server)
    const told: Told[] = []
    let missed: readonly string[] = []
    if (asked.gate) {
      const gate = await playGate(simulation, asked)
      told.push(...gate.told)
      missed = gate.missed
    } else {
      for (let n = 0; n < asked.seeds; n++) told.push(await simulation.play(asked.seed + n, asked.days))
    }
    const failed = told.filter(({ findings, repeated }) => findings > 0 || !repeated)
    if (missed.length > 0) say(`never happened: ${missed.join('; ')}`)
    const minutes = (systemClock.monotonic() - began) / 60_000
    say(
      `${told.length} runs, ${tenantDays(told).toFixed(2)} tenant-days in ${minutes.toFixed(1)} minutes: ` +
        `${failed.length} failed${asked.gate ? `, ${wanted.length - missed.length} of ${wanted.length} kinds of trouble happened` : ''}`,
    )
    if (asked.json) process.stdout.write(`${JSON.stringify({ runs: told, missed, minutes })}\n`)
    return failed.length === 0 && missed.length === 0
  } finally {
    await server.stop()
  }
}

process.exitCode = (await main()) ? 0 : 1

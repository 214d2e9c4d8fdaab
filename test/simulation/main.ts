import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock/system.ts'
import { startTestServer } from '../support/postgres.ts'
import { type MutantName, mutants } from './mutants.ts'
import { type RunResult, runSimulation } from './simulation.ts'
import { firstDifference } from './trace.ts'

const day = 86_400_000
const usage = `npm run sim -- [--seed N] [--days D] [--seeds K] [--json] [--mutant M] [--like M]
M: ${Object.keys(mutants).join(', ')}`
const longestList = 10

interface Summary {
  readonly seed: number
  readonly passed: boolean
  readonly repeated: boolean
  readonly findings: number
  readonly breaches: number
  readonly events: number
  readonly boots: number
  readonly steps: number
  readonly days: number
  readonly seconds: number
  readonly hash: string
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      days: { type: 'string', default: '0.25' },
      seeds: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      mutant: { type: 'string' },
      like: { type: 'string' },
    },
  })
  const [seed, days, seeds] = [values.seed, values.days, values.seeds].map(Number) as [number, number, number]
  const { mutant, like, json } = values
  const isKnown = [mutant, like].every(name => name === undefined || Object.hasOwn(mutants, name))
  if (!Number.isInteger(seed) || !(days > 0) || !(seeds >= 1) || !isKnown) throw new TypeError(usage)
  const planted = { mutant: mutant as MutantName | undefined, like: like as MutantName | undefined }
  return { seed, days, seeds, json, ...planted }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

function report(result: RunResult): void {
  const { switches } = result.scenario
  say(`  faults: ${result.faults.join(', ') || 'none'}; switches: ${JSON.stringify(switches)}`)
  list('breaches', result.breaches)
  const kinds = Map.groupBy(result.findings, ({ kind }) => kind)
  for (const [kind, found] of kinds)
    list(
      kind,
      found.map(({ text }) => text),
    )
}

function list(title: string, lines: readonly string[]): void {
  if (lines.length > 0) say(`  ${title}: ${lines.length}`)
  for (const line of lines.slice(0, longestList)) say(`    ${line}`)
}

/** Plays every seed twice; answers false when one failed or did not repeat. */
async function main(): Promise<boolean> {
  const { seed: first, days, seeds, json, mutant, like } = readArguments()
  const server = await startTestServer()
  const summaries: Summary[] = []
  try {
    for (let seed = first; seed < first + seeds; seed++) {
      const options = { seed, length: days * day, mutant, like, cloneDatabase: () => server.clone() }
      const began = systemClock.monotonic()
      const result = await runSimulation(options)
      const seconds = (systemClock.monotonic() - began) / 1_000
      const again = await runSimulation(options)
      const difference = firstDifference(result.trace, again.trace)
      const summary: Summary = {
        seed,
        passed: result.passed,
        repeated: difference === undefined,
        findings: result.findings.length,
        breaches: result.breaches.length,
        events: result.events,
        boots: result.boots,
        steps: result.trace.entries.length,
        days: result.elapsed / day,
        seconds,
        hash: result.trace.hash(),
      }
      summaries.push(summary)
      say(line(summary))
      if (!result.passed) report(result)
      if (difference) say(`  the second run went another way:\n    ${difference[0]}\n    ${difference[1]}`)
      if (!result.passed || difference) {
        const planted = `${mutant ? ` --mutant ${mutant}` : ''}${like ? ` --like ${like}` : ''}`
        say(`  again: npm run sim -- --seed ${seed} --days ${days}${planted}`)
      }
    }
  } finally {
    await server.stop()
  }
  if (json) process.stdout.write(`${JSON.stringify({ days, mutant, seeds: summaries })}\n`)
  return summaries.every(({ passed, repeated }) => passed && repeated)
}

function line(summary: Summary): string {
  const { seed, passed, repeated, events, boots, steps, days, seconds, hash } = summary
  const speed = ((days / seconds) * 60).toFixed(1)
  return [
    `seed ${seed}: ${passed ? 'well' : 'FAILED'}${repeated ? '' : ', NOT REPEATED'}`,
    `${events} events, ${boots} boots, ${steps} steps, ${days.toFixed(2)} days in ${seconds.toFixed(1)} s`,
    `(${speed} days a minute), trace ${hash.slice(0, 12)}`,
  ].join('; ')
}

process.exitCode = (await main()) ? 0 : 1

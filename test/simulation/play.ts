import { systemClock } from '../../src/clock/system.ts'
import type { TestServer } from '../support/postgres.ts'
import { type FaultClass, faultClasses } from './demands.ts'
import type { Plan } from './oracle/contract.ts'
import { type RunResult, runSimulation } from './run.ts'
import { tours } from './tours.ts'
import { firstDifferences } from './trace.ts'

const day = 86_400_000
const longestList = 12
/** ms */
const tellEvery = 30_000

/** What to play of a seed, and how. */
export interface Wish {
  readonly seed: number
  readonly days: number
  /** Plays this tour, of the length that it has, and not what the seed makes of the world. */
  readonly tour?: string | undefined
  /** In place of what the seed says. */
  readonly plan?: Plan | undefined
  readonly without: readonly FaultClass[]
  readonly once: boolean
  /** Virtual minutes after the faults in which something must change for the better. */
  readonly patience: number
  /** Virtual minutes after the faults in which it goes on though all is well; until all is owed where it is not said. */
  readonly calm: number | undefined
  /** At one time; as the seed says where it is not said. */
  readonly classes: number | undefined
  readonly verbose: boolean
}

/** A run of a seed, as it is told and recorded. */
export interface Told {
  readonly seed: number
  readonly days: number
  readonly tour?: string | undefined
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

export function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Plays a seed, twice unless told otherwise, says what is wrong, and how to see it again. */
export async function play(server: TestServer, wish: Wish): Promise<Told> {
  const { seed, days, tour, once } = wish
  const began = systemClock.monotonic()
  const result = await run(server, wish)
  const seconds = (systemClock.monotonic() - began) / 1_000
  const again = once ? undefined : await run(server, wish, result.found)
  const differences = again ? firstDifferences(result.trace, again.trace) : []
  const { events, calls, requests, boots, happened } = result
  const told: Told = {
    ...{ seed, days, tour, events, calls, requests, boots, seconds },
    findings: result.findings.length,
    repeated: differences.length === 0,
    steps: result.trace.entries.length,
    hash: result.trace.hash(),
    happened: [...happened],
  }
  say(line(told))
  if (result.findings.length > 0) await explain(server, wish, result)
  if (differences.length > 0)
    say(['  the second run went another way:', ...differences.flat()].join('\n    '))
  return told
}

function run(server: TestServer, wish: Wish, before?: RunResult['found']): Promise<RunResult> {
  const { seed, days, tour, plan, without, patience, calm, classes } = wish
  let told = systemClock.monotonic()
  const { length, demands } = tours[tour ?? ''] ?? {
    length: days * day,
    demands: { classes, ...(plan && { plan }) },
  }
  return runSimulation({
    ...{
      seed,
      length,
      before,
      patience: patience * 60_000,
      ...(calm !== undefined && { calm: calm * 60_000 }),
    },
    demands: { ...demands, without: [...(demands.without ?? []), ...without] },
    cloneDatabase: () => server.clone(),
    progress: share => {
      const now = systemClock.monotonic()
      if (now - told < tellEvery) return
      told = now
      say(`  seed ${seed}: ${Math.floor(share * 100)} %`)
    },
  })
}

async function explain(server: TestServer, wish: Wish, { findings, drawn }: RunResult): Promise<void> {
  const { seed, days, tour, plan, verbose, without, classes } = wish
  for (const finding of findings.slice(0, verbose ? findings.length : longestList)) say(`  ${finding}`)
  if (findings.length > longestList && !verbose) say(`  and ${findings.length - longestList} more`)
  const needed = verbose ? await fewest(server, wish, drawn.classes) : drawn.classes
  const left = faultClasses.filter(one => !needed.includes(one) || without.includes(one))
  const option = left.length > 0 ? ` --without "${left.join(',')}"` : ''
  say(`  ${verbose ? 'fails with no more than' : 'faults'}: ${needed.join(', ') || 'none'}`)
  const length = tour ? `--tour ${tour}` : `--days ${days}${plan ? ` --plan ${plan}` : ''}`
  say(
    `  again: npm run sim -- --seed ${seed} ${length}${classes ? ` --classes ${classes}` : ''}${verbose ? option : ''}`,
  )
}

/** The smallest set of fault classes with which a seed still fails, found by leaving out one after the other. */
async function fewest(
  server: TestServer,
  wish: Wish,
  all: readonly FaultClass[],
): Promise<readonly FaultClass[]> {
  let needed = [...all]
  for (const one of all) {
    const fewer = needed.filter(other => other !== one)
    const without = faultClasses.filter(other => !fewer.includes(other))
    if ((await run(server, { ...wish, without })).findings.length > 0) needed = fewer
  }
  return needed
}

function line(told: Told): string {
  const { seed, tour, findings, repeated, events, calls, requests, boots, steps, seconds, hash } = told
  return [
    `seed ${seed}${tour ? `, tour ${tour}` : ''}: ${findings === 0 ? 'well' : `FAILED (${findings})`}${repeated ? '' : ', NOT REPEATED'}`,
    `${events} events, ${calls} calls, ${requests} requests, ${boots} boots, ${steps} steps in ${seconds.toFixed(1)} s`,
    `trace ${hash.slice(0, 12)}`,
  ].join('; ')
}

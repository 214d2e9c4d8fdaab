import type { FaultRule, Switches } from '../../sandbox/src/index.ts'
import { limitMessages } from '../../src/provider/analytics/answers.ts'
import type { AnalyticsLimitReading } from '../../src/provider/analytics/index.ts'
import { type Plan, plans } from '../../src/provider/limits.ts'
import { drawSwitches, isDrawn, pick, share } from './world.ts'

const minute = 60_000
const hour = 60 * minute

/** Rules of faults that are in force between two moments, ms from the beginning. */
export interface FaultWindow {
  readonly from: number
  readonly to: number
  readonly rules: readonly FaultRule[]
}

/** One of the providers that the document allows, and what it does amiss for a while. */
export interface DrawnWorld {
  readonly switches: Switches
  readonly faults: readonly FaultWindow[]
  /** What the operator asks of channels. */
  readonly channels: 'live' | undefined
  /** Of one project more on the same credential. */
  readonly otherPlan: Plan | undefined
  /** What the operator knows of endpoints with one table of limits. */
  readonly reading: AnalyticsLimitReading
}

export interface WorldOptions {
  readonly seed: number
  readonly plan: Plan
  /** Of the run, ms. */
  readonly length: number
  /** In place of those that are drawn. */
  readonly said?: Partial<Switches>
}

/** Faults after which a daemon must be whole again; each is there in half of the worlds. */
const faultClasses = ['empty', 'malformed', 'bad request', 'limit', 'maintenance'] as const
const operations = [
  ...(['callSearch', 'callSessions', 'callMetrics', 'usageInsight', 'qualityInsight'] as const),
  ...(['realtimeUsage', 'realtimeQuality'] as const),
]
/** The others do not promise a value for each time. */
const promising = operations.slice(3)
/** Messages beside code 300 about one question; of the others a whole day or plan is the matter. */
const refusing = Object.entries(limitMessages).flatMap(([message, kind]) =>
  kind === 'no_access' || kind === 'qpd_limit' ? [] : [message],
)
const shortestFault = 10 * minute
/** Refusals of what the plan allows last longer, where the run has the time: what they taught must be unlearnt. */
const longestFault = { limit: 2 * hour, maintenance: shortestFault, other: 45 * minute }
/** Before faults begin, and after they have ended: what they delayed is had by then. */
const lead = hour
const healing = 2.5 * hour

/** Each draw has chance of its own, so that a new one changes nothing in the others. */
export function drawWorld({ seed, plan, length, said }: WorldOptions): DrawnWorld {
  const switches = { ...drawSwitches(seed), ...said }
  const others = plans.filter(other => other !== plan)
  // Who says split where one counter counts for both is refused by his own fault.
  const isSplit = switches.counters === 'separate' && isDrawn(seed, 'split limits')
  return {
    switches,
    faults: drawFaults(seed, length),
    channels: isDrawn(seed, 'live channels') ? 'live' : undefined,
    otherPlan: isDrawn(seed, 'other plan') ? pick(seed, 'other plan', others) : undefined,
    reading: isSplit ? 'split' : 'joint',
  }
}

function drawFaults(seed: number, length: number): readonly FaultWindow[] {
  return faultClasses.flatMap(name => {
    const longest = name === 'limit' || name === 'maintenance' ? longestFault[name] : longestFault.other
    const latest = length - healing - longest
    if (latest < lead || !isDrawn(seed, name)) return []
    const from = Math.round(lead + share(seed, `${name}/from`) * (latest - lead))
    const lasts = shortestFault + share(seed, `${name}/length`) * (longest - shortestFault)
    return [{ from, to: Math.round(from + lasts), rules: [{ ...ruleOf(name, seed), rate: 1 }] }]
  })
}

function ruleOf(name: (typeof faultClasses)[number], seed: number): FaultRule {
  if (name === 'maintenance') return { kind: 'html', app: 'app0' }
  const struck = name === 'empty' ? promising : operations
  const concerned = isDrawn(seed, `${name}/of one`) ? { operation: pick(seed, `${name}/of`, struck) } : {}
  if (name === 'empty' || name === 'malformed') return { kind: name, ...concerned }
  if (name === 'bad request') return { kind: 'status', status: 400, ...concerned }
  const message = pick(seed, `${name}/message`, refusing)
  const status = Number(drawSwitches(seed).limitStatus)
  return { kind: 'status', status, code: 300, message, ...concerned }
}

import { seededRandom } from '../../src/clock/seeded.ts'
import { limitMessages } from '../../src/provider/analytics/errors.ts'
import { type FaultRule, type Switches, switchTable } from '../../src/sandbox/index.ts'

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
  readonly switches: Partial<Switches>
  readonly faults: readonly FaultWindow[]
}

/** What the document of the call analytics leaves open and every daemon must be right in, however it is set up. */
const open = [
  ...(['callSearch', 'limitStatus', 'limitsOutsideSearch', 'successCode', 'emptyLists', 'kvs'] as const),
  ...(['counters', 'countersPer', 'day', 'limiter', 'realtimeEnd', 'realtimeUid'] as const),
]

/** A form that no daemon can be expected to read. */
const unreadable = 'words'

/** What is promised and not kept: entries that come late or never, hours in which less is served than the plan says. */
const broken = { missingValues: 0.05, lateValueSeconds: 600, tightHours: 0.2 } as const

/** Faults after which a daemon must be whole again; each is there in half of the worlds. */
const faultClasses = ['empty', 'malformed', 'bad request', 'limit'] as const
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
const longestFault = 45 * minute
/** Before faults begin, and after they have ended: what they delayed is had by then. */
const lead = hour
const healing = 2.5 * hour

/** Each draw has chance of its own, so that a new one changes nothing in the others. `length` of the run in ms. */
export function drawWorld(seed: number, length: number): DrawnWorld {
  return { switches: { ...drawSwitches(seed), ...drawBroken(seed) }, faults: drawFaults(seed, length) }
}

function drawSwitches(seed: number): Partial<Switches> {
  return Object.fromEntries(
    open.map(name => {
      const values = switchTable[name].values.filter(value => value !== unreadable)
      return [name, pick(seed, name, values)]
    }),
  )
}

function drawBroken(seed: number): Partial<Switches> {
  return Object.fromEntries(
    Object.entries(broken).map(([name, share]) => [name, isDrawn(seed, name) ? share : 0]),
  )
}

function drawFaults(seed: number, length: number): readonly FaultWindow[] {
  const latest = length - healing - longestFault
  if (latest < lead) return []
  return faultClasses
    .filter(name => isDrawn(seed, name))
    .map(name => {
      const from = Math.round(lead + share(seed, `${name}/from`) * (latest - lead))
      const lasts = shortestFault + share(seed, `${name}/length`) * (longestFault - shortestFault)
      return { from, to: Math.round(from + lasts), rules: [{ ...ruleOf(name, seed), rate: 1 }] }
    })
}

function ruleOf(name: (typeof faultClasses)[number], seed: number): FaultRule {
  const struck = name === 'empty' ? promising : operations
  const concerned = isDrawn(seed, `${name}/of one`) ? { operation: pick(seed, `${name}/of`, struck) } : {}
  if (name === 'empty' || name === 'malformed') return { kind: name, ...concerned }
  if (name === 'bad request') return { kind: 'status', status: 400, ...concerned }
  const message = pick(seed, `${name}/message`, refusing)
  const status = Number(pick(seed, 'limitStatus', switchTable.limitStatus.values))
  return { kind: 'status', status, code: 300, message, ...concerned }
}

function isDrawn(seed: number, name: string): boolean {
  return share(seed, `${name}/is there`) < 0.5
}

function pick<Value>(seed: number, name: string, values: readonly Value[]): Value {
  return values[Math.floor(share(seed, name) * values.length)]!
}

function share(seed: number, name: string): number {
  return seededRandom(`${seed}/world/${name}`).next()
}

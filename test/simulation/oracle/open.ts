import type { FaultRule, Sandbox } from '../../../sandbox/src/index.ts'
import type { Spell } from '../spells.ts'
import type { Bounds } from './contract.ts'
import { type Off, takenOver } from './switched-off.ts'

/** A run, as far as it tells what its world made unavoidable. */
export interface Played {
  readonly sandbox: Sandbox
  readonly faults: readonly Spell[]
  readonly start: number
  readonly end: number
  readonly switchedOff?: readonly Off[]
}

/** What may be asked for at a moment: how far back, and how old it must be, seconds. */
export type Open = Pick<Bounds, 'availableData' | 'dataDelay'>

type Narrow = (open: Open) => Open | undefined

/** The operation that a stream asks with, and the limit group that it counts in. */
const askedBy: Readonly<Record<string, { readonly operation: string; readonly group: string }>> = {
  calls: { operation: 'callSearch', group: 'call-search' },
  'call-sessions': { operation: 'callSessions', group: 'call-details' },
  'call-metrics': { operation: 'callMetrics', group: 'call-details' },
  'usage-insight': { operation: 'usageInsight', group: 'usage-insight' },
  'quality-insight': { operation: 'qualityInsight', group: 'quality-insight' },
  'realtime-usage': { operation: 'realtimeUsage', group: 'realtime' },
  'realtime-quality': { operation: 'realtimeQuality', group: 'realtime' },
}

const groupOf = new Map(Object.values(askedBy).map(({ operation, group }) => [operation, group]))

const minute = 60_000
const hour = 60 * minute

/** Who was refused a range tries the documented one after this, and after twice as long each time it is refused again. */
const firstTrial = 10 * minute
/** A refusal that does not say what is too much silences its endpoint for this long, a half more by chance. */
const afterTooMany = 15 * minute
/** By how much refusals for its age can make a daemon ask for older data only, seconds. */
const mostDelay = 900

const nothing: Narrow = () => undefined
const halfAsFar: Narrow = ({ availableData, dataDelay }) => ({ availableData: availableData / 2, dataDelay })
const older: Narrow = ({ availableData, dataDelay }) => ({ availableData, dataDelay: dataDelay + mostDelay })
const tight: Narrow = ({ availableData, dataDelay }) => ({
  availableData: availableData / 2,
  dataDelay: dataDelay * 2,
})

/**
 * What a refusal of a range teaches, which holds until the documented range is tried again. As the waits between trials
 * double, the last one is no longer than the refusals lasted and the first wait together.
 */
const taught: Readonly<Record<string, Narrow>> = {
  'query time range limit error': halfAsFar,
  'query latency limit error': older,
  // Ranges of a minute cannot keep up at the requests of any plan.
  'query time length limit error': nothing,
}

interface Period {
  readonly from: number
  readonly to: number
  readonly narrow: Narrow
}

/**
 * Of each minute of a run, what questions to an operation could ask for; undefined where no question can be
 * answered. Knows what the world does amiss and how long the documents of this program promise to wait after it, and
 * nothing of what happened.
 */
export function openMinutes(
  played: Played,
  app: string,
  operation: string,
  plan: Open,
): readonly (Open | undefined)[] {
  const periods = [
    ...faultPeriods(played, app, operation),
    ...tightPeriods(played, app, operation),
    ...offPeriods(played, app, operation),
  ]
  return Array.from({ length: Math.ceil((played.end - played.start) / minute) }, (_, n) => {
    const at = played.start + n * minute
    let open: Open | undefined = { availableData: plan.availableData, dataDelay: plan.dataDelay }
    for (const { from, to, narrow } of periods) {
      // A minute that is touched is spoilt.
      if (open && from < at + minute && at < to) open = narrow(open)
    }
    return open
  })
}

function faultPeriods({ faults, start }: Played, app: string, operation: string): readonly Period[] {
  return faults.flatMap(({ from, to, rules }) =>
    rules
      .filter(rule => concerns(rule, app, rule.operation ?? operation))
      .flatMap(rule => {
        const strikes = { from: start + from, to: start + to, narrow: nothing }
        const struck = concerns(rule, app, operation) ? [strikes] : []
        const lesson = taught[rule.message ?? '']
        // What is refused to one operation is asked of none that shares its limits.
        if (!lesson || groupOf.get(rule.operation ?? operation) !== groupOf.get(operation)) return struck
        return [...struck, { from: strikes.from, to: strikes.to + (to - from) + firstTrial, narrow: lesson }]
      }),
  )
}

function tightPeriods({ sandbox, start, end }: Played, app: string, operation: string): readonly Period[] {
  const truth = sandbox.analytics(app)
  const group = groupOf.get(operation)!
  const isSaid = operation === 'callSearch' || sandbox.settings.switches.limitsOutsideSearch === '300'
  const periods: Period[] = []
  for (let from = Math.floor(start / hour) * hour; from < end; from += hour) {
    if (!truth.isTightHour(group, from)) continue
    const to = from + hour
    if (!isSaid) periods.push({ from, to: to + afterTooMany, narrow: nothing })
    else {
      // Hours that come before the bound was tried again prolong what came before them.
      const before = periods.at(-1)
      const first = before && before.to >= from ? periods.pop()!.from : from
      periods.push({ from: first, to: to + (to - first) + firstTrial, narrow: tight })
    }
  }
  return periods
}

/** Nobody asks for what is switched off. */
function offPeriods({ switchedOff = [] }: Played, app: string, operation: string): readonly Period[] {
  return switchedOff
    .filter(off => off.app === app && askedBy[off.stream]?.operation === operation)
    .map(({ from, to }) => ({ from, to: to + takenOver, narrow: nothing }))
}

function concerns(rule: FaultRule, app: string, operation: string): boolean {
  return (rule.app ?? app) === app && (rule.operation ?? operation) === operation
}

/** A value that stands for `step` seconds from `at` on and is served after `from`, in a run from `start`; Unix seconds. */
export interface Sought {
  readonly start: number
  readonly at: number
  readonly step: number
  readonly from: number
}

/** Minutes in a row in which it could be had. */
export function longestOpen(
  minutes: readonly (Open | undefined)[],
  { start, at, step, from }: Sought,
): number {
  return longestUnbroken(minutes, (open, n) => {
    const time = start + n * 60
    // Through the whole of the minute.
    return time >= from && time > at + step + open.dataDelay && time + 60 < at + open.availableData
  })
}

/** Minutes in a row that are open and right. */
export function longestUnbroken(
  minutes: readonly (Open | undefined)[],
  isRight: (open: Open, n: number) => boolean,
): number {
  let longest = 0
  let now = 0
  minutes.forEach((open, n) => {
    now = open && isRight(open, n) ? now + 1 : 0
    longest = Math.max(longest, now)
  })
  return longest
}

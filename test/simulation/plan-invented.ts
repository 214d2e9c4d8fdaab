import type { Arrival, FaultRule } from '../../sandbox/src/index.ts'
import { kindOfLimitMessage } from '../../src/provider/analytics/answers.ts'
import type { FailureKind } from '../../src/provider/errors.ts'
import { concerns, type Played } from './oracle/open.ts'

const ranges: readonly string[] = [
  'query latency limit error',
  'query time range limit error',
  'query time length limit error',
]
/** The refusal of an endpoint that says no more. */
const noMore = 'Too Many Requests'

/** Whether an answer tells of no mistake of who asked: a fault, or a range that the plan allows and the hour does not. */
export function isInvented({ sandbox }: Played, arrival: Arrival, group: string): boolean {
  const { app, time, refusal } = arrival
  if (struckBy(arrival) !== undefined) return true
  const isOfRange = refusal !== undefined && (ranges.includes(refusal) || refusal === noMore)
  return isOfRange && sandbox.analytics(app!).isTightHour(group, time)
}

/** The fault that made the answer: one that takes what was found out of it leaves a refusal as it was. */
export function struckBy({ fault, refusal }: Arrival): Arrival['fault'] {
  return fault === 'empty' && refusal !== undefined ? undefined : fault
}

/** Reasons for which the bytes of invented answers are kept, by operation, each with how many answers it explains. */
export function inventedReasons(
  played: Played,
  arrivals: readonly { readonly arrival: Arrival; readonly operation: string }[],
): ReadonlyMap<string, number> {
  const reasons = new Map<string, number>()
  for (const { arrival, operation } of arrivals) {
    for (const reason of new Set(reasonsOf(played, arrival, operation))) {
      const key = `${operation} ${reason}`
      reasons.set(key, (reasons.get(key) ?? 0) + 1)
    }
  }
  return reasons
}

function reasonsOf({ faults, start }: Played, arrival: Arrival, operation: string): readonly FailureKind[] {
  const { time, refusal } = arrival
  const fault = struckBy(arrival)
  if (fault === undefined) return [refusal === noMore ? 'rate_limited' : kindOfLimitMessage(refusal)]
  return faults
    .filter(({ from, to }) => start + from <= time && time <= start + to)
    .flatMap(({ rules }) => rules)
    .filter(rule => rule.kind === fault && concerns(rule, arrival.app!, operation))
    .flatMap(reasonOf)
}

function reasonOf({ kind, status, code, message }: FaultRule): readonly FailureKind[] {
  if (kind === 'malformed' || kind === 'html') return ['malformed']
  if (code === 300) return [kindOfLimitMessage(message)]
  return status === 400 ? ['bad_request'] : []
}

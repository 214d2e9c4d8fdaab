import { closedSlices, type RangeLimits, type Slice, slices } from '../../planning/windows.ts'
import type { CallItem } from '../../provider/analytics/index.ts'
import type { Reject, WorkItem } from '../stream.ts'
import { believedAhead } from '../times.ts'

export type Call = CallItem

/**
 * The slices of a call that goes on are fetched once their start is older than this share of the reach: late,
 * since a call that ends earlier is fetched whole then, and long before they can no longer be had.
 */
const REACH_SHARE = 0.5

/** A call of more slices has a time that cannot be meant. */
const MOST_SLICES = 1_000

/** What is to be fetched of a call, or why nothing can be. */
export interface SessionWork {
  readonly items: readonly WorkItem[]
  readonly rejects: readonly Reject[]
}

/** Whether the call goes on, said or shown by having no end. */
export function isOngoing({ finished, destroyed_ts }: Call): boolean {
  return !(finished ?? Boolean(destroyed_ts))
}

/** Whether it is said to end at a time that is not believed. */
export function endsAhead({ destroyed_ts }: Call, now: number): boolean {
  return (destroyed_ts ?? 0) > now + believedAhead / 1_000
}

/**
 * The sessions to fetch of a call: in slices of what one request may span, always cut at the same seconds. A call
 * that ends before it starts is asked for at its start; of one that goes on only what will leave the reach soon.
 * `now` in Unix seconds; without `limits` nothing.
 */
export function sessionWork(call: Call, now: number, limits: RangeLimits | undefined): SessionWork {
  if (!limits) return { items: [], rejects: [] }
  const { call_id: key, created_ts: from } = call
  const to = isOngoing(call) ? now : endOf(call, limits)
  if (!key.isWellFormed()) return refuse(call, 'call_id: half a character in it cannot be sent')
  if (endsAhead(call, now)) return refuse(call, 'destroyed_ts: more than a day ahead')
  if (to - from > MOST_SLICES * limits.timeFrame)
    return refuse(call, 'created_ts: too long ago for such a call')
  const ranges = isOngoing(call)
    ? closedSlices(from, limits, now, REACH_SHARE)
    : slices({ from, to }, limits.timeFrame)
  return { items: ranges.map(range => itemOf(key, range)), rejects: [] }
}

/** A call that has ended, but nobody says when, is asked for in one slice. */
function endOf({ created_ts, destroyed_ts }: Call, { timeFrame }: RangeLimits): number {
  return destroyed_ts || created_ts + timeFrame - 1
}

function itemOf(key: string, { from, to }: Slice): WorkItem {
  return { stream: 'call-sessions', key, part: String(from), from, to, ask: null }
}

function refuse(item: Call, detail: string): SessionWork {
  return { items: [], rejects: [{ reason: 'out_of_range', detail, item }] }
}

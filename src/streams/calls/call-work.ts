import { createHash } from 'node:crypto'
import type { Range } from '../../planning/ranges.ts'
import { closedSlices, type RangeLimits, slices } from '../../planning/windows.ts'
import { type CallItem, maxima } from '../../provider/analytics/index.ts'
import { identifier } from '../../provider/classroom/index.ts'
import { hours } from '../../provider/limits.ts'
import type { Hint, Reject, WorkItem } from '../page.ts'
import { isObject, pieces } from '../parts/items.ts'
import { believedAhead } from '../parts/values.ts'

export type Call = CallItem

/**
 * The slices of a call that goes on are fetched once their start is older than this share of the available data: late,
 * since a call that ends earlier is fetched whole then, and long before they can no longer be had.
 */
const REACH_SHARE = 0.5

/** A call of more slices has a time that cannot be meant. */
const MOST_SLICES = 1_000

/** What is to be fetched of a call, or why nothing can be. */
interface SessionWork {
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
 * that ends before it starts is asked for at its start; of one that goes on only what will expire soon.
 * `now` in Unix seconds; without `limits` nothing.
 */
export function sessionWork(call: Call, now: number, limits: RangeLimits | undefined): SessionWork {
  if (!limits) return { items: [], rejects: [] }
  const { call_id: key, created_ts: from } = call
  const to = isOngoing(call) ? now : endOf(call, limits, now)
  if (!key.isWellFormed()) return refuse(call, 'call_id: half a character in it cannot be sent')
  if (endsAhead(call, now)) return refuse(call, 'destroyed_ts: more than a day ahead')
  if (to - from > MOST_SLICES * limits.timeFrame)
    return refuse(call, 'created_ts: too long ago for such a call')
  const ranges = isOngoing(call)
    ? closedSlices(from, limits, now, REACH_SHARE)
    : slices({ from, to }, limits.timeFrame)
  const ask = isOngoing(call) || call.destroyed_ts ? null : endUnknown
  return { items: ranges.map(range => itemOf(key, range, ask)), rejects: [] }
}

/** What is asked of a call that has ended, but nobody says when; the work queue knows it by that. */
const endUnknown = { end: 'unknown' }

/** Such a call is over now; its sessions tell whether there is more than one slice of it. */
function endOf({ created_ts, destroyed_ts }: Call, { timeFrame }: RangeLimits, now: number): number {
  return destroyed_ts || Math.max(created_ts, Math.min(now, created_ts + timeFrame - 1))
}

function itemOf(key: string, { from, to }: Range, ask: WorkItem['ask']): WorkItem {
  return { stream: 'call-sessions', key, part: String(from), from, to, ask }
}

/** The last of the parts that an item was halved into; the next slice of the call follows it. */
const lastPart = /^\d+(\.2)*$/

/**
 * The slice behind `item` of a call of which nobody says when it ended, where somebody stayed longer or may have: what is
 * told of a session lags behind by the delay. The call was over when its first sessions were told, and no slice goes
 * further. `now` in Unix seconds.
 */
export function furtherWork(
  { key, part, from, to, ask }: WorkItem,
  sessions: readonly Session[],
  now: number,
): readonly WorkItem[] {
  if (!isObject(ask) || ask.end !== endUnknown.end || !lastPart.test(part)) return []
  const by = typeof ask.by === 'number' ? ask.by : Math.floor(now)
  const isLonger = sessions.some(([, , leave]) => leave === null || (leave > to && leave <= now))
  if (!isLonger || to >= by) return []
  return [itemOf(key, { from: to, to: Math.min(by, to + (to - from)) }, { ...endUnknown, by })]
}

function refuse(item: Call, detail: string): SessionWork {
  return { items: [], rejects: [{ reason: 'out_of_range', detail, item }] }
}

/** sid, join and leave of a session in Unix seconds; null where a time is not known. */
export type Session = readonly [sid: string, join: number | null, leave: number | null]

/**
 * The metrics to fetch of the sessions of a call that lie in the slice of `item`, as many sids at a time as one
 * request takes. The order in which sessions were listed does not matter: the same sessions make the same work.
 */
export function metricWork(
  { key, from, to }: WorkItem,
  sessions: readonly Session[],
): { readonly items: readonly WorkItem[]; readonly rejects: readonly Reject[] } {
  const within = sessions.filter(session => lies(session, from, to)).map(([sid]) => sid)
  const sids = within.filter(isAskable).toSorted()
  const items = pieces(sids, maxima.sids).map((batch, n): WorkItem => {
    const part = `${from}/${n + 1}/${digest(batch)}`
    return { stream: 'call-metrics', key, part, from, to, ask: { sids: batch } }
  })
  return { items, rejects: within.filter(sid => !isAskable(sid)).map(unaskable) }
}

/** The same of a call that is not selected, to be known as left out: nothing is missing of it. */
export function workLeftOut(item: WorkItem, sessions: readonly Session[]): ReturnType<typeof metricWork> {
  const { items } = metricWork(item, sessions)
  return { items: items.map(each => ({ ...each, isLeftOut: true })), rejects: [] }
}

/** Times that contradict each other exclude nothing, be they those of the stay or those of the call. */
function lies([, join, leave]: Session, from: number, to: number): boolean {
  if (from === to) return true
  const hasEndedBefore = leave !== null && leave < from
  const beginsAfter = join !== null && join > to
  const isCredible = join === null || leave === null || join <= leave
  return !isCredible || (!hasEndedBefore && !beginsAfter)
}

/** sids are sent in one text, apart by commas. */
function isAskable(sid: string): boolean {
  return sid.isWellFormed() && !sid.includes(',')
}

function unaskable(sid: string): Reject {
  const detail = 'sid: holds a comma or half a character, so nobody can ask for its metrics'
  return { reason: 'out_of_range', detail, item: { sid } }
}

/** Tells a batch from one of other sessions, which a later listing of the same slice may bring. */
function digest(sids: readonly string[]): string {
  return createHash('sha256').update(sids.join()).digest('hex').slice(0, 8)
}

/** The provider forgets a room about an hour after its class; what was alive within this time may still be there. */
const roomMemory = hours(2)

/** The rooms behind the channels of calls that go on or were going on lately: cname is the roomUuid. */
export function hintRooms(calls: readonly Call[], now: number): readonly Hint[] {
  const alive = new Map<string, number>()
  for (const call of calls) {
    const at = lastSign(call, now)
    const { data: room } = identifier.safeParse(call.cname)
    if (room !== undefined && at > now - roomMemory) alive.set(room, Math.max(at, alive.get(room) ?? at))
  }
  return [...alive].map(([room, at]) => ({ room, change: 'news', at: at * 1_000, streams: [] }))
}

/** When the call was last known to go on, Unix seconds. */
function lastSign(call: Call, now: number): number {
  return isOngoing(call) ? now : Math.max(call.created_ts, call.destroyed_ts ?? 0)
}

/**
 * The same work in two halves of its time, or undefined where it spans no more than a second. Both hold the
 * second in the middle: whether an answer includes its end is not documented.
 */
export function halveTime(item: WorkItem): readonly WorkItem[] | undefined {
  const { from, to, part } = item
  if (to - from <= 1) return undefined
  const middle = from + Math.floor((to - from) / 2)
  return [
    { ...item, part: `${part}.1`, to: middle },
    { ...item, part: `${part}.2`, from: middle },
  ]
}

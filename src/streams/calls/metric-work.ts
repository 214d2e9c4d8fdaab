import { createHash } from 'node:crypto'
import { maxima } from '../../provider/analytics/index.ts'
import type { Reject, WorkItem } from '../stream.ts'

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
  const items: WorkItem[] = []
  for (let start = 0; start < sids.length; start += maxima.sids) {
    const batch = sids.slice(start, start + maxima.sids)
    const part = `${from}/${items.length + 1}/${digest(batch)}`
    items.push({ stream: 'call-metrics', key, part, from, to, ask: { sids: batch } })
  }
  return { items, rejects: within.filter(sid => !isAskable(sid)).map(unaskable) }
}

/** Times that contradict each other exclude nothing. */
function lies([, join, leave]: Session, from: number, to: number): boolean {
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

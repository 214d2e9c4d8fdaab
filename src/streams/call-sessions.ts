import { z } from 'zod'
import {
  CallSessionsAnswer,
  countsMore,
  isFullPage,
  maxima,
  callSessions as operation,
  SessionItem,
} from '../provider/analytics/index.ts'
import { readNumber } from '../provider/fits.ts'
import { section } from '../settings/leaf.ts'
import { oneOf } from '../settings/values.ts'
import { type CallSessionRow, callSession } from '../tables/analytics.ts'
import type { Json } from '../tables/json.ts'
import { furtherWork, halveTime, metricWork, type Session, workLeftOut } from './calls/call-work.ts'
import { type CallSelection, everyCall, isSelected, measured } from './calls/selection.ts'
import type { SubstreamPage, SubstreamResult } from './page.ts'
import { orCron, paceOf, pauseMistakes, roundKeys } from './parts/cadence.ts'
import {
  asText,
  digestOf,
  judgeEach,
  lackOf,
  lastByKey,
  lastOfEach,
  type Read,
  redact,
} from './parts/items.ts'
import { readState } from './parts/stream-state.ts'
import { believedAhead, fieldsBeside, secondsTimestamp } from './parts/values.ts'
import type { Substream } from './stream.ts'

const settings = section(
  {
    ...roundKeys(),
    serverUsers: oneOf(['include', 'exclude'])
      .prefault('include')
      .describe(
        'Whether users that run on Linux, mostly servers, are asked for too. Without them one more request a call shows which page is the last.',
      ),
  },
  orCron('every'),
)
type Settings = z.output<typeof settings>

/**
 * The sessions of a call, or of a slice of a long one. The last page makes the work of fetching the metrics of
 * those that lie in the slice.
 */
export const callSessions: Substream = {
  kind: 'substream',
  part: 'begins',
  name: 'call-sessions',
  title: 'Sessions of the users of each call',
  operation,
  writes: [callSession],
  settings,
  needs: ['calls'],
  pageSize: maxima.pageSize,
  read,
  request: askSessions(() => 'include'),
  toRows: rowsOfSessions(() => everyCall),
  split: halveTime,
  shorten: halveTime,
  pace: paceOf,
  mistakes: pauseMistakes,
  cost: ({ serverUsers }: Settings) => ({
    ...{ batch: maxima.pageSize, everyNth: 1 },
    end: serverUsers === 'exclude' ? 'empty-page' : 'short-page',
  }),
  configured: ({ settingsOf }) => ({
    ...callSessions,
    request: askSessions(app => settingsOf(app, { name: callSessions.name, settings }).serverUsers),
    toRows: rowsOfSessions(app => settingsOf(app, measured).select),
  }),
}

/** Asks for sessions as each app wants it. */
export function askSessions(serverUsers: (app: string) => Settings['serverUsers']): Substream['request'] {
  return (appid, { key, from, to }, page) => ({
    start_ts: from,
    end_ts: to,
    appid,
    call_id: key,
    page_no: page,
    page_size: maxima.pageSize,
    exclude_server_user: serverUsers(appid) === 'exclude',
  })
}

function read(answer: unknown): Pick<SubstreamPage, 'items' | 'isFull' | 'total'> {
  const { call_info: items, ...counts } = CallSessionsAnswer.parse(answer)
  const total = readNumber(counts.total_size)
  return { items, isFull: isFullPage(items, counts) || countsMore(items, counts), total }
}

type Item = z.infer<typeof SessionItem>

const time = z.number().nullable()
/** sid, join and leave of a session; null where a time is not known. */
const CarriedSession = z.tuple([z.string(), time, time]).readonly()
/** The sessions of the pages so far, and whose and where they are where it matters. */
const State = z.object({
  sessions: z.array(CarriedSession).readonly().default([]),
  users: z.array(z.string()).readonly().default([]),
  cname: z.string().nullable().default(null),
  /** Items of the pages so far, readable or not, and how many are counted; absent in what an older program left. */
  listed: z.number().nullable().default(null),
  total: z.number().nullable().default(null),
  /** Tells the page before again of which nothing could be read. */
  unread: z.string().nullable().default(null),
})

const columns = new Set(Object.keys(SessionItem.shape))

/** Makes work of fetching metrics for the calls that each app selects. */
export function rowsOfSessions(selectionOf: (app: string) => CallSelection): Substream['toRows'] {
  return (page, stored) => toRows(page, stored, selectionOf(String(page.asked.appid)))
}

function toRows(page: SubstreamPage, stored: Json, selection: CallSelection): SubstreamResult {
  const { good, rejects } = judgeEach(SessionItem, page.items.map(redact))
  const listed = lastOfEach(good, ({ value }) => value.sid)
  const { sessions: before, users: known, ...carried } = readState(State, stored)
  const sessions = lastByKey(
    [...before, ...listed.map(({ value }) => sessionOf(value, page.now))],
    ([sid]) => sid,
  )
  const rows = { 'analytics.call_session': listed.map(item => sessionRow(item, page)) }
  // A provider that answers every page number with the same page would never come to an end.
  const unread = listed.length > 0 ? null : (digestOf(page.items) ?? null)
  const isRepeated =
    listed.length > 0
      ? sessions.length === before.length
      : page.items.length > 0 && unread !== null && unread === carried.unread
  const isOver = isRepeated || !mayBeFollowed(page)
  const users = selection.minUsers > 0 ? usersIn(listed, known) : []
  const cname = carried.cname ?? listed.find(({ value }) => value.cname)?.value.cname ?? null
  // What is listed twice counts twice, as in the total.
  const count = (carried.listed ?? before.length) + (isRepeated ? 0 : page.items.length)
  const total = page.total ?? carried.total ?? undefined
  if (!isOver) {
    const streamState = {
      ...{ sessions, listed: count },
      ...(users.length > 0 && { users }),
      ...(cname && { cname }),
      ...(total !== undefined && { total }),
      ...(unread && { unread }),
    }
    return { rows, rejects, streamState, reading: 'next', work: [] }
  }
  const further = furtherWork(page.item, sessions, page.now)
  const lacking = leavesOut(page) ? [] : lackOf(total, count)
  const work = isSelected(selection, { callId: page.item.key, cname, users: users.length })
    ? metricWork(page.item, sessions)
    : workLeftOut(page.item, sessions)
  return {
    rows,
    rejects: [...rejects, ...lacking, ...work.rejects],
    streamState: null,
    reading: 'whole',
    work: [...further, ...work.items],
  }
}

/** Servers may be left out of a page when it has been cut: then only one without any sessions is the last. */
function mayBeFollowed(page: SubstreamPage): boolean {
  return page.isFull === true || (leavesOut(page) && page.items.length > 0)
}

/** Those that are left out may be counted all the same. */
function leavesOut({ asked }: SubstreamPage): boolean {
  return asked.exclude_server_user === true
}

/** A user without an ID is one by itself: nobody knows better. */
function usersIn(listed: readonly Read<Item>[], known: readonly string[]): readonly string[] {
  return [...new Set([...known, ...listed.map(({ value }) => asText(value.uid) ?? `sid ${value.sid}`)])]
}

function sessionOf({ sid, join_ts, leave_ts, finished }: Item, now: number): Session {
  return [sid, believed(join_ts, now), (finished !== false && leave_ts) || null]
}

/** A time that is told and not too far ahead of `now`, the provider's clock in Unix seconds. */
function believed(time: number | null | undefined, now: number): number | null {
  return time && time <= now + believedAhead / 1_000 ? time : null
}

function sessionRow(listed: Read<Item>, { item, now }: SubstreamPage): CallSessionRow {
  const { value } = listed
  const join_ts = secondsTimestamp(believed(value.join_ts, now))
  const leave_ts = secondsTimestamp(believed(value.leave_ts, now))
  return {
    call_id: item.key,
    sid: value.sid,
    cname: value.cname ?? null,
    uid: asText(value.uid),
    network: value.network ?? null,
    platform: value.platform ?? null,
    speaker: value.speaker ?? null,
    sdk_version: value.sdk_version ?? null,
    device_type: value.device_type ?? null,
    joined_at: join_ts,
    left_at: leave_ts,
    finished: value.finished ?? null,
    extra: fieldsBeside(columns, listed, { join_ts, leave_ts }),
  }
}

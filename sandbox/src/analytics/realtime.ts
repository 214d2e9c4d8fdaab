import {
  knownProducts,
  maxima,
  qualityMetrics,
  realtimeUsageMetrics,
  realtimeWindow,
} from '../../../src/provider/analytics/index.ts'
import type { Call, CallSession, Calls } from '../calls.ts'
import { hashOf } from '../hash.ts'
import { productOf } from './equipment.ts'
import { idleQuality, isBadCall, type QualityMetric, qualityAt, toPercent } from './quality.ts'
import { invalid } from './refusals.ts'
import type { AnalyticsContext } from './visit.ts'

export type RealtimeUsageMetric = (typeof realtimeUsageMetrics)[number]

/** Whose values are asked for. */
export interface Subject {
  readonly product: string
  /** The whole project where it is absent. */
  readonly cname?: string | undefined
}

interface Present {
  readonly call: Call
  readonly session: CallSession
}

/** Who is in a call in each window; windows begin at `first` (Unix seconds) and follow each other. */
interface Attendance {
  readonly first: number
  readonly windows: readonly (readonly Present[])[]
}

export function readRealtimeUsage(context: AnalyticsContext): readonly object[] {
  const { query } = context
  const product = query.oneOf('productType', knownProducts)
  const metric = query.oneOf('metric', realtimeUsageMetrics)
  const attendance = attendanceOf(context, { product, cname: query.optionalText('cname') })
  return eachWindow(attendance, (ts, present) => ({ ts, [metric]: realtimeUsage(metric, present) }))
}

export function readRealtimeQuality(context: AnalyticsContext): readonly object[] {
  const { query, settings } = context
  const product = query.oneOf('productType', knownProducts)
  const metric = query.oneOf('metric', qualityMetrics)
  const cname = query.optionalText('cname')
  const users = query.users('uids', maxima.uids)
  const isServed = cname !== undefined || settings.switches.usersOutsideChannels === 'served'
  if (users && !isServed) throw invalid('uids without cname')
  const attendance = attendanceOf(context, { product, cname })
  const ofAll = () =>
    eachWindow(attendance, (ts, present) => ({ ts, [metric]: realtimeQuality(metric, ts, present) }))
  if (!users) return ofAll()
  const ofUsers = [...users].map(uid => ({
    uid: settings.switches.realtimeUid === 'string' ? String(uid) : uid,
    values: eachWindow(attendance, (ts, present) => {
      const value = userQuality(metric, ts, present, uid)
      return value === undefined ? undefined : { ts, [metric]: value }
    }),
  }))
  return settings.switches.realtimeUsers === 'with-channel' ? [...ofAll(), ...ofUsers] : ofUsers
}

function realtimeUsage(metric: RealtimeUsageMetric, present: readonly Present[]): number {
  const ids = present.map(({ call, session }) => (metric === 'userCount' ? session.uid : call.cname))
  return new Set(ids).size
}

/** The mean of the calls in which someone is. */
function realtimeQuality(metric: QualityMetric, ts: number, present: readonly Present[]): number {
  const calls = new Set(present.map(({ call }) => call))
  if (calls.size === 0) return idleQuality[metric]
  const values = [...calls].map(({ callId }) => qualityAt(metric, hashOf(callId), ts, qualityOf(callId)))
  return toPercent(values.reduce((a, b) => a + b, 0) / values.length)
}

/** Nothing for windows in which the user is not there. */
function userQuality(metric: QualityMetric, ts: number, present: readonly Present[], uid: number) {
  const stay = present.findLast(({ session }) => session.uid === uid)
  return stay && qualityAt(metric, hashOf(stay.session.sid), ts, qualityOf(stay.call.callId))
}

function qualityOf(callId: string): 'usual' | 'bad' {
  return isBadCall(callId) ? 'bad' : 'usual'
}

/** A window that is over. */
interface Over {
  /** Its begin, Unix seconds. */
  readonly ts: number
  /** Until when everything has happened, Unix milliseconds. */
  readonly known: number
}

export function valueOfUsage(
  calls: Calls,
  subject: Subject,
  metric: RealtimeUsageMetric,
  window: Over,
): number {
  return realtimeUsage(metric, attendWindow(calls, subject, window))
}

export function valueOfQuality(
  calls: Calls,
  subject: Subject,
  metric: QualityMetric,
  window: Over,
  uid: number | undefined,
): number | undefined {
  const present = attendWindow(calls, subject, window)
  return uid === undefined
    ? realtimeQuality(metric, window.ts, present)
    : userQuality(metric, window.ts, present, uid)
}

function attendWindow(calls: Calls, subject: Subject, { ts, known }: Over): readonly Present[] {
  return attend(calls, subject, { first: ts, count: 1, known }).windows[0]!
}

/**
 * The windows from that of the start to that of the end, which is left out where the end is exclusive, unless it is that
 * of the start: a time stands for the window that holds it.
 */
function attendanceOf({ settings, world, asked, known }: AnalyticsContext, subject: Subject): Attendance {
  const first = Math.floor(asked.start / realtimeWindow)
  const end = Math.floor(asked.end / realtimeWindow)
  const count = Math.max(1, end - first + (settings.switches.realtimeEnd === 'inclusive' ? 1 : 0))
  return attend(world.calls, subject, { first: first * realtimeWindow, count, known })
}

/** Stays count up to `known` (Unix milliseconds), which may be amid a window. */
function attend(
  calls: Calls,
  { product, cname }: Subject,
  { first, count, known }: { readonly first: number; readonly count: number; readonly known: number },
): Attendance {
  const windows: Present[][] = Array.from({ length: count }, () => [])
  const until = Math.min(known, (first + count * realtimeWindow) * 1_000)
  for (const call of calls.during(first * 1_000, until)) {
    if ((cname ?? call.cname) !== call.cname) continue
    for (const session of call.sessions) {
      if (session.joinedAt >= until || productOf(session) !== product) continue
      const from = Math.max(0, windowOf(session.joinedAt, first))
      const to = Math.min(count - 1, windowOf(Math.min(session.leftAt ?? until, until) - 1, first))
      for (let n = from; n <= to; n++) windows[n]!.push({ call, session })
    }
  }
  return { first, windows }
}

function windowOf(milliseconds: number, first: number): number {
  return Math.floor((milliseconds / 1_000 - first) / realtimeWindow)
}

function eachWindow<Entry>(
  { first, windows }: Attendance,
  enter: (ts: number, present: readonly Present[]) => Entry | undefined,
): Entry[] {
  return windows.flatMap((present, n) => enter(first + n * realtimeWindow, present) ?? [])
}

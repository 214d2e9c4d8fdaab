import { maxima } from '../../../src/provider/analytics/index.ts'
import { type Call, type CallSession, past } from '../calls.ts'
import { befalls } from '../hash.ts'
import type { Settings } from '../options.ts'
import { equipmentOf } from './equipment.ts'
import type { Asked } from './ranges.ts'
import { invalid, noSuchPage, notTheWholeCall } from './refusals.ts'
import { type AnalyticsContext, inSeconds } from './visit.ts'

/** An item of the sessions of a call, as it is served. */
export interface ServedSession {
  readonly sid: string
  readonly cname: string
  readonly uid: number
  readonly network: string
  readonly platform: string
  readonly speaker: boolean
  readonly sdk_version: string
  readonly device_type: string
  readonly join_ts: number
  readonly leave_ts: number
  readonly finished: boolean
}

const defaultPageSize = 20
/** In longer than many a question about a call may span. */
const untilLateWord = 22 * 60_000

/** Session details: latest to join first. A call that nobody knows has none. */
export function listSessions(context: AnalyticsContext): object {
  const { query, now, settings } = context
  const users = query.users('uids', maxima.uids)
  const excludesServers = query.yesOrNo('exclude_server_user', 'true')
  const { pageNo, pageSize } = pageOf(context)
  const call = callInQuestion(context)
  const isWanted = (session: CallSession) => !(excludesServers && equipmentOf(session).platform === 'Linux')
  const filtersFirst = settings.switches.serverFilter === 'before-paging'
  const matches = (call ? sessionsIn(call, context.asked, now) : [])
    .filter(session => users?.has(session.uid) ?? true)
    .filter(session => !filtersFirst || isWanted(session))
    .toReversed()
  const isBehind = pageNo > 1 && (pageNo - 1) * pageSize >= matches.length
  const isCut = pageNo > 1 && call !== undefined && areSessionsCut(call, settings)
  if (isCut || (isBehind && settings.switches.sessionPages === 'refused')) throw noSuchPage()
  const list = matches
    .slice((pageNo - 1) * pageSize, pageNo * pageSize)
    .filter(isWanted)
    .map(session => servedSession(session, call!.cname, settings, asOf(context)))
    .map(session => (session.finished || isLeaveTold(session, settings) ? session : withoutEnd(session)))
  const total = settings.switches.totalSize === 'all' ? matches.length : list.length
  return { total_size: total, page_no: pageNo, page_size: pageSize, call_info: list }
}

/** The moment as of which sessions are told, Unix milliseconds; of a second that is asked about all has happened. */
function asOf({ settings, asked, now }: AnalyticsContext): number {
  return settings.switches.staysAsOf === 'question' ? Math.min(now, asked.end * 1_000 + 999) : now
}

/** Whether no page of the sessions of a call is served but the first; never of one that has a heavy second for them. */
export function areSessionsCut({ callId }: Pick<Call, 'callId'>, { quirks }: Settings): boolean {
  const isHeavy = befalls(quirks.heavySessions, 'heavy sessions', callId)
  return !isHeavy && befalls(quirks.cutSessions, 'cut sessions', callId)
}

/** The document wants both for pagination, and does not say what becomes of one alone: here it is a mistake. */
function pageOf({ query, settings }: AnalyticsContext) {
  const pageNo = query.count('page_no', 1, 1_000_000)
  const pageSize = query.count('page_size', defaultPageSize, maxima.pageSize)
  const hasNumber = query.optionalText('page_no') !== undefined
  const hasSize = query.optionalText('page_size') !== undefined
  if (hasNumber !== hasSize) throw invalid('page_no without page_size, or the other way round')
  return { pageNo, pageSize: Math.min(pageSize, settings.switches.mostPerPage) }
}

/** The call that is asked for; refused where only a part of it is asked and parts are not served. */
export function callInQuestion({ settings, world, query, asked, now }: AnalyticsContext): Call | undefined {
  const call = world.calls.find(query.text('call_id'))
  if (!call || call.createdAt > now) return undefined
  const end = past(call.destroyedAt, now)
  const isWhole = end !== undefined && asked.start <= inSeconds(call.createdAt) && asked.end >= inSeconds(end)
  if (settings.switches.callSlices === 'refused' && !isWhole) throw notTheWholeCall()
  return call
}

/** The stays that have begun by `now` and touch the range, both of its ends included. */
function sessionsIn(call: Call, { start, end }: Asked, now: number): readonly CallSession[] {
  return call.sessions.filter(({ joinedAt, leftAt }) => {
    const leave = past(leftAt, now) ?? now
    return joinedAt <= now && inSeconds(joinedAt) <= end && inSeconds(leave) >= start
  })
}

/** Whether a stay that goes on is said to end now. */
export function isLeaveTold({ sid }: Pick<CallSession, 'sid'>, { switches }: Settings): boolean {
  const { openStayEnd } = switches
  return openStayEnd === 'at-times' ? befalls(0.5, 'a stay', sid) : openStayEnd === 'now'
}

function withoutEnd({ leave_ts: _, ...session }: ServedSession): object {
  return session
}

/** From when on somebody who speaks is said to, Unix milliseconds. */
export function speaksFrom({ sid, joinedAt }: CallSession, { quirks }: Settings): number {
  return joinedAt + (befalls(quirks.lateSpeaker, 'late speaker', sid) ? untilLateWord : 0)
}

/** The stay as it is shown at `now`; whoever is still there is said to leave now. */
export function servedSession(
  session: CallSession,
  cname: string,
  settings: Settings,
  now: number,
): ServedSession {
  const { sid, uid, speaks, joinedAt } = session
  const { platform, network, deviceType, sdkVersion } = equipmentOf(session)
  const leftAt = past(session.leftAt, now)
  return {
    sid,
    cname,
    uid,
    network,
    platform,
    speaker: speaks && speaksFrom(session, settings) <= (leftAt ?? now),
    sdk_version: sdkVersion,
    device_type: deviceType,
    join_ts: inSeconds(joinedAt),
    leave_ts: inSeconds(leftAt ?? now),
    finished: leftAt !== undefined,
  }
}

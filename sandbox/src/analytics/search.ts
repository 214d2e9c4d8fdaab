import { maxima } from '../../../src/provider/analytics/index.ts'
import { type Call, past } from '../calls.ts'
import { befalls, hashOf, shareOf } from '../hash.ts'
import type { Quirks } from '../quirks.ts'
import type { Switches } from '../switches.ts'
import type { Asked } from './ranges.ts'
import { type AnalyticsContext, inSeconds } from './visit.ts'

/** An item of the call search, as it is served. */
export interface ServedCall {
  readonly call_id: string
  readonly cname: string
  readonly created_ts: number
  readonly destroyed_ts: number
  readonly finished: boolean
}

const defaultPageSize = 20
const longestNameless = 10 * 60_000

/** Search calls: newest first, cut into pages. */
export function searchCalls({ settings, world, query, asked, time, now }: AnalyticsContext): object {
  const { switches, quirks } = settings
  const pageNo = query.count('page_no', 1, 1_000_000)
  const wanted = query.count('page_size', defaultPageSize, maxima.pageSize)
  const pageSize = Math.min(wanted, switches.mostPerPage)
  const cname = query.optionalText('cname')
  const matches = [...world.calls.during(asked.start * 1_000, asked.end * 1_000 + 999)]
    .filter(call => (cname ?? call.cname) === call.cname && isListed(call, asked, switches, time))
    .toReversed()
    .sort(newestFirst)
  const isBeyond = pageNo > switches.callListPages
  const end = pageNo * pageSize
  const listed = isBeyond ? [] : matches.slice(end - pageSize, end)
  const list = listed.map(call => {
    const { destroyed_ts, ...served } = servedCall(call, quirks, now)
    const told = served.finished && !isEndTold(call, switches) ? served : { ...served, destroyed_ts }
    return isNameless(call, quirks, time) ? withoutName(told) : told
  })
  const listable = switches.callListPages * pageSize
  const isMore =
    switches.hasMore === 'omitted'
      ? matches.length > listable
      : matches.length > (isBeyond ? 0 : end) || isUnderLoad(matches.length, asked, settings.seed, switches)
  const total = switches.totalSize === 'all' ? matches.length : list.length
  return { total_size: total, page_no: pageNo, page_size: pageSize, has_more: isMore, call_lists: list }
}

/** Whether the search says of a call that is over when it ended. */
export function isEndTold({ callId }: Pick<Call, 'callId'>, { callEnd }: Switches): boolean {
  return callEnd === 'at-times' ? befalls(0.5, 'its end', callId) : callEnd === 'present'
}

/** The world may stand still meanwhile. */
function isNameless({ callId, createdAt }: Call, { namelessCall }: Quirks, time: number): boolean {
  return befalls(namelessCall, 'nameless', callId) && time < createdAt + longestNameless
}

function withoutName({ call_id: _, ...told }: Partial<ServedCall>): object {
  return told
}

function newestFirst(a: Call, b: Call): number {
  return inSeconds(b.createdAt) - inSeconds(a.createdAt) || (a.callId < b.callId ? -1 : 1)
}

/** Calls begin to be found some time after they started, be the world still by then. */
function isListed(call: Call, { start, end }: Asked, switches: Switches, time: number): boolean {
  const latest = switches.callLatenessSeconds * 1_000
  const isYoung = call.createdAt + latest > time
  if (isYoung && call.createdAt + latest * shareOf(hashOf('late', call.callId)) > time) return false
  const created = inSeconds(call.createdAt)
  return switches.callSearch === 'overlap' || (created >= start && created <= end)
}

function isUnderLoad(matches: number, asked: Asked, seed: number | string, switches: Switches): boolean {
  const { hasMore, hasMoreAbove, hasMoreFloorSeconds, hasMoreRate } = switches
  if (hasMore === 'real' || asked.end - asked.start <= hasMoreFloorSeconds) return false
  return matches > hasMoreAbove || befalls(hasMoreRate, seed, asked.start, asked.end)
}

/** The call as the search shows it at `now`; one that goes on is said to end where anything last happened in it. */
export function servedCall(call: Call, quirks: Quirks, now: number): ServedCall {
  const { callId, cname, createdAt } = call
  const destroyedAt = past(call.destroyedAt, now)
  const end = destroyedAt ?? latestActivity(call, now)
  const isBackward = destroyedAt !== undefined && befalls(quirks.backwardCall, 'backward', callId)
  return {
    call_id: callId,
    cname,
    created_ts: inSeconds(createdAt),
    destroyed_ts: isBackward ? inSeconds(createdAt) - 60 : inSeconds(end),
    finished: destroyedAt !== undefined,
  }
}

function latestActivity({ createdAt, sessions }: Call, now: number): number {
  const moments = sessions.flatMap(({ joinedAt, leftAt }) => [joinedAt, leftAt ?? joinedAt])
  return moments.filter(moment => moment <= now).reduce((a, b) => Math.max(a, b), createdAt)
}

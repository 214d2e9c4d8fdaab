import type { TrueCall } from '../../../sandbox/src/index.ts'
import { type Asked, askedOf } from './asked.ts'
import type { Examination } from './examination.ts'
import { margins } from './margins.ts'
import { isMeasured } from './selection.ts'

/** What the world says of a range, Unix seconds: undefined where either answer is right. */
export type Whole = (from: number, to: number) => boolean | undefined

const streams = ['calls', 'call-sessions', 'call-metrics'] as const
type CallStream = (typeof streams)[number]

/** A call of the world with what is stored of it. */
interface Stored {
  readonly call: TrueCall
  readonly isStored: boolean
  readonly isFinished: boolean
  /** The sessions that it lacks, and the values. */
  readonly lacksSessions: boolean
  readonly lacksValues: boolean
  /** Some of its values cannot be read. */
  readonly isSpoilt: boolean
}

async function storedCalls(examination: Examination, app: string): Promise<readonly Stored[]> {
  const { sandbox, rows } = examination
  const truth = sandbox.analytics(app)
  const known = new Map(
    (
      await rows<{ id: string; finished: boolean | null; sids: number; points: number }>(
        `select c.call_id as id, c.finished,
                (select count(*) from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id)::float8 as sids,
                (select count(*) from analytics.session_metric m where m.app_id = c.app_id and m.call_id = c.call_id)::float8 as points
         from analytics.call c where c.app_id = '${app}'`,
      )
    ).map(row => [row.id, row]),
  )
  return [...truth.calls()].map(call => {
    const row = known.get(call.callId)
    // A call that is said to end before it begins is asked about at its begin alone.
    const isOdd = call.item.destroyed_ts < call.item.created_ts
    const { points = 0, malformed = 0 } = truth.points(call.callId) ?? {}
    return {
      ...{ call, isStored: row !== undefined, isFinished: row?.finished === true },
      lacksSessions: !isOdd && (row?.sids ?? 0) < call.sessions.length,
      lacksValues: !isOdd && isMeasured(examination, app, call) && (row?.points ?? 0) < points,
      isSpoilt: isOdd || malformed > 0 || sandbox.settings.switches.kvs === 'words',
    }
  })
}

/** Of each stream of calls that is on whether it is whole: of details, by the calls that begin in a range. */
export async function wholenessOfCalls(
  examination: Examination,
  app: string,
): Promise<readonly (readonly [stream: CallStream, whole: Whole])[]> {
  const calls = await storedCalls(examination, app)
  const searches = finalSearches(examination, app, calls)
  const { callLateness = margins.callLateness } = examination
  const all = searchesOf(examination, app).map(asked => ({ ...asked, to: finalUntil(asked, callLateness) }))
  return streams
    .filter(stream => examination.streams?.includes(stream) ?? true)
    .map(stream => [
      stream,
      (from, to) => {
        const own = calls.filter(({ call }) => call.item.created_ts >= from && call.item.created_ts < to)
        if (own.some(each => lacks(each, stream))) return false
        if (!isJoined(all, { from, to })) return false
        if (examination.isInterrupted || (stream !== 'calls' && own.some(({ isSpoilt }) => isSpoilt)))
          return undefined
        const isKnown = own.every(({ call }) => wasSeenEnded(searches, call))
        return isKnown && isCovered(searches, { from, to, callLateness }) ? true : undefined
      },
    ])
}

function lacks({ isStored, isFinished, lacksSessions, lacksValues }: Stored, stream: CallStream): boolean {
  if (!isStored || !isFinished) return true
  return stream !== 'calls' && (lacksSessions || (stream === 'call-metrics' && lacksValues))
}

/** Searches whose answers held all calls that there are in one page. */
function finalSearches(examination: Examination, app: string, calls: readonly Stored[]): readonly Asked[] {
  const { sandbox, end } = examination
  const { mostPerPage } = sandbox.settings.switches
  return searchesOf(examination, app).filter(({ time, from, to }) => {
    const matches = calls.filter(
      ({ call: { item } }) => item.created_ts <= to && item.destroyed_ts >= from,
    ).length
    return matches < Math.min(mostPerPage, 100) && time < end - margins.unknownClock * 1_000
  })
}

/** All that were served. */
function searchesOf(examination: Examination, app: string): readonly Asked[] {
  return askedOf(examination).filter(
    asked => asked.app === app && asked.operation === 'callSearch' && asked.answer === 'served',
  )
}

function wasSeenEnded(searches: readonly Asked[], { item, destroyedAt }: TrueCall): boolean {
  const ended = (destroyedAt ?? Number.POSITIVE_INFINITY) / 1_000 + margins.unknownClock
  return searches.some(
    ({ from, to, time }) => time / 1_000 > ended && from <= item.created_ts && item.created_ts < to,
  )
}

/** Whether each moment was searched once no call could turn up in it any more. */
function isCovered(
  searches: readonly Asked[],
  { from, to, callLateness }: { readonly from: number; readonly to: number; readonly callLateness: number },
): boolean {
  const late = searches.filter(({ time, to: until }) => {
    return time / 1_000 > Math.min(until, to) + callLateness + margins.unknownClock
  })
  return isJoined(late, { from, to })
}

/** Whether the searches leave nothing out between. */
function isJoined(
  searches: readonly Asked[],
  { from, to }: { readonly from: number; readonly to: number },
): boolean {
  let at = from
  for (;;) {
    const next = Math.max(at, ...searches.filter(asked => asked.from <= at).map(asked => asked.to))
    if (next >= to) return true
    if (next === at) return false
    at = next
  }
}

/** Up to when no call can turn up behind a search any more; what the clocks of both sides may differ by counts for it. */
function finalUntil({ time, to }: Asked, callLateness: number): number {
  return Math.min(to + 1, time / 1_000 - callLateness + margins.unknownClock)
}

import type { TrueCall } from '../../../sandbox/src/index.ts'
import { type Asked, askedOf, Findings, say } from './asked.ts'
import { allowanceOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

interface StoredCall {
  readonly app: string
  readonly id: string
  readonly cname: string | null
  readonly created: number
  readonly destroyed: number | null
  readonly finished: boolean | null
  readonly extra: unknown
  readonly first_seen: number
  readonly updated: number
  readonly emptied: boolean
}

const minute = 60
/** What begins so soon after the earliest that could be asked for may be gone before anyone asked. */
export const firstReach = 15 * minute
/** A call is searched for within this after it began, and looked at again within this after it ended. */
const longestUnseen = 30 * minute
/** From an answer to its row. */
const longestStoring = 2 * minute

/** Every cell of analytics.call. */
export async function examineCalls(examination: Examination): Promise<readonly Finding[]> {
  const { rows, apps } = examination
  const found = new Findings()
  const searches = askedOf(examination).filter(({ operation }) => operation === 'callSearch')
  const stored = await rows<StoredCall>(
    `select app_id as app, call_id as id, cname, extract(epoch from created_at)::float8 as created,
            extract(epoch from destroyed_at)::float8 as destroyed, finished, extra,
            extract(epoch from first_seen_at)::float8 as first_seen, extract(epoch from updated_at)::float8 as updated,
            emptied_at is not null as emptied
     from analytics.call`,
  )
  const byApp = Map.groupBy(stored, ({ app }) => app)
  for (const [app] of byApp)
    if (!apps.some(({ id }) => id === app)) found.add('different', 'calls', `of no app ${app}`)
  for (const { id: app, plan } of apps) {
    const known = new Map((byApp.get(app) ?? []).map(call => [call.id, call]))
    const own = searches.filter(asked => asked.app === app)
    const gaps = examination.isEnd ? await gapsOf(examination, app) : []
    const allowance = allowanceOf('call-search', plan)
    for (const call of examination.sandbox.analytics(app).calls()) {
      const row = known.get(call.callId)
      known.delete(call.callId)
      if (row) compare(examination, found, call, row, own)
      else if (examination.isEnd && allowance && isDue(examination, call, allowance.availableData)) {
        const at = call.item.created_ts
        if (!gaps.some(({ from, to }) => from <= at && at < to))
          found.add('lost', `${app} calls`, `${call.callId}, which began ${say(at)}`)
      }
    }
    for (const id of known.keys()) found.add('different', `${app} calls`, `${id} is of nobody`)
  }
  return found.list()
}

function compare(
  examination: Examination,
  found: Findings,
  call: TrueCall,
  row: StoredCall,
  searches: readonly Asked[],
): void {
  const { end, healed, isEnd, isInterrupted } = examination
  const { item, isEndTold } = call
  const wrong = (column: string, is: unknown, should: unknown) =>
    found.add('different', `${row.app} calls ${column}`, `${row.id}: ${is} instead of ${should}`)
  if (row.cname !== item.cname) wrong('cname', row.cname, item.cname)
  if (row.created !== item.created_ts) wrong('created_at', row.created, item.created_ts)
  if (row.extra !== null) wrong('extra', JSON.stringify(row.extra), null)
  if (row.emptied) wrong('emptied_at', 'a time', null)
  if (row.finished === true) {
    if (!item.finished) wrong('finished', true, false)
    else if (!isEndTold) {
      // What was said of its end while it went on is all that there is.
      if (row.destroyed !== null && !activityOf(call, end).has(row.destroyed))
        wrong('destroyed_at', row.destroyed, 'null, or a time at which anything happened in it')
    } else if (row.destroyed !== item.destroyed_ts) wrong('destroyed_at', row.destroyed, item.destroyed_ts)
  } else if (row.finished === false) {
    if (row.destroyed === null || !activityOf(call, end).has(row.destroyed))
      wrong('destroyed_at', row.destroyed, 'a time at which anything happened in it')
    const { destroyedAt } = call
    if (isEnd && destroyedAt !== undefined && Math.max(destroyedAt, healed) + longestUnseen * 1_000 < end)
      wrong('finished', false, `true since ${say(item.destroyed_ts)}`)
  } else wrong('finished', row.finished, item.finished)
  if (row.updated < row.first_seen || row.updated > end / 1_000 + 1)
    wrong('updated_at', row.updated, 'a time')
  if (isInterrupted) return
  const told = searches.find(({ time, from, to, answer }) => {
    const isNear = time / 1_000 <= row.first_seen + 1 && row.first_seen <= time / 1_000 + longestStoring
    return (
      answer === 'served' &&
      isNear &&
      from <= (item.finished ? item.destroyed_ts : to) &&
      item.created_ts <= to
    )
  })
  if (!told && item.destroyed_ts >= item.created_ts)
    wrong('first_seen_at', row.first_seen, 'the time of a search that listed it')
}

/** When anything happened in a call so far, Unix seconds. */
function activityOf({ createdAt, sessions }: TrueCall, end: number): ReadonlySet<number> {
  const moments = [createdAt, ...sessions.flatMap(({ joinedAt, leftAt }) => [joinedAt, leftAt ?? joinedAt])]
  return new Set(moments.filter(at => at <= end).map(at => Math.floor(at / 1_000)))
}

/** Whether it could be found all the time that was needed. */
function isDue({ start, healed, end }: Examination, { createdAt }: TrueCall, reach: number): boolean {
  const isReachable = createdAt > start - (reach - firstReach) * 1_000
  return isReachable && Math.max(createdAt, healed) + longestUnseen * 1_000 < end
}

function gapsOf({ rows }: Examination, app: string) {
  return rows<{ from: number; to: number }>(
    `select extract(epoch from range_from)::float8 as from, extract(epoch from range_to)::float8 as to
     from ingest.gap where app_id = '${app}' and stream = 'calls' and state in ('lost', 'absent', 'open')`,
  )
}

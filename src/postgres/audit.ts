import type pg from 'pg'
import type { StoreStatus } from '../engine/ports.ts'
import type { Rate } from '../provider/limits.ts'
import { query } from './connect.ts'
import { bind, statement } from './statement.ts'
import { deadLetters } from './status.ts'
import { db, rowsOf, whole } from './typed.ts'

/** A limit group of the ledger and the rates that it had to keep. */
export interface AuditedLimit {
  readonly scope: string
  readonly group: string
  readonly rates: readonly Rate[]
}

/** What the ledger proves. All times UTC, ISO 8601. */
export interface Audit {
  /** The oldest debit that is still kept; null of an empty ledger. */
  readonly evidenceSince: string | null
  readonly groups: readonly GroupEvidence[]
  /** What the provider refused for a limit meanwhile, or still when it was seen last. */
  readonly refusals: StoreStatus['deadLetters']
}

export interface GroupEvidence {
  readonly scope: string
  readonly group: string
  readonly apps: readonly string[]
  /** Requests that were debited, and of them those whose end nobody saw. */
  readonly debits: number
  readonly unsettled: number
  /** Debits that stand for requests that a failover may have taken from the ledger. */
  readonly assumed: number
  /** Numbers between the first and the last debit that are not there: must be 0. */
  readonly missing: number
  readonly from: string
  readonly to: string
  /** Debits by what they were for. */
  readonly purposes: Readonly<Record<string, number>>
  readonly windows: readonly WindowEvidence[]
  /** unlimited: the configuration knows no rate of it. */
  readonly verdict: 'kept' | 'broken' | 'incomplete' | 'unlimited'
}

interface WindowEvidence {
  /** Length in seconds. */
  readonly window: number
  readonly limit: number
  /** The most requests that may have arrived in any window of this length, wherever it begins. */
  readonly most: number
  /** Where the fullest one begins. */
  readonly fullestAt: string
  /** The most that may have arrived on one day of the UTC calendar; null of windows that are no day. */
  readonly fullestDay: number | null
  readonly verdict: 'kept' | 'broken'
}

const iso = (expression: string) =>
  `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const listGroups = `
  select d.scope, d.limit_group as group, array_agg(distinct d.app_id) as apps,
         count(*) filter (where d.operation <> 'lost history')::int as debits,
         count(*) filter (where d.operation <> 'lost history' and d.settled_at is null)::int as unsettled,
         count(*) filter (where d.operation = 'lost history')::int as assumed,
         (max(d.n) - min(d.n) + 1 - count(*) + coalesce(max(b.last_n), max(d.n)) - max(d.n))::int as missing,
         ${iso('min(d.sent_at)')} as from, ${iso('max(d.sent_at)')} as to
  from ingest.debit d left join ingest.budget b using (scope, limit_group)
  group by 1, 2 order by 1, 2`

const purposes = db
  .selectFrom('ingest.debit')
  .select(['scope', 'limit_group as group', 'purpose', whole('count(*)').as('debits')])
  .where('purpose', 'is not', null)
  .groupBy(['scope', 'limit_group', 'purpose'])
  .orderBy('purpose')
  .$narrowType<{ purpose: string }>()

/**
 * A request may have arrived at any moment from when it was debited to when its answer had come, or to when it could
 * no longer arrive. It may fall into a window that begins at x when it was debited before x + length and ended at x
 * or later: so each is one more from its debit less the length, and one less after its end. The largest sum just
 * before an end is the fullest window. Nothing of this looks at how slots were granted.
 *
 * What is only assumed to have been sent counts by the day; nobody knows at which second.
 */
const measureGroup = statement(
  'audit_group',
  `with asked as (
     select * from unnest(:windows::double precision[]) w(seconds)
   ), span as (
     select d.sent_at, least(d.settled_at, d.dead_at) as ended_at, d.operation = 'lost history' as is_assumed
     from ingest.debit d where d.scope = :scope and d.limit_group = :group
   ), edge as (
     select a.seconds, s.sent_at - make_interval(secs => a.seconds) as at, 1 as step
     from asked a join span s on not s.is_assumed or a.seconds >= 3600
     union all
     select a.seconds, s.ended_at, -1 from asked a join span s on not s.is_assumed or a.seconds >= 3600
   ), filled as (
     select e.seconds, e.at, e.step, sum(e.step) over (
       partition by e.seconds order by e.at, e.step rows between unbounded preceding and 1 preceding) as requests
     from edge e
   ), fullest as (
     select distinct on (f.seconds) f.seconds, f.requests, f.at from filled f
     where f.step = -1 order by f.seconds, f.requests desc, f.at
   ), calendar as (
     select day, count(*) as requests
     from span s cross join generate_series(date_trunc('day', s.sent_at at time zone 'UTC'),
                                            date_trunc('day', s.ended_at at time zone 'UTC'), interval '1 day') day
     group by 1
   )
   select f.seconds as window, f.requests::int as most, ${iso('f.at')} as "fullestAt",
          case when f.seconds = 86400 then (select max(c.requests)::int from calendar c) end as "fullestDay"
   from fullest f order by f.seconds`,
)

type Counted = Omit<GroupEvidence, 'purposes' | 'windows' | 'verdict'>
type Measured = Omit<WindowEvidence, 'limit' | 'verdict'>

/**
 * Counts every debit that is kept against the limits, in another way than they were granted, and refusals, whose reasons
 * `isRefusal` knows. Throws StoreUnavailable.
 */
export async function auditLedger(
  pool: pg.Pool,
  limits: readonly AuditedLimit[],
  isRefusal: (reason: string) => boolean,
): Promise<Audit> {
  const counted = await query<Counted>(pool, { text: listGroups, values: [] })
  const purposed = await rowsOf(pool, purposes)
  const groups: GroupEvidence[] = []
  for (const row of counted) {
    const isOfRow = (other: { readonly scope: string; readonly group: string }) =>
      other.scope === row.scope && other.group === row.group
    const isWithin = (limit: AuditedLimit) =>
      row.scope.startsWith(`${limit.scope} `) && limit.group === row.group
    // Of lists of players each channel may have a counter of its own.
    const rates = (limits.find(isOfRow) ?? limits.find(isWithin))?.rates ?? []
    const windows = await measure(pool, row, rates)
    const byPurpose = Object.fromEntries(purposed.filter(isOfRow).map(each => [each.purpose, each.debits]))
    groups.push({ ...row, purposes: byPurpose, windows, verdict: verdictOf(row, windows) })
  }
  const [evidenceSince = null] = groups.map(({ from }) => from).sort()
  const letters = evidenceSince === null ? [] : await rowsOf(pool, deadLetters)
  const refusals = letters.filter(
    // It is told in whole seconds.
    ({ reason, lastSeen }) => isRefusal(reason) && Date.parse(lastSeen) + 1_000 > Date.parse(evidenceSince!),
  )
  return { evidenceSince, groups, refusals }
}

async function measure(
  pool: pg.Pool,
  { scope, group }: Counted,
  rates: readonly Rate[],
): Promise<readonly WindowEvidence[]> {
  const windows = rates.map(rate => rate.window)
  const measured = await query<Measured>(pool, bind(measureGroup, { scope, group, windows }))
  return measured.map(found => {
    const limit = rates.find(rate => rate.window === found.window)!.requests
    const isKept = Math.max(found.most, found.fullestDay ?? 0) <= limit
    return { ...found, limit, verdict: isKept ? 'kept' : 'broken' }
  })
}

function verdictOf(
  { missing }: Pick<GroupEvidence, 'missing'>,
  windows: readonly WindowEvidence[],
): GroupEvidence['verdict'] {
  if (windows.some(({ verdict }) => verdict === 'broken')) return 'broken'
  if (missing !== 0) return 'incomplete'
  return windows.length === 0 ? 'unlimited' : 'kept'
}

import type pg from 'pg'
import { query } from './connect.ts'

/** What an operator asks first; the same for the page, the JSON and the command. All times UTC, ISO 8601. */
export interface StoreStatus {
  readonly now: string
  readonly streams: readonly StreamStatus[]
  readonly rooms: readonly { readonly app: string; readonly state: string; readonly rooms: number }[]
  readonly gaps: readonly GapStatus[]
  readonly owed: readonly OwedStatus[]
  readonly deadLetters: readonly DeadLetterStatus[]
  readonly divergences: number
  readonly owners: readonly { readonly owner: string; readonly shards: number; readonly expiresAt: string }[]
}

export interface StreamStatus {
  readonly app: string
  readonly stream: string
  /** Series that are still followed; of a stream that reads details, items that are owed. */
  readonly open: number
  readonly closed: number
  /** Open series that have never been read to their end; of a stream that reads details, items that are owed. */
  readonly owed: number
  readonly lastCommit: string | null
  /** Since the last commit of the series that was committed longest ago; null before the first. */
  readonly oldestSeconds: number | null
}

/** What is owed of streams whose progress is time, and of those that read details of calls. */
export interface OwedStatus {
  readonly app: string
  readonly stream: string
  /** Not final up to now, what is still too young to be asked for included. */
  readonly seconds: number
  /** Those of them that were never read, or that someone asked for once more. */
  readonly unreadSeconds: number
  /** Items of the worklist; 0 of a stream whose progress is time. */
  readonly items: number
  /** Begin of the oldest that is owed. */
  readonly oldest: string | null
  readonly lostSeconds: number
  readonly lostItems: number
}

export interface GapStatus {
  readonly app: string
  readonly stream: string
  readonly state: string
  readonly reason: string
  readonly gaps: number
  readonly recoverableUntil: string | null
}

export interface DeadLetterStatus {
  readonly app: string
  readonly stream: string
  readonly reason: string
  readonly letters: number
  readonly lastSeen: string
}

const iso = (expression: string) => `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`

const streams = `
  select app_id as app, stream, count(*) filter (where closed_at is null)::int as open,
         count(*) filter (where closed_at is not null)::int as closed,
         count(*) filter (where closed_at is null and caught_up_at is null)::int as owed,
         ${iso('max(updated_at)')} as "lastCommit",
         round(extract(epoch from ingest.clock() - min(updated_at) filter (where closed_at is null)))::int as "oldestSeconds"
  from ingest.progress group by 1, 2
  union all
  select app_id, stream, count(*) filter (where state = 'owed')::int, count(*) filter (where state <> 'owed')::int,
         count(*) filter (where state = 'owed')::int, ${iso(`max(updated_at) filter (where state = 'done')`)},
         round(extract(epoch from ingest.clock() - max(updated_at) filter (where state = 'done')))::int
  from ingest.worklist group by 1, 2 order by 1, 2`

const rooms = `
  select app_id as app, case when forgotten_at is not null then 'forgotten'
           else coalesce((array['not started', 'started', 'ended', 'closed'])[state + 1], 'unknown') end as state,
         count(*)::int as rooms
  from classroom.room where valid_to is null group by 1, 2 order by 1, 2`

const owed = `
  select app_id as app, stream, sum(seconds)::double precision as seconds,
         sum(unread_seconds)::double precision as "unreadSeconds", coalesce(sum(items), 0)::int as items,
         ${iso('min(oldest)')} as oldest, sum(lost_seconds)::double precision as "lostSeconds",
         coalesce(sum(lost_items), 0)::int as "lostItems"
  from ingest.owed group by 1, 2 order by 1, 2`

const gaps = `
  select app_id as app, stream, state, reason, count(*)::int as gaps, ${iso('min(recoverable_until)')} as "recoverableUntil"
  from ingest.gap group by 1, 2, 3, 4 order by 1, 2, 3, 4`

const letters = `
  select app_id as app, stream, reason, sum(occurrences)::int as letters, ${iso('max(last_seen_at)')} as "lastSeen"
  from ingest.dead_letter group by 1, 2, 3 order by 1, 2, 3`

const owners = `
  select owner, count(*)::int as shards, ${iso('min(expires_at)')} as "expiresAt"
  from ingest.ownership join ingest.lease using (shard) where expires_at > ingest.clock() group by 1 order by 1`

/** Reads the status. Throws StoreUnavailable. */
export async function readStatus(pool: pg.Pool): Promise<StoreStatus> {
  const all = async <Row extends pg.QueryResultRow>(text: string) => query<Row>(pool, { text, values: [] })
  const [clock] = await all<{ now: string; divergences: number }>(
    `select ${iso('ingest.clock()')} as now,
            (select count(*)::int from ingest.divergence where resolved_at is null) as divergences`,
  )
  return {
    now: clock!.now,
    streams: await all<StreamStatus & pg.QueryResultRow>(streams),
    rooms: await all(rooms),
    gaps: await all<GapStatus & pg.QueryResultRow>(gaps),
    owed: await all<OwedStatus & pg.QueryResultRow>(owed),
    deadLetters: await all<DeadLetterStatus & pg.QueryResultRow>(letters),
    divergences: clock!.divergences,
    owners: await all(owners),
  }
}

import type pg from 'pg'
import type { BacklogFigure, StoreGauges } from '../engine/ports.ts'
import { query } from './connect.ts'
import { readLeftBehind } from './housekeeping.ts'

const roomStates = `
  select app_id as app, state, sum(things)::int as count
  from ingest.tally where about = 'room' and state <> 'forgotten' group by 1, 2 having sum(things) > 0`

/** Players that live; those that are gone only ever get more. */
const playerStates = `
  select app_id as app, coalesce(status, 'unknown') as status, count(*)::int as count
  from players.cloud_player where destroyed_at is null group by 1, 2`

/** Of every app whose players are listed, also where there are none. */
const orphans = `
  select p.app_id as app, count(o.player_id)::int as count
  from ingest.progress p left join players.orphan_player o using (app_id)
  where p.stream = 'cloud-players' and p.closed_at is null and p.caught_up_at is not null group by 1`

const gapStates = `
  select app_id as app, stream, state, sum(coalesce(stands_for, 1))::int as count from ingest.gap group by 1, 2, 3`

const recentLosses = `
  select stream, (count(*) filter (where updated_at > (select ingest.clock()) - interval '1 hour'))::int as hour,
         count(*)::int as day
  from ingest.gap where state = 'lost' and updated_at > (select ingest.clock()) - interval '1 day' group by 1`

const owedByStream = `
  select app_id as app, stream, sum(seconds)::double precision as seconds, coalesce(sum(items), 0)::int as items,
         extract(epoch from min(oldest))::double precision * 1000 as oldest
  from ingest.backlog group by 1, 2`

/** Reads what the metrics tell of the database. Throws StoreUnavailable. */
export async function readStoreGauges(pool: pg.Pool): Promise<StoreGauges> {
  const all = async <Row extends pg.QueryResultRow>(text: string) => query<Row>(pool, { text, values: [] })
  return {
    gaps: await all<{ app: string; stream: string; state: string; count: number }>(gapStates),
    losses: await all<{ stream: string; hour: number; day: number }>(recentLosses),
    rooms: await all<{ app: string; state: string; count: number }>(roomStates),
    players: await all<{ app: string; status: string; count: number }>(playerStates),
    orphans: await all<{ app: string; count: number }>(orphans),
    owed: await all<BacklogFigure & pg.QueryResultRow>(owedByStream),
    leftBehind: await readLeftBehind(pool),
  }
}

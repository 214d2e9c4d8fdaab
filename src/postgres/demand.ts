import type pg from 'pg'
import type { SubstreamDemand } from '../engine/ports.ts'
import { query } from './connect.ts'
import { bind, statement } from './statement.ts'

/** What a call costs is told by so many of the newest; the backlog by when it begins, ten minutes at a time. */
const demand = statement(
  'detail_demand',
  `with newest as (
     select c.call_id from analytics.call c
     where c.app_id = :app and c.created_at > to_timestamp(:since::double precision)
     order by c.created_at desc limit 300
   ), known as (
     select count(*) filter (where w.stream = 'call-sessions') as slices,
            count(distinct w.item) filter (where w.stream = 'call-sessions') as calls,
            count(*) filter (where w.stream = 'call-sessions' and w.state = 'done') as whole,
            sum(w.page) filter (where w.stream = 'call-sessions' and w.state = 'done') as pages,
            count(*) filter (where w.stream = 'call-metrics') as batches
     from newest n
     join ingest.work_item w on w.app_id = :app and w.stream in ('call-sessions', 'call-metrics') and w.item = n.call_id
     where w.state <> 'split'
   ), waiting as (
     select extract(epoch from max(w.range_from))::double precision as begin,
            count(*) filter (where w.stream = 'call-sessions') as sessions,
            count(*) filter (where w.stream = 'call-metrics') as metrics
     from ingest.work_item w
     where w.app_id = :app and w.stream in ('call-sessions', 'call-metrics') and w.state = 'pending'
     group by floor(extract(epoch from w.range_from) / 600)
   )
   select (select count(*) from analytics.call c
           where c.app_id = :app and c.created_at > to_timestamp(:since::double precision))::int as calls,
          (k.slices::double precision / nullif(k.calls, 0)) as slices,
          (k.pages::double precision / nullif(k.whole, 0)) as pages,
          (k.batches::double precision / nullif(k.whole, 0)) as batches,
          (select coalesce(json_agg(json_build_array(begin, sessions, metrics) order by begin), '[]') from waiting) as backlog
   from known k`,
)

interface Row extends pg.QueryResultRow {
  readonly calls: number
  readonly slices: number | null
  readonly pages: number | null
  readonly batches: number | null
  readonly backlog: readonly (readonly [from: number, sessions: number, metrics: number])[]
}

/** What the calls since a moment (Unix seconds) ask for their details, and the backlog of all. */
export async function readSubstreamDemand(
  pool: pg.Pool,
  app: string,
  since: number,
): Promise<SubstreamDemand> {
  const [row] = await query<Row>(pool, bind(demand, { app, since }))
  const { calls, slices, pages, batches, backlog } = row!
  const isKnown = slices !== null && pages !== null && batches !== null
  return {
    calls,
    cost: isKnown ? { slices, pages, batches } : undefined,
    backlog: backlog.map(([from, sessions, metrics]) => ({ from, sessions, metrics })),
  }
}

import type pg from 'pg'
import type { BacklogItems, Fence, OpenItem, Store, SubstreamDemand } from '../engine/ports.ts'
import { worked, workValues } from './commit/ctes.ts'
import { query } from './connect.ts'
import { decodeColumn, decodeText, encodeText } from './encode.ts'
import { owned } from './gaps.ts'
import { bind, statement } from './statement.ts'

/** The item as it was read. */
const same = `w.app_id = :app and w.stream = :stream and w.item = :item and w.part = :part and w.version = :version
     and w.state = 'pending' and ${owned}`

const listed = (name: string, order: 'asc' | 'desc') =>
  statement(
    name,
    `select w.stream, w.item as key, w.part, extract(epoch from w.range_from)::double precision as "from",
          extract(epoch from w.range_to)::double precision as "to", w.ask::text as ask, w.version::int, w.page,
          w.stream_state::text as "streamState", w.origin, w.failures,
          w.refused_as is not distinct from 'refused' as "wasRefused",
          case when w.in_hand_version = w.version then w.in_hand_of end as "inHandOf"
   from ingest.work_item w
   where w.app_id = :app and w.stream = :stream and w.state = 'pending'
     and w.range_from > to_timestamp(:after::double precision) and w.range_from <= to_timestamp(:latest::double precision)
     and w.range_to < to_timestamp(:before::double precision)
     and (w.not_before is null or w.not_before <= ingest.clock()) and (w.failures = 0 or not :well::boolean)
   order by w.range_from ${order}, w.item, w.part
   limit :limit::int`,
  )
const lists = { oldest: listed('items', 'asc'), newest: listed('newest_items', 'desc') }

const backlog = statement(
  'pending_items',
  `select coalesce(sum(extract(epoch from w.range_to - w.range_from) + 1), 0)::double precision as seconds,
          extract(epoch from min(w.range_from))::double precision as oldest
   from ingest.work_item w where w.app_id = :app and w.stream = :stream and w.state = 'pending'`,
)

/** What came due while the list was read stands neither there nor among those that wait; `greatest` passes over null. */
const due = statement(
  'item_due_in',
  `select extract(epoch from min(greatest(
            w.not_before - ingest.clock(), w.range_to - to_timestamp(:before::double precision) + '1 second'
          )))::double precision * 1000 as wait
   from ingest.work_item w
   where w.app_id = :app and w.stream = :stream and w.state = 'pending'
     and w.range_from > to_timestamp(:after::double precision)
     and (w.not_before > ingest.clock() - :ago::interval or w.range_to >= to_timestamp(:before::double precision))`,
)

const defer = statement(
  'defer_item',
  `update ingest.work_item w
   set not_before = ingest.clock() + :wait::interval, failures = w.failures + 1, refused_as = :loss,
       version = w.version + 1, updated_at = ingest.clock()
   where ${same}`,
)

const takeInHand = statement(
  'take_item_in_hand',
  `update ingest.work_item w set in_hand_of = :owner, in_hand_version = w.version where ${same}`,
)

const split = statement(
  'split_item',
  `with moved as (
     update ingest.work_item w
     set state = 'split', stream_state = null, not_before = null, version = w.version + 1, updated_at = ingest.clock()
     where ${same}
     returning w.origin, w.falls_back_to
   ), ${worked('(select origin from moved)', '(select falls_back_to from moved)')}
   select from moved`,
)

/**
 * Losses of several parts of a call that begin at one moment are one row. What only fell back to what it was before is
 * none.
 */
const recorded = (reason: string) => `
  recorded as (
    insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
    select :app, :stream, l.item, 'time', l.range_from, max(l.range_to), ${reason}, 'lost', ingest.clock(), ingest.clock()
    from lost l where l.was is null group by l.item, l.range_from
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = greatest(g.range_to, excluded.range_to), reason = excluded.reason, state = 'lost',
          updated_at = ingest.clock()
    returning 1
  )`

const given = `set state = coalesce(w.falls_back_to, 'lost'), stream_state = null, not_before = null, version = w.version + 1,
  updated_at = ingest.clock()`

const lose = statement(
  'lose_item',
  `with lost as (
     update ingest.work_item w ${given} where ${same} returning w.item, w.range_from, w.range_to, w.falls_back_to as was
   ), ${recorded(':reason')}
   select from recorded`,
)

const expiring = statement(
  'expiring_calls',
  `select w.item from ingest.work_item w
   where w.app_id = :app and w.stream = :stream and w.state = 'pending'
     and w.range_from < to_timestamp(:edge::double precision) and w.item <> all (:except::text[])
   group by w.item order by min(w.range_from), w.item limit :limit::int`,
)

const expire = statement(
  'expire_items',
  `with lost as (
     update ingest.work_item w ${given}
     where w.app_id = :app and w.stream = :stream and w.state = 'pending'
       and w.item = any (:calls::text[]) and w.range_from < to_timestamp(:edge::double precision) and ${owned}
     returning w.item, w.range_from, w.range_to, w.set_aside, case when w.failures > 0 then w.refused_as end as refused_as,
               w.falls_back_to as was
   ), ${recorded(
     `case when bool_and(l.set_aside > 0) then 'unreadable'
           when bool_and(l.refused_as is not null) then min(l.refused_as) else 'expired' end`,
   )}
   select count(*)::int as lost from lost where was is null`,
)

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
     where w.state <> 'split' and not w.left_out
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
          (select coalesce(json_agg(json_build_object('from', begin, 'sessions', sessions, 'metrics', metrics) order by begin), '[]') from waiting) as backlog
   from known k`,
)

type Row = Omit<OpenItem, 'ask' | 'streamState'> & {
  readonly ask: string | null
  readonly streamState: string | null
}

interface Demand {
  readonly calls: number
  readonly slices: number | null
  readonly pages: number | null
  readonly batches: number | null
  readonly backlog: SubstreamDemand['backlog']
}

function named(fence: Fence, app: string, { stream, key, part, version }: OpenItem) {
  return { ...fence, app, stream, item: encodeText(key), part: encodeText(part), version }
}

/** The items that one stream has found and another fetches. */
export function itemStore(pool: pg.Pool) {
  return {
    items: async (
      app,
      stream,
      { after, upTo = Number.POSITIVE_INFINITY, before, isWell: well = false },
      limit,
      first = 'oldest',
    ) => {
      const values = { app, stream, after, latest: upTo, before, well, limit }
      const rows = await query<Row>(pool, bind(lists[first], values))
      return rows.map(row => ({
        ...row,
        ...{ key: decodeText(row.key), part: decodeText(row.part) },
        ...{ ask: decodeColumn(row.ask), streamState: decodeColumn(row.streamState) },
      }))
    },
    itemDueIn: async (app, stream, { after, before }, ago) => {
      const values = { app, stream, after, before, ago: `${ago} milliseconds` }
      const [row] = await query<{ wait: number | null }>(pool, bind(due, values))
      const { wait } = row!
      return wait === null ? null : Math.max(0, wait)
    },
    backlogItems: async (app, stream) => {
      const [row] = await query<BacklogItems>(pool, bind(backlog, { app, stream }))
      return row!
    },
    substreamDemand: async (app, since) => {
      const [row] = await query<Demand>(pool, bind(demand, { app, since }))
      const { calls, slices, pages, batches, backlog } = row!
      const isKnown = slices !== null && pages !== null && batches !== null
      return { calls, cost: isKnown ? { slices, pages, batches } : undefined, backlog }
    },
    deferItem: async (fence, app, item, wait, loss) => {
      const values = { ...named(fence, app, item), wait: `${wait} milliseconds`, loss: loss ?? null }
      await query(pool, bind(defer, values))
    },
    takeItemInHand: async (fence, app, item) => {
      await query(pool, bind(takeInHand, named(fence, app, item)))
    },
    splitItem: async (fence, app, item, into) => {
      await query(pool, bind(split, { ...named(fence, app, item), ...workValues(into) }))
    },
    loseItem: async (fence, app, item, reason) => {
      await query(pool, bind(lose, { ...named(fence, app, item), reason }))
    },
    expiringCalls: async (app, stream, lowerBound, except, most) => {
      const values = { app, stream, edge: lowerBound, except: except.map(encodeText), limit: most }
      const rows = await query<{ item: string }>(pool, bind(expiring, values))
      return rows.map(({ item }) => decodeText(item))
    },
    expireItems: async (fence, app, stream, lowerBound, calls) => {
      const values = { ...fence, app, stream, edge: lowerBound, calls: calls.map(encodeText) }
      const [row] = await query<{ lost: number }>(pool, bind(expire, values))
      return row!.lost
    },
  } satisfies Partial<Store>
}

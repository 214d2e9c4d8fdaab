import type pg from 'pg'
import type { BacklogItems, Fence, ItemBounds, ItemLoss, OpenItem } from '../engine/ports.ts'
import type { Json } from '../tables/json.ts'
import { worked, workValues } from './commit/ctes.ts'
import { query } from './connect.ts'
import { decodeJson, decodeText, encodeText } from './encode.ts'
import { bind, statement } from './statement.ts'

/** The items that one stream has found and another fetches. */

const owned = `exists (select from ingest.ownership o
  where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share)`

/** The item as it was read. */
const same = `w.app_id = :app and w.stream = :stream and w.item = :item and w.part = :part and w.version = :version
     and w.state = 'pending' and ${owned}`

const listed = (name: string, order: 'asc' | 'desc') =>
  statement(
    name,
    `select w.item, w.part, extract(epoch from w.range_from)::double precision as range_from,
          extract(epoch from w.range_to)::double precision as range_to, w.ask::text as ask, w.version::int, w.page,
          w.stream_state::text as stream_state, w.origin, w.failures,
          case when w.in_hand_version = w.version then w.in_hand_of end as in_hand_of
   from ingest.work_item w
   where w.app_id = :app and w.stream = :stream and w.state = 'pending'
     and w.range_from > to_timestamp(:after::double precision) and w.range_from <= to_timestamp(:latest::double precision)
     and w.range_to < to_timestamp(:before::double precision)
     and (w.not_before is null or w.not_before <= ingest.clock())
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
     returning w.origin
   ), ${worked('(select origin from moved)')}
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

const expire = statement(
  'expire_items',
  `with lost as (
     update ingest.work_item w ${given}
     where w.app_id = :app and w.stream = :stream and w.state = 'pending'
       and w.range_from < to_timestamp(:edge::double precision) and ${owned}
     returning w.item, w.range_from, w.range_to, w.set_aside, case when w.failures > 0 then w.refused_as end as refused_as,
               w.falls_back_to as was
   ), ${recorded(
     `case when bool_and(l.set_aside > 0) then 'unreadable'
           when bool_and(l.refused_as is not null) then min(l.refused_as) else 'expired' end`,
   )}
   select count(*)::int as lost from lost where was is null`,
)

interface Row extends pg.QueryResultRow {
  readonly item: string
  readonly part: string
  readonly range_from: number
  readonly range_to: number
  readonly ask: string | null
  readonly version: number
  readonly page: number
  readonly stream_state: string | null
  readonly origin: OpenItem['origin']
  readonly failures: number
  readonly in_hand_of: string | null
}

export async function listItems(
  pool: pg.Pool,
  app: string,
  stream: OpenItem['stream'],
  { after, upTo = Number.POSITIVE_INFINITY, before }: ItemBounds,
  limit: number,
  first: keyof typeof lists = 'oldest',
): Promise<readonly OpenItem[]> {
  const rows = await query<Row>(pool, bind(lists[first], { app, stream, after, latest: upTo, before, limit }))
  return rows.map(row => ({
    stream,
    key: decodeText(row.item),
    part: decodeText(row.part),
    from: row.range_from,
    to: row.range_to,
    ask: json(row.ask),
    version: row.version,
    page: row.page,
    streamState: json(row.stream_state),
    origin: row.origin,
    failures: row.failures,
    inHandOf: row.in_hand_of,
  }))
}

/**
 * In how many ms the first of the items may be fetched that had to wait `ago` ms before now; 0 where one came due since,
 * null where none had to.
 */
export async function readItemDueIn(
  pool: pg.Pool,
  app: string,
  stream: OpenItem['stream'],
  { after, before }: ItemBounds,
  ago: number,
): Promise<number | null> {
  const values = { app, stream, after, before, ago: `${ago} milliseconds` }
  const [row] = await query<{ wait: number | null }>(pool, bind(due, values))
  const { wait } = row!
  return wait === null ? null : Math.max(0, wait)
}

export async function readBacklogItems(
  pool: pg.Pool,
  app: string,
  stream: OpenItem['stream'],
): Promise<BacklogItems> {
  const [row] = await query<{ seconds: number; oldest: number | null }>(pool, bind(backlog, { app, stream }))
  return row!
}

function json(text: string | null): Json {
  return text === null ? null : (decodeJson(text) as Json)
}

function named(fence: Fence, app: string, { stream, key, part, version }: OpenItem) {
  return { ...fence, app, stream, item: encodeText(key), part: encodeText(part), version }
}

/** The item is not tried again for `wait` ms. */
export async function deferItem(
  pool: pg.Pool,
  fence: Fence,
  app: string,
  item: OpenItem,
  wait: number,
  loss?: ItemLoss,
): Promise<void> {
  const values = { ...named(fence, app, item), wait: `${wait} milliseconds`, loss: loss ?? null }
  await query(pool, bind(defer, values))
}

/** A large answer to the item is about to be read. */
export async function takeItemInHand(
  pool: pg.Pool,
  fence: Fence,
  app: string,
  item: OpenItem,
): Promise<void> {
  await query(pool, bind(takeInHand, named(fence, app, item)))
}

/** Puts smaller items in the place of one. */
export async function splitItem(
  pool: pg.Pool,
  fence: Fence,
  app: string,
  item: OpenItem,
  into: readonly Pick<OpenItem, 'stream' | 'key' | 'part' | 'from' | 'to' | 'ask'>[],
): Promise<void> {
  await query(pool, bind(split, { ...named(fence, app, item), ...workValues(into) }))
}

/** Gives an item up. */
export async function loseItem(
  pool: pg.Pool,
  fence: Fence,
  app: string,
  item: OpenItem,
  reason: ItemLoss,
): Promise<void> {
  await query(pool, bind(lose, { ...named(fence, app, item), reason }))
}

/** Gives up what begins before `edge`, Unix seconds; answers how many items. */
export async function expireItems(
  pool: pg.Pool,
  fence: Fence,
  app: string,
  stream: OpenItem['stream'],
  lowerBound: number,
): Promise<number> {
  const [row] = await query<{ lost: number }>(pool, bind(expire, { ...fence, app, stream, edge: lowerBound }))
  return row!.lost
}

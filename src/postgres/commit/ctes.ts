import type { Grant, PageCommit, WindowCommit } from '../../engine/ports.ts'
import type { Table } from '../../tables/index.ts'
import { shortName } from '../../tables/table.ts'
import { encodeJson, writeJson } from '../encode.ts'
import type { Values } from '../statement.ts'
import { resolution } from './conflict.ts'

/**
 * Pieces of the one statement that commits a page. Every piece is a common table expression; all of them see the
 * same snapshot, and all but the first two do nothing unless `moved` has a row.
 */

/** Names what the commits of one app that touch rooms lock. `app` is an SQL expression. */
export function lockKey(app: string): string {
  return `hashtextextended('penstock rooms of ' || ${app}, 0)`
}

/**
 * Everyone who is forgotten was masked; the owner's epoch, locked until the statement ends, so that nobody can take the shard in between. A feed touches
 * many rooms at once and would deadlock with their logs, so it goes alone among the commits of its app that touch
 * rooms, and these go together.
 */
export function fence(company: 'alone' | 'together' | 'apart'): string {
  const key = lockKey(':app')
  const locks = {
    alone: `pg_advisory_xact_lock(${key})`,
    together: `pg_advisory_xact_lock_shared(${key})`,
    apart: 'null',
  }
  return `
  fence as materialized (
    select ${locks[company]}, ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  )`
}

/** Progress by compare-and-set. `condition` is what else must hold. */
export function advanced(condition: string): string {
  return `
  moved as (
    update ingest.progress p
    set version = p.version + 1, cursor = :cursor, stream_state = :stream_state::jsonb, epoch = :epoch, updated_at = ingest.clock(),
        caught_up_at = case when :caught_up::boolean then ingest.clock() - :age::double precision * interval '1 millisecond' else p.caught_up_at end, closed_at = null, wanted = '{}'
    where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version
      and exists (select from fence) and ${condition}
    returning p.version
  )`
}

/** What is kept already only counts again; of what is new there is room for so many a day, the rest is counted alone. */
export const rejected = `
  offered as materialized (
    select r.*, exists (select from ingest.dead_letter t
                        where t.app_id = :app and t.stream = :stream and t.series = :series and t.reason = r.reason
                          and t.content_hash = sha256(r.bytes)) as known
    from (select distinct on (r.reason, r.body) r.reason, r.detail, convert_to(r.body, 'UTF8') as bytes
          from json_to_recordset(:rejects::json) as r(reason text, detail text, body text)) r
    where exists (select from moved)
  ),
  weighed as materialized (
    select o.*, o.known or row_number() over (partition by o.reason, o.known) <= s.places as kept
    from offered o
    join (select reason, ingest.letters_left(:app, :stream, reason) as places from offered group by reason) s using (reason)
  ),
  letters as (
    insert into ingest.dead_letter as t (app_id, stream, series, reason, detail, body)
    select :app, :stream, :series, w.reason, w.detail, w.bytes from weighed w where w.kept
    on conflict (app_id, stream, series, reason, content_hash) do update
      set occurrences = t.occurrences + 1, last_seen_at = ingest.clock()
    returning t.reason, (xmax = 0) as fresh
  ),
  unkept as (
    insert into ingest.unkept_letter as u (app_id, stream, series, reason, letters, last_seen_at)
    select :app, :stream, :series, w.reason, count(*), ingest.clock() from weighed w where not w.kept group by w.reason
    on conflict (app_id, stream, series, reason) do update
      set letters = u.letters + excluded.letters, last_seen_at = excluded.last_seen_at
  ),
  rejected as (
    select reason, fresh from letters
    union all select w.reason, true from weighed w where not w.kept
  )`

/** In the place of `rejected` where nothing is set aside. */
export const none = `
  rejected as (select null::text as reason, false as fresh where false)`

export const settled = `
  settled as (
    update ingest.debit d
    set settled_at = greatest(d.sent_at, ingest.settle_time(b, ingest.clock(),
          to_timestamp(:time_floor::double precision / 1000), to_timestamp(:time_ceiling::double precision / 1000))),
        outcome = 'committed', told_all = :told_all::boolean
    from ingest.budget b
    where d.scope = :debit_scope and d.limit_group = :debit_group and d.n = :debit_n::bigint
      and b.scope = d.scope and b.limit_group = d.limit_group and exists (select from moved)
    returning 1
  )`

/** Parameters of `settled`; of a page that settles nothing they name no debit. `toldAll` is said of a feed alone. */
export function debitValues(grant: Grant | undefined, toldAll: boolean | null = null): Values {
  const { floor, ceiling } = grant?.clockBounds ?? { floor: 0, ceiling: 0 }
  const { scope, group, n } = grant ?? { scope: '', group: '', n: 0 }
  const debit = { debit_scope: scope, debit_group: group, debit_n: n, told_all: toldAll }
  return { ...debit, time_floor: floor, time_ceiling: ceiling }
}

/** Parameters of `rejected`. */
export function rejectedValues(rejects: PageCommit['rejects']): Values {
  const body = (item: unknown) => writeJson(item ?? null)
  return { rejects: encodeJson(rejects.map(({ item, ...why }) => ({ ...why, body: body(item) }))) }
}

/** Name of the expression that writes a table, and of the parameter that brings its rows. */
export function cteName(table: Table): string {
  return `stored_${shortName(table)}`
}

export function parameterName(table: Table): string {
  return `rows_${shortName(table)}`
}

/** Rows as the parameter takes them. */
export function encodeRows(rows: readonly object[] | undefined): string {
  return rows && rows.length > 0 ? encodeJson(rows) : '[]'
}

/** The rows of a table as a relation named `d`. */
export function incoming(table: Table): string {
  const columns = Object.entries(table.columns).map(([name, { type }]) => `${name} ${type}`)
  return `json_to_recordset(:${parameterName(table)}::json) as d(${columns.join(', ')})`
}

interface Insertion {
  /** Joins `d` to whatever decides which rows count. */
  readonly from: string
  /** Whether stored rows may change, and what columns become of which the table's own rule does not know enough. */
  readonly conflict: 'keep' | Readonly<Record<string, string>>
  /** What is told of each row besides whether it is new. */
  readonly tells?: string
}

/** Writes the rows of a table whose facts are in a room. `incarnation` is an SQL expression. */
export function store(table: Table, parts: Insertion & { readonly incarnation: string }): string {
  return insertion(table, [['incarnation', parts.incarnation]], ['room_uuid', 'incarnation'], parts)
}

/** Writes all rows of a table whose facts are of an app; `extra` are columns of new rows that no stream brings. */
export function storeOfApp(
  table: Table,
  extra: readonly (readonly [column: string, expression: string])[] = [],
): string {
  return insertion(table, extra, [], { from: 'where exists (select from moved)', conflict: {} })
}

/** `extra` are columns that no stream brings; `prefix` begins the key after the app. */
export function insertion(
  table: Table,
  extra: readonly (readonly [column: string, expression: string])[],
  prefix: readonly string[],
  { from, conflict, tells = '' }: Insertion,
): string {
  const columns = Object.keys(table.columns)
  const names = ['app_id', ...extra.map(([column]) => column), ...columns]
  const values = [':app', ...extra.map(([, expression]) => expression), ...columns.map(name => `d.${name}`)]
  return `
  ${cteName(table)} as (
    insert into ${table.name} as t (${names.join(', ')})
    select ${values.join(', ')}
    from ${incoming(table)} ${from}
    on conflict (${['app_id', ...prefix, ...table.key].join(', ')}) ${conflict === 'keep' ? 'do nothing' : resolution(table, conflict)}
    returning ${tells}${table.partitioned ? 'true' : '(xmax = 0)'} as fresh
  )`
}

/** The verdict: how far it came, and how many rows each table gained. */
export function verdict(written: readonly Table[], extra: Readonly<Record<string, string>>): string {
  const counts = written.map(table => `'${table.name}', (select count(*) from ${cteName(table)} where fresh)`)
  const more = Object.entries(extra).map(([name, expression]) => `, ${expression} as ${name}`)
  return `
  select (select version from moved)::int as version, exists (select from fence) as owned,
         json_build_object(${counts.join(', ')}) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside${more.join('')}`
}

const stillLeftOut = `(excluded.left_out and w.left_out and w.state = 'done')`

/**
 * Puts new items on the work queue. An item that is there stays as it is, also when it is done, unless more is asked
 * of it now: a longer range, another question, or what was left out until now. What is left out is done as it comes, unless it
 * was asked for before. `origin` is an SQL expression, and so is what items fall back to that were fetched as a whole before.
 */
export function worked(origin: string, fallsBackTo = 'null'): string {
  return `
  worked as (
    insert into ingest.work_item as w (app_id, stream, item, part, range_from, range_to, ask, left_out, state, origin, falls_back_to,
                                       created_at, updated_at)
    select distinct on (r.stream, r.item, r.part) :app, r.stream, r.item, r.part,
           to_timestamp(r.first), to_timestamp(r.last), r.ask, r.left_out, case when r.left_out then 'done' else 'pending' end,
           ${origin}, ${fallsBackTo}, ingest.clock(), ingest.clock()
    from json_to_recordset(:work::json)
      as r(stream text, item text, part text, first double precision, last double precision, ask jsonb, left_out boolean)
    where exists (select from moved)
      -- What had expired before anyone asked for details is nobody's backlog.
      and not exists (select from ingest.progress p where p.app_id = :app and p.stream = r.stream and p.series = ''
                      and p.backlog_from > to_timestamp(r.first))
    order by r.stream, r.item, r.part, r.last desc
    on conflict (app_id, stream, item, part) do update
      set range_from = excluded.range_from, range_to = excluded.range_to, ask = excluded.ask, page = 1,
          left_out = ${stillLeftOut}, state = case when ${stillLeftOut} then 'done' else 'pending' end,
          stream_state = null, version = w.version + 1, failures = 0, not_before = null, falls_back_to = null,
          updated_at = ingest.clock()
      where excluded.ask is distinct from w.ask or w.left_out and not excluded.left_out
        -- Of a call whose end nobody tells the range ends when it was listed: a later listing asks for nothing more.
        or (excluded.range_to > w.range_to and excluded.ask->>'end' is distinct from 'unknown')
    returning 1
  )`
}

/** Parameters of `worked`. */
export function workValues(work: WindowCommit['work']): Values {
  const items = work.map(({ stream, key, part, from, to, ask, isLeftOut = false }) => {
    return { stream, item: key, part, first: from, last: to, ask, left_out: isLeftOut }
  })
  return { work: encodeJson(items) }
}

import type pg from 'pg'
import type { DeadLetter } from '../engine/ports.ts'
import { sessionSeries } from '../tables/analytics.ts'
import { roomEvent, widgetEvent } from '../tables/classroom.ts'
import type { RowSet, Table } from '../tables/index.ts'
import { encodeRows, incoming, insertion, parameterName, storeOfApp } from './commit/ctes.ts'
import { encodeSamples, storedSamples } from './commit/samples.ts'
import { query } from './connect.ts'
import { decodeText, encodeText } from './encode.ts'
import type { Masks } from './masks.ts'
import { bind, statement } from './statement.ts'
import { LONGEST_LETTER } from './store.ts'

/** Bytes that could not be used when they came. */
export interface StoredDeadLetter extends Pick<DeadLetter, 'app' | 'stream' | 'series' | 'detail'> {
  readonly id: string
  readonly reason: string
  readonly body: Buffer
  /** ms since the epoch. */
  readonly receivedAt: number
  /** Its body is not all that came. */
  readonly isCut: boolean
}

const list = statement(
  'letters',
  `select d.id::text, d.app_id as app, d.stream, d.series, d.reason, coalesce(d.detail, '') as detail, d.body,
          (extract(epoch from d.received_at) * 1000)::double precision as "receivedAt",
          d.reason in ('malformed', 'too_large') and octet_length(d.body) >= ${LONGEST_LETTER} as "isCut"
   from ingest.dead_letter d
   where d.app_id = any(:apps) and (:room::text is null or d.series = :room) and d.id > :after::bigint
   order by d.id limit 100`,
)

/** The letters of some apps in the order in which they came. Throws StoreUnavailable. */
export async function* readDeadLetters(
  pool: pg.Pool,
  apps: readonly string[],
  room: string | undefined,
): AsyncGenerator<StoredDeadLetter> {
  const values = { apps, room: room === undefined ? null : encodeText(room) }
  for (let after = '0'; ; ) {
    const letters = await query<StoredDeadLetter>(pool, bind(list, { ...values, after }))
    for (const letter of letters) yield { ...letter, series: decodeText(letter.series) }
    const last = letters.at(-1)
    if (!last) return
    after = last.id
  }
}

/** The room as it was used when the letter came. */
const incarnation = `coalesce((
  select max(r.incarnation) from classroom.room r
  where r.app_id = :app and r.room_uuid = d.room_uuid
    and r.first_seen_at <= to_timestamp(:received_at::double precision / 1000) + interval '1 minute'), 1)`

const sameKey = (...columns: readonly string[]) =>
  ['room_uuid', ...columns].map(column => `s.${column} = d.${column}`).join(' and ')

/** Raw rows by which it is told that they are stored: another one may have their place. */
const raw: ReadonlyMap<Table, string> = new Map<Table, string>([
  [roomEvent, `${sameKey('sequence', 'cmd')} and s.data is not distinct from d.data`],
  [widgetEvent, sameKey('widget', 'content_hash')],
])

function storing(table: Table): string {
  if (table === sessionSeries) return storedSamples
  if (table.within === 'app') return storeOfApp(table)
  const place = ['incarnation', incarnation] as const
  const extra = table === roomEvent ? [place, ['source', ':source'] as const] : [place]
  const same = table === widgetEvent ? raw.get(table) : 'false'
  const from = `where not exists (select from ${table.name} s where s.app_id = :app and ${same})`
  return insertion(table, extra, ['room_uuid', 'incarnation'], { from, conflict: 'keep' })
}

/** Rows of one letter, and the tables that they may be of. */
interface LetterPage {
  readonly rows: RowSet
  readonly writes: readonly Table[]
}

/**
 * Stores what a letter says, beside what is stored; what has no place in its log is only looked for. Answers whether it is
 * there: false where the place of something kept raw is taken by another. Throws RefusedRows and StoreUnavailable.
 */
export function storeDeadLetter(
  pool: pg.Pool,
  letter: StoredDeadLetter,
  page: LetterPage,
  hasPlace: boolean,
  masks: Masks,
): Promise<boolean> {
  // What was written of some tables before someone was forgotten meanwhile is masked where it is, and stays.
  return masks.run(letter.app, mask => {
    const { rows } = mask.page({ ...page, rejects: [] }, page.writes)
    return storeMasked(pool, letter, { ...page, rows }, hasPlace, mask.count)
  })
}

async function storeMasked(
  pool: pg.Pool,
  letter: StoredDeadLetter,
  { rows, writes }: LetterPage,
  hasPlace: boolean,
  forgotten: number,
): Promise<boolean> {
  const byTable: Readonly<Record<string, readonly object[] | undefined>> = rows
  let isThere = true
  for (const table of writes) {
    const list = byTable[table.name] ?? []
    if (list.length === 0) continue
    const encoded = table === sessionSeries ? encodeSamples(rows[sessionSeries.name]) : encodeRows(list)
    const values = {
      app: letter.app,
      forgotten,
      received_at: letter.receivedAt,
      source: letter.stream === 'app-events' ? 'feed' : 'log',
      [parameterName(table)]: encoded,
    }
    const store = statement(
      `letter_${parameterName(table)}`,
      `with moved as materialized (select ingest.hold_forgotten(:app, :forgotten::bigint)), ${storing(table)}
       select from moved`,
    )
    if (hasPlace) await query(pool, bind(store, values))
    if (hasPlace && table === sessionSeries) {
      await query(pool, bind(summed, { app: letter.app, call: encodeText(letter.series) }))
    }
    if (raw.has(table)) isThere &&= await isStored(pool, table, values)
  }
  return isThere
}

/** What was read of a call later counts in its summary. */
const summed = statement(
  'letter_summed',
  'select analytics.summarize(:app, analytics.note_large(:app, array[:call::text]))',
)

async function isStored(pool: pg.Pool, table: Table, values: Readonly<Record<string, unknown>>) {
  const check = statement(
    `letter_stored_${parameterName(table)}`,
    `select bool_and(exists (select from ${table.name} s where s.app_id = :app and ${raw.get(table)})) as stored
     from ${incoming(table)}`,
  )
  const [row] = await query<{ stored: boolean }>(pool, bind(check, values))
  return row!.stored
}

/** Where what a letter is about stands: `read` since; `pending`; to be asked for `again`; or `gone`. */
export type Standing = 'read' | 'pending' | 'again' | 'gone'

/** How long what is asked about can be had, ms. */
export interface Availability {
  readonly rooms: number
  readonly ranges: number
}

const standing = statement(
  'letter_standing',
  `with letter as materialized (
     select d.*, ingest.clock() - :ranges::interval as earliest,
            tstzmultirange(tstzrange(least(ingest.clock() - :ranges::interval, d.last_seen_at), d.last_seen_at)) as near
     from ingest.dead_letter d where d.id = :id::bigint
   )
   select case ingest.stream_kind(d.stream)
     when 'window' then (
       select case when p.covered @> tstzrange(least(p.backlog_from, d.last_seen_at), d.last_seen_at) then 'read'
                   when not isempty(d.near * p.lost - p.wanted) then 'again'
                   when not isempty(d.near * p.wanted + (d.near - p.covered - p.lost - p.unasked)) then 'pending' end
       from ingest.progress p
       where p.app_id = d.app_id and p.stream = d.stream and p.series = d.series and p.backlog_from is not null and p.closed_at is null)
     when 'substream' then (
       select case when bool_and(w.state in ('done', 'split')) and max(w.updated_at) > d.last_seen_at then 'read'
                   when bool_or(w.state = 'pending') then 'pending'
                   when max(w.range_to) > d.earliest and exists (
                     select from analytics.call c where c.app_id = d.app_id and c.call_id = d.series) then 'again' end
       from ingest.work_item w where w.app_id = d.app_id and w.stream = d.stream and w.item = d.series having count(*) > 0)
     else (
       select case when d.stream = 'app-events' then null
                   when p.caught_up_at > d.last_seen_at + interval '1 minute' and not exists (
                     select from classroom.room r
                     where r.app_id = d.app_id and r.room_uuid = d.series and r.first_seen_at > d.last_seen_at) then 'read'
                   when p.wanted <> '{}' or p.series = '' then 'pending'
                   when exists (
                     select from classroom.room r
                     where r.app_id = d.app_id and r.room_uuid = d.series and r.valid_to is null and r.forgotten_at is null
                       and greatest(r.verified_at, r.first_seen_at) > ingest.clock() - :rooms::interval) then 'again' end
       from ingest.progress p where p.app_id = d.app_id and p.stream = d.stream and p.series = d.series)
   end as standing from letter d`,
)

export async function deadLetterStanding(
  pool: pg.Pool,
  { id }: StoredDeadLetter,
  availability: Availability,
): Promise<Standing> {
  const [rooms, ranges] = [`${availability.rooms} milliseconds`, `${availability.ranges} milliseconds`]
  const [row] = await query<{ standing: Standing | null }>(pool, bind(standing, { id, rooms, ranges }))
  return row?.standing ?? 'gone'
}

const asking = statement(
  'letter_again',
  `select case ingest.stream_kind(d.stream)
     when 'window' then ingest.mark_wanted(d.stream, d.app_id, d.series,
       greatest(lower(p.lost), ingest.clock() - :ranges::interval), least(upper(p.lost), d.last_seen_at))
     when 'substream' then ingest.mark_wanted(d.stream, d.app_id, d.series, c.created_at, c.created_at + interval '1 second')
   end
   from ingest.dead_letter d
   left join ingest.progress p on p.app_id = d.app_id and p.stream = d.stream and p.series = d.series
   left join analytics.call c on c.app_id = d.app_id and c.call_id = d.series
   where d.id = :id::bigint`,
)

/** Has a range of time or the details of a call asked for once more, where the standing is `again`. */
export async function askAgain(
  pool: pg.Pool,
  { id }: StoredDeadLetter,
  { ranges }: Availability,
): Promise<void> {
  await query(pool, bind(asking, { id, ranges: `${ranges} milliseconds` }))
}

/** Takes letters away whose contents are stored. */
export async function closeDeadLetters(pool: pg.Pool, ids: readonly string[]): Promise<void> {
  await query(pool, { text: 'delete from ingest.dead_letter where id = any($1::bigint[])', values: [ids] })
}

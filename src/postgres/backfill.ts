import type pg from 'pg'
import type { OpenItem, WindowCommit } from '../engine/ports.ts'
import { query } from './connect.ts'
import { encodeText } from './encode.ts'
import { bind, statement } from './statement.ts'

export interface Wanted {
  readonly app: string
  /** A stream whose progress is time, or one that reads details of calls. */
  readonly stream: WindowCommit['stream'] | OpenItem['stream']
  /** One series, or one call of a stream that reads details; null for all of them. */
  readonly series: string | null
  /** From here up to `to`, Unix seconds; of details, the calls that start there. */
  readonly from: number
  readonly to: number
}

const mark = `select ingest.mark_wanted($1, $2, $3, to_timestamp($4::double precision), to_timestamp($5::double precision)) as marked`

/**
 * Marks what is to be fetched once more; the running daemon does the work. Answers how many series or items were
 * marked: 0 when nothing of it is known. Throws RefusedRows for a stream whose progress is not time and for a range
 * that ends before it begins; StoreUnavailable.
 */
export async function markWanted(pool: pg.Pool, wanted: Wanted): Promise<number> {
  const { app, stream, series, from, to } = wanted
  const values = [stream, app, series === null ? null : encodeText(series), from, to]
  const [row] = await query<{ marked: number }>(pool, { text: mark, values })
  return row!.marked
}

const unread = `select (
    select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0) from ingest.progress p,
      unnest(p.wanted * tstzmultirange(tstzrange(to_timestamp($3::double precision), to_timestamp($4::double precision)))) r
    where p.app_id = $2 and p.stream = $1 and p.closed_at is null)::float8
  + (select count(*) from ingest.work_item w join analytics.call c on c.app_id = w.app_id and c.call_id = w.item
     where w.app_id = $2 and w.stream = $1 and w.state = 'pending'
       and c.created_at >= to_timestamp($3::double precision) and c.created_at < to_timestamp($4::double precision)) as left`

/** What of a range is marked and not fetched yet: seconds over all series, or items. Throws StoreUnavailable. */
export async function readWanted(
  pool: pg.Pool,
  { app, stream, from, to }: Omit<Wanted, 'series'>,
): Promise<number> {
  const [row] = await query<{ left: number }>(pool, { text: unread, values: [stream, app, from, to] })
  return Number(row!.left)
}

/** A room, and the streams that are to read it from its beginning. */
interface WantedRoom {
  readonly app: string
  readonly room: string
  readonly streams: readonly string[]
}

/** How many of a room's streams are marked and not read from the beginning yet. Throws StoreUnavailable. */
export async function readMarkedRoom(pool: pg.Pool, { app, room, streams }: WantedRoom): Promise<number> {
  const text = `select count(*)::int as left from ingest.progress
    where app_id = $1 and series = $2 and stream = any ($3) and wanted <> '{}'`
  const [row] = await query<{ left: number }>(pool, { text, values: [app, encodeText(room), streams] })
  return row!.left
}

const marking = statement(
  'mark_room',
  `insert into ingest.progress as p (app_id, stream, series, wanted)
   select :app, s.stream, :room, '{(,)}' from unnest(:streams::text[]) s(stream)
   on conflict (app_id, stream, series) do update set version = p.version + 1, wanted = '{(,)}', closed_at = null`,
)

/**
 * Marks a room to be read again from its beginning by these streams; the running daemon does it. A page that is under
 * way is void, so that no reading that began before takes the mark away. Throws StoreUnavailable.
 */
export async function markRoom(pool: pg.Pool, room: WantedRoom): Promise<void> {
  await query(pool, bind(marking, { ...room, room: encodeText(room.room) }))
}

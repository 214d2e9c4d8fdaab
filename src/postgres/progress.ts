import type pg from 'pg'
import type { Fence, OpenSeries, Progress, RoomLife, Store, WantedRoom } from '../engine/ports.ts'
import { roomStreamsOf } from '../streams/stream.ts'
import { createBatches } from './batches.ts'
import type { CommitSettings } from './commit/commit.ts'
import { query } from './connect.ts'
import { decodeColumn, decodeJson, decodeText, encodeJson, encodeText } from './encode.ts'
import { owned } from './gaps.ts'
import { bind, statement } from './statement.ts'

/** The room that a series is of, as it was used last. */
const lastRoom = `
   left join lateral (
     select r.incarnation, r.verified_at, r.state_sequence, r.ended_at, r.last_event_at, r.region from classroom.room r
     where r.app_id = p.app_id and r.room_uuid = p.series order by r.incarnation desc limit 1
   ) r on true`

const lifeColumns = `r.incarnation, r.state_sequence::text as state_sequence, extract(epoch from r.ended_at)::double precision * 1000 as ended_at`

const read = statement(
  'progress',
  `select w.n, p.version::int, p.cursor, p.stream_state::text as stream_state, not isempty(p.wanted) as wanted,
          coalesce(r.verified_at > ingest.clock() - :memory::interval, false) as certain, ${lifeColumns}
   from json_to_recordset(:series::json) as w(n int, app_id text, stream text, series text)
   cross join lateral (
     select p.* from ingest.progress p
     where p.app_id = w.app_id and p.stream = w.stream and p.series = w.series
     offset 0
   ) p ${lastRoom}`,
)

const list = statement(
  'open_series',
  `select p.series, ${lifeColumns},
          extract(epoch from r.last_event_at)::double precision * 1000 as last_event_at, r.region,
          extract(epoch from ingest.clock() - beside.read_at)::double precision * 1000 as beside_read_ago
   from ingest.progress p ${lastRoom}
   left join lateral (
     select min(o.caught_up_at) as read_at from ingest.progress o
     where o.app_id = p.app_id and o.stream = any (:beside::text[]) and o.series = p.series
     having count(o.caught_up_at) = cardinality(:beside::text[])
   ) beside on r.ended_at is null and beside.read_at > r.last_event_at
     and not exists (
       select from classroom.recording c
       where c.app_id = p.app_id and c.room_uuid = p.series and c.incarnation = r.incarnation
         and (c.status = 1 or coalesce(c.url, '') = '' and not exists (
           select from classroom.recording_file f
           where f.app_id = c.app_id and f.room_uuid = c.room_uuid and f.incarnation = c.incarnation and f.record_id = c.record_id)))
   where p.app_id = :app and p.stream = :stream and p.closed_at is null
   order by p.series`,
)

const wantedRooms = statement(
  'wanted_rooms',
  `select p.app_id as app, p.series, r.region, array_agg(p.stream order by p.stream) as streams
   from ingest.progress p ${lastRoom}
   where p.wanted <> '{}' and p.backlog_from is null and p.closed_at is null
   group by p.app_id, p.series, r.region`,
)

/** From the first event of a room to its last, a day at most. Rooms are found by the day on which they began. */
const busy = statement(
  'busy_hours',
  `select r.app_id as app, array_agg(distinct ((extract(isodow from h) - 1) * 24 + extract(hour from h))::int) as hours
   from classroom.room r
   cross join lateral generate_series(date_trunc('hour', r.valid_from), least(r.last_event_at, r.valid_from + interval '1 day'),
                                      interval '1 hour') h
   where r.app_id = any (:apps::text[])
     and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date >= (select (ingest.clock() at time zone 'UTC')::date - 28)
   group by r.app_id`,
)

const follow = statement(
  'follow',
  `insert into ingest.progress as p (app_id, stream, series)
   select :app, s.stream, r.room from unnest(:streams::text[]) s(stream) cross join unnest(:rooms::text[]) r(room)
   where ${owned}
   on conflict (app_id, stream, series) do update
     set closed_at = null, caught_up_at = case p.stream when 'app-events' then ingest.clock() else p.caught_up_at end
     where p.closed_at is not null`,
)

const note = statement(
  'note_app',
  `with app as (
     insert into ingest.app as a (app_id, time_zone, unknown_zone, user_link)
     select :app, case when z.is_known then :zone else 'UTC' end, case when not z.is_known then :zone end, :link
     from (select ingest.knows_zone(:zone) as is_known offset 0) z where ${owned}
     on conflict (app_id) do update
       set time_zone = excluded.time_zone, unknown_zone = excluded.unknown_zone, user_link = excluded.user_link, updated_at = excluded.updated_at
       where (a.time_zone, a.unknown_zone, a.user_link) is distinct from (excluded.time_zone, excluded.unknown_zone, excluded.user_link)
   ), on_again as (
     update ingest.stream_off o set on_at = ingest.clock()
     where o.app_id = :app and o.stream = any (:on::text[]) and o.on_at is null and ${owned}
   )
   insert into ingest.stream_off (app_id, stream, off_at)
   select :app, s.stream, ingest.clock() from unnest(:off::text[]) s(stream)
   where ${owned} and not exists (
     select from ingest.stream_off o where o.app_id = :app and o.stream = s.stream and o.on_at is null)
   on conflict (app_id, stream, off_at) do nothing`,
)

/** A log that nobody reads any more, and whose holes were shown too seldom to be natural, keeps them for good: lost. */
const close = statement(
  'close_series',
  `with closed as (
     update ingest.progress p set closed_at = ingest.clock()
     where p.app_id = :app and p.stream = any(:closing::text[]) and p.series = :series and p.closed_at is null and ${owned}
     returning p.app_id, p.stream, p.series
   )
   update ingest.gap g set state = 'lost', updated_at = ingest.clock() from closed c
   where g.app_id = c.app_id and g.stream = c.stream and g.series = c.series and g.unit = 'sequence' and g.state = 'open'`,
)

/**
 * A log that cannot be read shows that its room is there. It is the one that is known where none was told apart by its
 * log, and where its log was read so lately that the room was not given up meanwhile.
 */
const vouch = statement(
  'vouch_for_room',
  `insert into classroom.room as t (app_id, room_uuid, incarnation, region, first_seen_at, verified_at)
   select :app, :room, coalesce(r.incarnation, 1), :region, ingest.clock(), ingest.clock() - :memory::interval * 0.75
   from (select) one
   left join lateral (
     select r.incarnation, r.verified_at, r.ended_at from classroom.room r
     where r.app_id = :app and r.room_uuid = :room order by r.incarnation desc limit 1
   ) r on true
   where ${owned} and (
     r.verified_at > ingest.clock() - :memory::interval
       and coalesce(r.ended_at > ingest.clock() - :memory::interval * 0.5, true)
     or not exists (
       select from ingest.progress p
       where p.app_id = :app and p.series = :room and p.stream = 'room-events'
         and coalesce(p.stream_state ->> 'fingerprint', '') <> ''))
   on conflict (app_id, room_uuid, incarnation) do update
     set verified_at = greatest(t.verified_at, excluded.verified_at)
   returning 1`,
)

/** Series that one statement reads at most. */
const MOST_SERIES = 500

interface AskedSeries {
  readonly app_id: string
  readonly stream: string
  readonly series: string
}

async function readAll(
  pool: pg.Pool,
  memory: string,
  asked: readonly AskedSeries[],
): Promise<readonly (Progress | undefined)[]> {
  const series = encodeJson(asked.map((each, n) => ({ n, ...each })))
  const rows = await query<ProgressRow>(pool, bind(read, { series, memory }))
  const found = new Map(rows.map(row => [row.n, progressOf(row)]))
  return asked.map((_, n) => found.get(n))
}

interface ProgressRow extends LifeRow {
  readonly n: number
  readonly version: number
  readonly cursor: string | null
  readonly stream_state: string | null
  readonly certain: boolean
  readonly wanted: boolean
}

function progressOf({ version, cursor, stream_state, certain, wanted, ...room }: ProgressRow): Progress {
  return {
    version,
    cursor: cursor === null ? null : decodeText(cursor),
    streamState: decodeColumn(stream_state),
    certain,
    wanted,
    life: lifeOf(room),
  }
}

interface LifeRow {
  readonly incarnation: number | null
  readonly state_sequence: string | null
  readonly ended_at: number | null
}

interface OpenRow extends LifeRow, Pick<OpenSeries, 'series' | 'region'> {
  readonly last_event_at: number | null
  readonly beside_read_ago: number | null
}

function lifeOf({ incarnation, state_sequence, ended_at }: LifeRow): RoomLife | undefined {
  if (incarnation === null || state_sequence === null) return undefined
  const sequence = decodeJson(state_sequence) as RoomLife['sequence']
  return { incarnation, sequence, endedAt: ended_at ?? undefined }
}

/** What is known of series that follow a cursor, and of the apps that they are of. */
export function seriesStore(pool: pg.Pool, settings: CommitSettings) {
  const memory = `${settings.roomMemory} milliseconds`
  const readProgress = createBatches(MOST_SERIES, 1, (asked: readonly AskedSeries[]) =>
    readAll(pool, memory, asked),
  )
  const followAll = async (
    fence: Fence,
    app: string,
    streams: readonly string[],
    series: readonly string[],
  ) => {
    await query(pool, bind(follow, { ...fence, app, streams, rooms: series.map(encodeText) }))
  }
  return {
    progress: (app_id, stream, series) => readProgress({ app_id, stream, series }),
    openSeries: async (app, stream, beside = []) => {
      const rows = await query<OpenRow>(pool, bind(list, { app, stream, beside }))
      return rows.map(row => ({
        series: decodeText(row.series),
        life: lifeOf(row),
        lastEventAt: row.last_event_at,
        region: row.region ?? null,
        besideReadAgo: row.beside_read_ago,
      }))
    },
    wantedRooms: async () => {
      type Row = Omit<WantedRoom, 'room'> & { series: string }
      const rows = await query<Row>(pool, bind(wantedRooms, {}))
      return rows.map(({ series, ...wanted }) => ({ ...wanted, room: decodeText(series) }))
    },
    busyHours: async apps => {
      const rows = await query<{ app: string; hours: readonly number[] }>(pool, bind(busy, { apps }))
      return new Map(rows.map(({ app, hours }) => [app, new Set(hours)]))
    },
    discoverRooms: (fence, app, rooms) => followAll(fence, app, roomStreamsOf(settings.streams), rooms),
    follow: (fence, app, stream, series) => followAll(fence, app, [stream], [series]),
    noteApp: async (fence, app, { timeZone, userLink, on, off }) => {
      await query(pool, bind(note, { ...fence, app, on, off, zone: timeZone, link: userLink }))
    },
    closeSeries: async (fence, app, stream, series) => {
      // The log of a room goes last. What was closed in history that a failover lost is open here, and nobody would come back to it.
      const isLog = settings.streams.some(
        each => each.name === stream && each.kind === 'log' && each.isParent,
      )
      const closing = isLog ? roomStreamsOf(settings.streams) : [stream]
      await query(pool, bind(close, { ...fence, app, closing, series: encodeText(series) }))
    },
    vouchFor: async (fence, app, room, region = settings.region(app)) => {
      const values = { ...fence, app, room: encodeText(room), region, memory }
      return (await query(pool, bind(vouch, values))).length > 0
    },
  } satisfies Partial<Store>
}

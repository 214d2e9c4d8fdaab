import { readStatus, readStoreGauges } from '../../src/postgres/status.ts'
import { app, hour, roomStreams, type TestStore } from './harness.ts'

export const day = 24 * hour
const midnight = Date.parse('2026-01-05T00:00:00Z')
/** So many hours after the first midnight. */
export const h = (hours: number) => new Date(midnight + hours * hour).toISOString()

/** Four classes in three rooms, read to the end forty hours after the first midnight. */
export async function school(db: TestStore): Promise<void> {
  for (const [room, incarnation, from] of [
    ['maths', 1, 8],
    ['maths', 2, 32],
    ['music', 1, 33],
    ['whole', 1, 34],
  ] as const) {
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, state, state_sequence, first_seen_at, started_at, ended_at,
                                   valid_from, last_event_at, valid_to)
       values ($1, $2, $3, 2, 2, $4, $4, $5, $4, $5, case when $2 = 'maths' and $3 = 1 then $5::timestamptz end)`,
      [app, room, incarnation, h(from), h(from + 1)],
    )
    await db.rows(
      `insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
       values ($1, $2, $3, 2, 1, $4, 'event', $4, 'log')`,
      [app, room, incarnation, h(from + 1)],
    )
  }
  await db.rows(
    `insert into ingest.progress (app_id, stream, series, caught_up_at)
     select $1, s, r, $2::timestamptz from unnest($3::text[]) s cross join unnest(array['maths', 'music', 'whole']) r
     union all select $1, 'app-events', '', $4::timestamptz`,
    [app, h(40), roomStreams, h(95)],
  )
  await db.rows(
    `insert into ingest.progress (app_id, stream, series, backlog_from, covered)
     select $1, s, '', $2::timestamptz, tstzmultirange(tstzrange($2::timestamptz, $3::timestamptz)) from unnest(array['calls', 'realtime-usage', 'call-sessions']) s`,
    [app, h(0), h(30)],
  )
}

/** All that is told of days, rooms and losses. */
export async function told(db: TestStore) {
  const complete = [0, 5, 24].flatMap(from => [from + 1, from + 24].map(to => [h(from), h(to)]))
  return {
    days: await db.rows(`select * from ingest.complete_day order by day, stream`),
    rooms: await db.rows('select * from ingest.room_complete order by room_uuid, stream'),
    logs: await db.rows('select * from ingest.room_log order by room_uuid'),
    ranges: await Promise.all(
      ['calls', 'call-sessions', 'realtime-usage'].flatMap(stream =>
        complete.map(range => db.value('select ingest.is_complete($1, $2, $3, $4)', [stream, app, ...range])),
      ),
    ),
    lossesByDay: await db.rows(
      `select d::date as day, stream, why, sum(stands_for)::int as losses
       from generate_series($1::timestamptz, $2, interval '24 hours') d join ingest.loss on range_from < d + interval '24 hours' and range_to > d
       group by 1, 2, 3 order by 1, 2, 3`,
      [h(0), h(240)],
    ),
    losses: await db.rows(
      `select stream, state, why, incarnation, sum(stands_for)::int as losses, sum(minutes) as minutes, sum(events)::int as events,
              min(range_from) as since, max(range_to) as until, min(sequence_from) as first, max(sequence_to) as last
       from ingest.loss group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    ),
    status: await readStatus(db.pool),
    figures: await readStoreGauges(db.pool),
  }
}

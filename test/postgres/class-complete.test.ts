import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { app, openStore, roomStreams, start, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.rows(
    `truncate ingest.progress, ingest.gap, ingest.dead_letter, ingest.unkept_letter, ingest.stream_off, classroom.room,
              classroom.room_event, classroom.recording, classroom.recording_file`,
  )
  await db.rows(
    `insert into classroom.room (app_id, room_uuid, incarnation, state, state_sequence, first_seen_at, started_at, ended_at,
                                 valid_from, valid_to, last_event_at, verified_at)
     values ($1, 'r', 1, 2, 2, $2, $3, $4, $3, $5, $4, $4), ($1, 'r', 2, 2, 2, $5, $5, $6, $5, null, $6, $6)`,
    [app, minute(0), minute(1), minute(10), minute(60), minute(70)],
  )
  await db.rows(
    `insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
     select app_id, room_uuid, incarnation, n, 1, last_event_at, 'event', last_event_at, 'log'
     from classroom.room cross join generate_series(1, 2) n`,
  )
  for (const stream of roomStreams)
    await db.rows(
      `insert into ingest.progress (app_id, stream, series, caught_up_at) values ($1, $2, 'r', $3)`,
      [app, stream, minute(72)],
    )
})

const minute = (minutes: number) => new Date(Date.parse(start) + minutes * 60_000).toISOString()

/** What is told of the two classes of the room: nothing where all is known. */
async function told(): Promise<readonly string[]> {
  const rows = await db.rows(
    `select case when complete then lacking || reasons else lacking || ': ' || reasons || repeat('!', gaps) end as told
     from classroom.class_complete order by incarnation`,
  )
  return rows.map(each => String(each.told))
}

const letter = (stream: string, at: string) =>
  db.rows(
    `insert into ingest.dead_letter (app_id, stream, series, reason, body, received_at, last_seen_at)
     values ($1, $2, 'r', 'wrong_type', 'x', $3, $3)
     on conflict (app_id, stream, series, reason, content_hash) do update set last_seen_at = excluded.last_seen_at`,
    [app, stream, at],
  )
const gap = (stream: string, incarnation: number) =>
  db.rows(
    `insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state)
     values ($1, $2, 'r', $3, 'sequence', 3, 4, 'hole', 'open')`,
    [app, stream, incarnation],
  )
const recording = (incarnation: number, status: number) =>
  db.rows(
    `insert into classroom.recording (app_id, room_uuid, incarnation, record_id, status) values ($1, 'r', $2, 'one', $3)`,
    [app, incarnation, status],
  )

describe('a class', () => {
  it('is complete when all of its streams were read to their end, also when its room was used again', async () => {
    expect(await told()).toEqual(['', ''])
  })

  it.each<[string, string, readonly string[]]>([
    [
      'goes on',
      `update classroom.room set state = 1, ended_at = null where incarnation = 2`,
      ['', ': not_over'],
    ],
    [
      'was not seen ending',
      `update classroom.room set state = 1, ended_at = null where incarnation = 1`,
      [': end_not_seen', ''],
    ],
    [
      'was not read since it ended',
      `update ingest.progress set caught_up_at = '${minute(69)}' where stream = 'poll'`,
      ['', 'poll: unread'],
    ],
    [
      'was not read before its room was used again',
      `update classroom.room set unread = '["poll", "resources"]' where incarnation = 1`,
      ['poll, resources: unread', ''],
    ],
    ['is not followed', `delete from ingest.progress`, [': unread', ': unread']],
    [
      'has an event that only the feed told',
      `update classroom.room_event set source = 'feed' where incarnation = 1 and sequence = 1`,
      ['room-events: unconfirmed', ''],
    ],
    [
      'has an end that only the feed told',
      `update classroom.room_event set source = 'feed' where incarnation = 2 and sequence = 2`,
      ['', 'room-events: unconfirmed'],
    ],
  ])('that %s is not', async (_, change, expected) => {
    await db.rows(change)
    expect(await told()).toEqual(expected)
  })

  it('is not where the ledger has a gap of it, and that is of no other class of the room', async () => {
    await gap('room-events', 1)
    expect(await told()).toEqual(['room-events: hole!', ''])
    await db.rows(`update ingest.gap set state = 'repaired'`)
    expect(await told()).toEqual(['', ''])
  })

  it('is not where items of it could not be read, of a list those that the last reading met', async () => {
    await letter('poll', minute(5))
    expect(await told()).toEqual(['poll: unreadable', ''])
    await letter('popup-quiz', minute(65))
    await letter('resources', minute(65))
    expect(await told()).toEqual(['poll: unreadable', 'popup-quiz: unreadable'])
    await letter('resources', minute(72))
    expect(await told()).toEqual(['poll: unreadable', 'popup-quiz, resources: unreadable'])
  })

  it('is not where a recording lacks its files or was not seen ending', async () => {
    await recording(1, 2)
    await recording(2, 1)
    expect(await told()).toEqual(['recordings: files_missing', 'recordings: still_recording'])
    await db.rows(
      `insert into classroom.recording_file (app_id, room_uuid, incarnation, record_id, ordinal, url) values ($1, 'r', 1, 'one', 0, 'https://x/a.mp4')`,
      [app],
    )
    expect(await told()).toEqual(['', 'recordings: still_recording'])
  })

  it('is not judged by a stream that was off when it began', async () => {
    await db.rows(`update ingest.progress set caught_up_at = null where stream = 'recordings'`)
    expect(await told()).toEqual(['', 'recordings: unread'])
    await db.rows(`insert into ingest.stream_off (app_id, stream, off_at) values ($1, 'recordings', $2)`, [
      app,
      minute(30),
    ])
    expect(await told()).toEqual(['', ''])
  })

  it('stays what it was when retention has emptied it', async () => {
    const empty = (emptied: object) =>
      db.rows('update classroom.room set emptied_at = $1, emptied = $2', [
        minute(90),
        JSON.stringify(emptied),
      ])
    await db.rows('truncate classroom.room_event')
    await empty({ events: 2, unconfirmed: 0, confirmed: true, recordings: null })
    expect(await told()).toEqual(['', ''])
    await empty({ events: 2, unconfirmed: 1, confirmed: true, recordings: 'files_missing' })
    const lacks = 'room-events, recordings: unconfirmed, files_missing'
    expect((await told()).map(each => each.split(/[:,] /).sort())).toEqual(
      [lacks, lacks].map(each => each.split(/[:,] /).sort()),
    )
  })

  it('that is long over is told by what was folded into the row of its log', async () => {
    await db.rows(
      `update ingest.progress p set folded = (
         select jsonb_object_agg(o.stream, jsonb_build_array(extract(epoch from o.caught_up_at), null, null))
         from ingest.progress o where o.stream <> 'room-events')
       where p.stream = 'room-events'`,
    )
    await db.rows(`delete from ingest.progress where stream <> 'room-events'`)
    expect(await told()).toEqual(['', ''])
  })

  it('says the same as the view of rooms and that of days', async () => {
    await gap('poll', 2)
    await recording(2, 1)
    await db.rows(
      `insert into ingest.progress (app_id, stream, series, caught_up_at) values ($1, 'app-events', '', $2)`,
      [app, minute(60 * 48)],
    )
    await db.rows(
      `update classroom.room set first_seen_at = first_seen_at - interval '1 day' where incarnation = 1`,
    )
    await db.setTime(minute(60 * 48))
    const lacking = await db.rows(
      `select string_agg(c.stream, ', ' order by k.place) as lacking
       from ingest.room_complete c join ingest.stream k using (stream) where not c.complete`,
    )
    const days = await db.rows(
      `select string_agg(c.stream, ', ' order by k.place) as lacking
       from ingest.complete_day c join ingest.stream k using (stream) where not c.complete and days_ago = 2`,
    )
    await db.setTime(minute(0))
    expect(await told()).toEqual(['', 'poll, recordings: hole, still_recording!'])
    expect([lacking, days]).toEqual([[{ lacking: 'poll, recordings' }], [{ lacking: 'poll, recordings' }]])
  })

  it('is told to readers of less', async () => {
    await db.rows(`select ingest.make_reader('less', $1)`, [app])
    await db.rows('set role less')
    const seen = await db.rows('select complete from less.class_complete')
    await db.rows('reset role')
    expect(seen).toEqual([{ complete: true }, { complete: true }])
    await db.rows('drop schema less cascade; drop owned by less; drop role less')
  })
})

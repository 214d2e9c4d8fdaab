import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { writableSamples } from '../support/samples.ts'
import { call, iso, samples, session } from './analytics.ts'
import { app, openStore, type TestStore } from './harness.ts'

/** Two classes in one room, one call each, and calls that nobody measured. All results are counted by hand. */

let db: TestStore
const hour = 3_600
const calls = [
  call('first', { created_at: iso(0), destroyed_at: iso(600) }),
  call('again', { created_at: iso(hour), destroyed_at: iso(hour + 1_200) }),
  call('tail', { created_at: iso(hour + 1_300), destroyed_at: iso(hour + 1_360) }),
  call('silent', { cname: 'art', created_at: iso(0), destroyed_at: null, finished: false }),
  call('empty', { cname: null, created_at: iso(-30 * hour), destroyed_at: iso(-30 * hour - 60) }),
]
const sessions = [
  session('first', 'f1', { uid: '1', joined_at: iso(0), left_at: iso(300) }),
  session('first', 'f2', { uid: '1', joined_at: iso(360), left_at: iso(600) }),
  session('first', 'f3', { uid: '2', joined_at: iso(60), left_at: null }),
  session('again', 'a1', { uid: '1', joined_at: iso(hour), left_at: iso(hour + 1_200) }),
  session('tail', 't1', { uid: '3', joined_at: null, left_at: null }),
  session('silent', 's1', { uid: '4', joined_at: iso(0), left_at: null }),
]
const measured = [
  // Audio freeze: 10 values of 0 and 10 of 300 ms; loss 5 and 15 %; round trip 100 ms; what is not of quality besides.
  samples(
    'first',
    'f1',
    20_005,
    Array.from({ length: 20 }, (_, i) => [i * 2, i < 10 ? 0 : 300] as const),
  ),
  ...[samples('first', 'f2', 20_016, [[400, 5]]), samples('first', 'f3', 20_016, [[400, 15]])],
  samples('first', 'f1', 20_022, [
    [0, 100],
    [2, 100],
  ]),
  samples('first', 'f1', 20_001, [[0, 99]]),
  samples('again', 'a1', 20_005, [
    [hour, 0],
    [hour + 2, 100],
  ]),
  samples('again', 'a1', 20_011, [[hour + 4, 250]]),
  samples('tail', 't1', 20_018, [[hour + 1_300, 2]]),
  // So far from its call that it cannot be of it.
  samples('tail', 't1', 20_018, [[9e7, 80]]),
]

beforeAll(async () => {
  db = await openStore()
  await db.rows(writableSamples)
  const insert = (table: string, rows: readonly object[]) =>
    db.rows(
      `insert into analytics.${table} select r.* from jsonb_array_elements($2) x
       cross join lateral jsonb_populate_record(null::analytics.${table}, $1::jsonb || x) r`,
      [JSON.stringify({ app_id: app, first_seen_at: iso(0), updated_at: iso(0) }), JSON.stringify(rows)],
    )
  await insert('call', calls)
  await insert('call_session', sessions)
  await insert(
    'session_metric',
    measured.flatMap(({ at, value, ...row }) =>
      at.map((second, i) => ({ ...row, at: new Date(second * 1_000).toISOString(), value: value[i] })),
    ),
  )
  await db.rows(
    'insert into analytics.call_summary (app_id, call_id) select app_id, call_id from analytics.call',
  )
  await db.rows('select analytics.summarize($1, (select array_agg(call_id) from analytics.call))', [app])
  await db.rows(
    `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
     select app_id, 'call-sessions', call_id, '0', created_at, created_at, 'done' from analytics.call`,
  )
  await db.rows(
    `insert into classroom.room (app_id, room_uuid, incarnation, started_at, valid_from, valid_to) values
       ($1, 'maths', 1, $2, $2, $3), ($1, 'maths', 2, $3, $3, null), ($1, 'history', 1, $2, $2, null)`,
    [app, iso(5), iso(1_800)],
  )
  await db.rows(
    `insert into analytics.usage_insight (app_id, metric, granularity, at, value, fetched_at) values
       ($1, 'userCount', 'day', '2026-01-05 00:00Z', 4, $2), ($1, 'channelCount', 'day', '2026-01-05 00:00Z', 2, $2),
       ($1, 'userCount', 'hour', '2026-01-05 00:00Z', 1, $2), ($1, 'userCount', 'day', '2026-01-09 00:00Z', 7, $2)`,
    [app, iso(0)],
  )
})
afterAll(() => db.close())

/** As the daemon's role reads it, by the name of a column. */
async function view(name: string, key: string): Promise<ReadonlyMap<unknown, Record<string, unknown>>> {
  const { rows } = await db.pool.query<Record<string, unknown>>(`select * from analytics.${name}`)
  expect(new Set(rows.map(row => row[key])).size).toBe(rows.length)
  return new Map(rows.map(row => [row[key], row]))
}

const unmeasured = {
  ...{ samples: '0', bad_share: null, audio_freeze_avg_ms: null, audio_freeze_p95_ms: null },
  ...{ audio_loss_avg_pct: null, video_loss_p95_pct: null, rtt_avg_ms: null, rtt_p95_ms: null },
}

describe('the quality of calls', () => {
  it('counts users and minutes, and sums up what was measured over all sessions', async () => {
    const found = await view('call_quality', 'call_id')
    expect(found.size).toBe(5)
    expect(found.get('first')).toMatchObject({
      ...{ cname: 'maths', minutes: 10, users: 2, sessions: 3, user_minutes: 5 + 4 + 9 },
      ...{ samples: '24', bad_share: 11 / 24 },
      ...{ audio_freeze_avg_ms: 150, audio_freeze_p95_ms: 300, video_freeze_avg_ms: null },
      ...{ audio_loss_avg_pct: 10, audio_loss_p95_pct: 14.5, rtt_avg_ms: 100, rtt_p95_ms: 100 },
    })
    expect(found.get('tail')).toMatchObject({
      ...{ users: 1, sessions: 1, user_minutes: 0, samples: '1', bad_share: 0, video_loss_avg_pct: 2 },
    })
  })

  it('shows calls that nobody measured, that go on, or that end before they start', async () => {
    const found = await view('call_quality', 'call_id')
    expect(found.get('silent')).toMatchObject({ minutes: null, users: 1, user_minutes: 0, ...unmeasured })
    expect(found.get('empty')).toMatchObject({
      minutes: 0,
      users: 0,
      sessions: 0,
      user_minutes: 0,
      ...unmeasured,
    })
  })

  it('says of which the metrics were left out on purpose, and of each class of how many calls', async () => {
    await db.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state, left_out)
       values ($1, 'call-metrics', 'tail', '0', $2, $2, 'done', true), ($1, 'call-metrics', 'first', '0', $2, $2, 'done', false)`,
      [app, iso(0)],
    )
    onTestFinished(
      async () => void (await db.rows(`delete from ingest.work_item where stream = 'call-metrics'`)),
    )
    const { rows: calls } = await db.pool.query('select call_id from analytics.call_quality where left_out')
    const { rows: classes } = await db.pool.query(
      'select calls, calls_left_out from analytics.class_quality order by incarnation',
    )
    expect(calls).toEqual([{ call_id: 'tail' }])
    expect(classes).toEqual([
      { calls: 1, calls_left_out: 0 },
      { calls: 2, calls_left_out: 1 },
    ])
  })

  it('lists the worst first and leaves out those without a bad moment', async () => {
    const { rows } = await db.pool.query('select call_id, bad_share from analytics.worst_calls')
    expect(rows).toEqual([
      { call_id: 'first', bad_share: 11 / 24 },
      { call_id: 'again', bad_share: 1 / 3 },
    ])
  })
})

describe('the quality of classes', () => {
  it('joins each call with the room that its channel name meant when it began', async () => {
    const { rows } = await db.pool.query('select * from analytics.class_quality order by incarnation')
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatchObject({
      ...{ room_uuid: 'maths', incarnation: 1, calls: 1, users: 2, sessions: 3, user_minutes: 18 },
      ...{ samples: '24', audio_freeze_avg_ms: 150, audio_loss_avg_pct: 10 },
    })
    expect(rows[1]).toMatchObject({
      ...{ room_uuid: 'maths', incarnation: 2, calls: 2, users: 2, sessions: 2, user_minutes: 20 },
      ...{ samples: '4', bad_share: 1 / 4, audio_freeze_avg_ms: 50, video_freeze_avg_ms: 250 },
      ...{
        video_loss_avg_pct: 2,
        first_call_at: new Date(iso(hour)),
        last_call_end: new Date(iso(hour + 1_360)),
      },
    })
  })
})

describe('quality over time', () => {
  it('is summed up by the hour in UTC', async () => {
    const { rows } = await db.pool.query(
      `select * from analytics.quality_by_hour where hour < '2027-01-01' order by hour`,
    )
    expect(rows).toMatchObject([
      { hour: new Date(iso(0)), calls: 1, samples: '22', audio_freeze_avg_ms: 150, audio_loss_p95_pct: 14.5 },
      {
        ...{
          hour: new Date(iso(hour)),
          calls: 2,
          samples: '4',
          audio_freeze_avg_ms: 50,
          audio_freeze_p95_ms: 95,
        },
        ...{ video_freeze_avg_ms: 250, video_loss_avg_pct: 2, audio_loss_avg_pct: null },
      },
    ])
  })
})

describe('usage by day', () => {
  it('puts what was counted beside what the provider reports, and shows days that only one of them knows', async () => {
    const { rows } = await db.pool.query(
      `select day::text, calls, call_minutes, users, sessions, user_minutes, reported from analytics.usage_by_day order by day`,
    )
    expect(rows).toEqual([
      {
        day: '2026-01-04',
        calls: 1,
        call_minutes: 0,
        users: 0,
        sessions: 0,
        user_minutes: 0,
        reported: null,
      },
      {
        ...{ day: '2026-01-05', calls: 4, call_minutes: 10 + 20 + 1, users: 4, sessions: 6 },
        ...{ user_minutes: 18 + 20, reported: { userCount: 4, channelCount: 2 } },
      },
      {
        ...{ day: '2026-01-09', calls: 0, call_minutes: 0, users: 0, sessions: 0, user_minutes: 0 },
        reported: { userCount: 7 },
      },
    ])
  })
})

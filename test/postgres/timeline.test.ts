import { afterAll, beforeAll, expect, it } from 'vitest'
import { readTimelines } from '../../src/postgres/status.ts'
import { app, openStore, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const second = (iso: string) => Date.parse(iso) / 1_000

it('the timeline of a stream is what all of its series have, and what any of them lost', async () => {
  await db.rows(`
    insert into ingest.progress (app_id, stream, series, backlog_from, covered, seen, lost) values
      ('${app}', 'calls', 'a', '2026-01-05 00:00Z', '{[2026-01-05 00:00Z,2026-01-05 06:00Z)}', '{[2026-01-05 00:00Z,2026-01-05 07:00Z)}', '{}'),
      ('${app}', 'calls', 'b', '2026-01-05 02:00Z', '{[2026-01-05 02:00Z,2026-01-05 04:00Z)}', '{[2026-01-05 02:00Z,2026-01-05 06:30Z)}',
       '{[2026-01-05 04:00Z,2026-01-05 04:10Z)}')`)
  const [calls] = await readTimelines(db.pool)
  expect(calls).toEqual({
    ...{ app, stream: 'calls', isByTime: true, begins: second('2026-01-05T00:00Z') },
    complete: [[expect.any(Number), second('2026-01-05T04:00Z')]],
    seen: [[expect.any(Number), second('2026-01-05T06:30Z')]],
    waiting: [],
    lost: [[second('2026-01-05T04:00Z'), second('2026-01-05T04:10Z')]],
  })
})

it('the timeline of rooms begins with the first of them, and has the gaps of eight days', async () => {
  await db.rows(`
    insert into classroom.room (app_id, room_uuid, incarnation, first_seen_at) values ('${app}', 'r', 1, '2026-01-03 00:00Z');
    insert into ingest.progress (app_id, stream, series) values ('${app}', 'app-events', '');
    insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, updated_at) values
      ('${app}', 'app-events', '', 'time', '2026-01-04 00:00Z', '2026-01-04 01:00Z', 'pause', 'lost', '2026-01-04 02:00Z'),
      ('${app}', 'app-events', '', 'time', '2026-01-04 03:00Z', '2026-01-04 04:00Z', 'pause', 'open', '2026-01-04 04:00Z'),
      ('${app}', 'app-events', '', 'time', '2025-12-04 03:00Z', '2025-12-04 04:00Z', 'pause', 'lost', '2025-12-04 04:00Z')`)
  const events = (await readTimelines(db.pool)).find(({ stream }) => stream === 'app-events')
  expect(events).toEqual({
    ...{
      app,
      stream: 'app-events',
      isByTime: false,
      begins: second('2026-01-03T00:00Z'),
      complete: [],
      seen: [],
    },
    waiting: [[second('2026-01-04T03:00Z'), second('2026-01-04T04:00Z')]],
    lost: [[second('2026-01-04T00:00Z'), second('2026-01-04T01:00Z')]],
  })
})

it('the timeline of details waits where items of the work queue are pending', async () => {
  await db.rows(`
    insert into ingest.progress (app_id, stream, series, backlog_from) values ('${app}', 'call-sessions', '', '2026-01-04 00:00Z');
    insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state) values
      ('${app}', 'call-sessions', 'c', '', '2026-01-05 01:00Z', '2026-01-05 01:10Z', 'pending'),
      ('${app}', 'call-sessions', 'd', '', '2026-01-05 02:00Z', '2026-01-05 02:10Z', 'done')`)
  const sessions = (await readTimelines(db.pool)).find(({ stream }) => stream === 'call-sessions')
  expect(sessions).toMatchObject({
    isByTime: false,
    begins: second('2026-01-04T00:00Z'),
    waiting: [[second('2026-01-05T01:00Z'), second('2026-01-05T01:10Z')]],
  })
})

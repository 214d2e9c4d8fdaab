import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { comparePlayers, compareWith, type Difference } from '../../sandbox/src/compare.ts'
import type { TruePlayer, TruthLine } from '../../sandbox/src/index.ts'
import { connect } from '../../src/postgres/connect.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'

const servedSince = 1_000
const of = { app: 'a', roomUuid: 'algebra', incarnation: 1 } as const
const room: TruthLine = {
  ...{
    ...of,
    kind: 'room',
    muted: false,
    openedAt: 500,
    state: 1,
    startedAt: 500,
    endedAt: undefined,
    destroyedAt: undefined,
  },
  events: 2,
}
const event = (sequence: number): TruthLine => ({
  ...{ ...of, kind: 'event', sequence, cmd: 3, data: {}, at: 900, malformed: false },
})
const resource: TruthLine = {
  ...of,
  kind: 'resource',
  item: { resourceUuid: 'r', resourceName: 'n', ext: 'pdf', size: 1, url: 'u', updateTime: 2_000 },
}
const recording = (files: number): TruthLine => ({
  ...of,
  kind: 'recording',
  item: {
    ...{
      recordId: 'rec',
      startTime: 1,
      endTime: 5_000,
      resourceId: 'x',
      sid: 's',
      recordUid: '1',
      boardId: 'b',
    },
    ...{ boardToken: 't', type: 2, status: 2, url: null },
    recordDetails: Array.from({ length: files }, (_, i) => ({ url: `f${i}` })),
  },
})
const truth = [room, event(1), event(2), resource, recording(1)]

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await cloneDatabase()
  pool = connect({ url: database.url, poolSize: 1, statementTimeout: 10_000, lockTimeout: 5_000, role: '' })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

beforeEach(async () => {
  await pool.query(
    'truncate analytics.call, classroom.room, classroom.room_event, classroom.resource, classroom.recording, classroom.recording_file',
  )
  await pool.query(`
    insert into classroom.room (app_id, room_uuid, incarnation) values ('a', 'algebra', 1);
    insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
      select 'a', 'algebra', 1, n, 3, now(), 'event', now(), 'log' from generate_series(1, 2) n;
    insert into classroom.resource (app_id, room_uuid, incarnation, resource_uuid, updated_at)
      values ('a', 'algebra', 1, 'r', to_timestamp(2));
    insert into classroom.recording (app_id, room_uuid, incarnation, record_id, status, ended_at)
      values ('a', 'algebra', 1, 'rec', 2, to_timestamp(5));
    insert into classroom.recording_file values ('a', 'algebra', 1, 'rec', 0, 'f0', null)`)
})

const compare = (lines: readonly TruthLine[]): Promise<Difference> =>
  compareWith(pool, lines, { servedSince }).check()

test('rows that are the truth differ in nothing', async () => {
  expect(await compare(truth)).toEqual({ lost: 0, duplicates: 0 })
})

test('an event that is not stored is lost', async () => {
  expect(await compare([...truth, event(3)])).toEqual({ lost: 1, duplicates: 0 })
})

test('an event that never happened is a duplicate', async () => {
  expect(await compare([room, event(1), resource, recording(1)])).toEqual({ lost: 0, duplicates: 1 })
})

test('events in a room that never was are duplicates', async () => {
  await pool.query(`update classroom.room_event set incarnation = 2 where sequence = 2;
    insert into classroom.room (app_id, room_uuid, incarnation) values ('a', 'algebra', 2)`)
  expect(await compare(truth)).toEqual({ lost: 1, duplicates: 1 })
})

test('a recording without all of its files, and a resource in an older state, are lost', async () => {
  await pool.query('update classroom.resource set updated_at = to_timestamp(1)')
  expect(await compare([room, event(1), event(2), resource, recording(2)])).toEqual({
    lost: 2,
    duplicates: 0,
  })
})

test('a resource whose removal has not been noticed is lost', async () => {
  expect(await compare([room, event(1), event(2), recording(1)])).toEqual({ lost: 1, duplicates: 0 })
  await pool.query('update classroom.resource set removed_at = now()')
  expect(await compare([room, event(1), event(2), recording(1)])).toEqual({ lost: 0, duplicates: 0 })
})

test('a room that was gone before anyone could ask for it is not counted', async () => {
  const gone = { ...room, roomUuid: 'history', destroyedAt: 999 } as TruthLine
  const lines = [...truth, gone, { ...event(1), roomUuid: 'history' } as TruthLine]
  expect(await compare(lines)).toEqual({ lost: 0, duplicates: 0 })
  const late = { ...room, roomUuid: 'history', destroyedAt: 1_001 } as TruthLine
  expect(await compare([...truth, late, { ...event(1), roomUuid: 'history' } as TruthLine])).toMatchObject({
    lost: 1,
  })
})

test('what was missing at the first look may have come by the second', async () => {
  const { check } = compareWith(pool, truth, { servedSince })
  await pool.query('delete from classroom.room_event where sequence = 2')
  expect((await check()).lost).toBe(1)
  await pool.query(`insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
    values ('a', 'algebra', 1, 2, 3, now(), 'event', now(), 'log')`)
  expect((await check()).lost).toBe(0)
})

test('a room that was over before anyone could hear of it is counted while it is there', async () => {
  const over = { ...room, roomUuid: 'history', endedAt: 900 } as TruthLine
  const itsEvent = { ...event(1), roomUuid: 'history' } as TruthLine
  expect(await compare([...truth, over, itsEvent])).toMatchObject({ lost: 1 })
  const gone = { ...over, destroyedAt: 5_000 } as TruthLine
  expect(await compare([...truth, gone, itsEvent])).toEqual({ lost: 0, duplicates: 0 })
})

function call(id: string, second: number): TruthLine {
  const item = { call_id: id, cname: 'algebra', created_ts: second }
  return { ...of, kind: 'call', call: { item } } as unknown as TruthLine
}

test('a call that could be had all the time must be stored as it was, and one that never was must not', async () => {
  const compareUntil = (callsUntil: number | undefined, ...calls: readonly TruthLine[]) =>
    compareWith(pool, [...truth, ...calls], {
      servedSince,
      ...(callsUntil !== undefined && { callsUntil }),
    }).check()
  expect(await compareUntil(9_000, call('early', 5), call('late', 9))).toEqual({ lost: 1, duplicates: 0 })
  await pool.query(`
    insert into analytics.call (app_id, call_id, cname, created_at, first_seen_at, updated_at)
      select 'a', id, 'algebra', to_timestamp(second), now(), now() from (values ('early', 5), ('late', 9)) v (id, second)`)
  expect(await compareUntil(9_000, call('early', 5), call('late', 9))).toEqual({ lost: 0, duplicates: 0 })
  expect(await compareUntil(9_000, call('early', 6), call('late', 9))).toEqual({ lost: 1, duplicates: 0 })
  expect(await compareUntil(9_000, call('early', 5))).toEqual({ lost: 0, duplicates: 1 })
  expect(await compareUntil(undefined, call('early', 6), call('late', 9))).toEqual({ lost: 0, duplicates: 0 })
})

test('a player is lost where it is missing, or gone and still alive; one that never was is too much', async () => {
  const player = { region: 'ap', name: undefined, uid: 7, account: undefined, streamUrl: 'u', changes: [] }
  const played = (id: string, createdAt: number, destroyedAt?: number): TruePlayer => ({
    ...{ ...player, id, channelName: id, createdAt, destroyedAt, reason: undefined },
  })
  await pool.query(`insert into players.cloud_player (app_id, player_id, channel_name, destroyed_at)
    values ('a', 'well', 'well', null), ('a', 'gone', 'gone', now()), ('a', 'stale', 'stale', null), ('a', 'early', 'early', now()), ('a', 'odd', 'odd', null)`)
  const players = [
    ...[played('well', 1), played('missing', 1), played('new', 200), played('early', 1)],
    ...[played('gone', 1, 50), played('stale', 1, 50), played('just gone', 1, 150)],
  ]
  expect(await comparePlayers(pool, 'a', players, 100)).toEqual({ lost: 3, duplicates: 1 })
})

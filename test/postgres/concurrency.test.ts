import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import type { CommitResult } from '../../src/engine/ports.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  logPage,
  me,
  openStore,
  session,
  type TestStore,
} from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

/** Waits until some statement waits for what a session holds; others may wait elsewhere on the same server. */
async function someoneWaitsFor(holder: pg.Client): Promise<void> {
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
  const blocked = 'select count(*)::int from pg_stat_activity where $1::int = any (pg_blocking_pids(pid))'
  while ((await db.value(blocked, [rows[0]!.pid])) === 0) await Promise.resolve()
}

describe('a former owner', () => {
  it('can no longer write', async () => {
    await db.store.discoverRooms(me, app, ['fenced'])
    const page = logPage('fenced', 0, { rows: eventRows([event('fenced', 1)]) })
    for (const fence of [
      { ...me, epoch: 0 },
      { ...me, owner: 'other' },
      { ...me, shard: 9 },
    ]) {
      expect(await db.store.commit({ ...page, fence })).toEqual({ outcome: 'fenced' })
      await db.store.discoverRooms(fence, app, ['never'])
      await db.store.closeSeries(fence, app, 'room-events', 'fenced')
      await db.store.forgetRoom(fence, app, 'fenced')
    }
    expect(await db.store.progress(app, 'room-events', 'never')).toBeUndefined()
    expect((await db.store.openSeries(app, 'room-events')).map(({ series }) => series)).toEqual(['fenced'])
  })

  it('can no longer write what it had begun to', async () => {
    await db.store.discoverRooms(me, app, ['inflight'])
    const taker = await session(db.url)
    await taker.query('begin')
    await taker.query(`update ingest.ownership set owner = 'heir', epoch = 2 where shard = 0`)
    const late = db.store.commit(logPage('inflight', 0, { rows: eventRows([event('inflight', 1)]) }))
    await someoneWaitsFor(taker)
    await taker.query('commit')
    expect(await late).toEqual({ outcome: 'fenced' })
    expect(await db.store.progress(app, 'room-events', 'inflight')).toMatchObject({ version: 0 })
    await db.rows(`update ingest.ownership set owner = 'me', epoch = 1 where shard = 0`)
  })
})

describe('progress that many ask for at once', () => {
  it('is each of its own series, as it was stored when it was asked for', async () => {
    const rooms = Array.from({ length: 20 }, (_, n) => `asked "${n}"`)
    await db.store.discoverRooms(me, app, rooms)
    const before = rooms.map(room => db.store.progress(app, 'room-events', room))
    expect(await db.store.commit(logPage(rooms[7]!, 0, { cursor: 'seventh' }))).toMatchObject({ version: 1 })
    const after = rooms.map(room => db.store.progress(app, 'room-events', room))
    const others = [db.store.progress(app, 'poll', rooms[7]!), db.store.progress('other', 'poll', rooms[7]!)]
    expect((await Promise.all(before)).every(found => found !== undefined)).toBe(true)
    const found = await Promise.all(after)
    expect(found.map(each => each?.version)).toEqual(rooms.map((_, n) => (n === 7 ? 1 : 0)))
    expect(found[7]?.cursor).toBe('seventh')
    expect(await Promise.all(others)).toEqual([expect.objectContaining({ version: 0 }), undefined])
  })

  it('is refused to each of them where the database fails, and read again for whoever asks then', async () => {
    await db.store.discoverRooms(me, app, ['failing', 'failing too'])
    await db.rows('alter table ingest.progress rename to progress_away')
    const asked = ['failing', 'failing too'].map(room => db.store.progress(app, 'room-events', room))
    const results = await Promise.allSettled(asked)
    await db.rows('alter table ingest.progress_away rename to progress')
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await db.store.progress(app, 'room-events', 'failing')).toMatchObject({ version: 0 })
  })
})

describe('two commits at once', () => {
  it('of one series: one is stored, the other is stale', async () => {
    await db.store.discoverRooms(me, app, ['race'])
    const pages = Array.from({ length: 6 }, (_, n) =>
      logPage('race', 0, { rows: eventRows([event('race', n)]) }),
    )
    const results = await Promise.all(pages.map(page => db.store.commit(page)))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['committed', ...Array(5).fill('stale')])
    expect(await db.value(`select count(*)::int from classroom.room_event where room_uuid = 'race'`)).toBe(1)
  })

  it('a feed that waited for a log weighs its events against what the log then said', async () => {
    await db.store.follow(me, app, 'app-events', '')
    await db.store.discoverRooms(me, app, ['met'])
    const gate = await session(db.url)
    await gate.query(`begin; select from ingest.progress where series = 'met' for update`)
    // What is set aside goes by itself, and the feed meets it in the database.
    const rejects = [{ reason: 'wrong_type', detail: 'no sequence', item: {} }] as const
    const log = db.store.commit(
      logPage('met', 0, { rows: eventRows([event('met', 1, { cmd: 3 })]), rejects }),
    )
    await someoneWaitsFor(gate)
    const feed = db.store.commit(feedPage(0, { rows: eventRows([event('met', 1, { cmd: 20 })]) }))
    const isHeldUp = `select count(*)::int from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`
    while ((await db.value(isHeldUp)) === 0) await Promise.resolve()
    await gate.query('commit')
    expect(await log).toMatchObject({ outcome: 'committed' })
    expect(await feed).toMatchObject({ outcome: 'committed', diverged: 1 })
    expect(await db.value(`select cmd from classroom.room_event where room_uuid = 'met'`)).toBe(3)
  })

  it('a feed waits in the process until the logs that are being stored are, and is stored then', async () => {
    await db.store.follow(me, app, 'app-events', '')
    await db.store.discoverRooms(me, app, ['first', 'second'])
    const gate = await session(db.url)
    await gate.query(`begin; select from ingest.progress where series in ('first', 'second') for update`)
    const log = (room: string) =>
      db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1, { cmd: 4 })]) }))
    // Beside it others may play on the same server, each in a database of his own.
    const waiting = () =>
      db.value(
        `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    const before = [log('first'), log('second')]
    while ((await waiting()) !== 2) await Promise.resolve()
    const { version } = (await db.store.progress(app, 'app-events', ''))!
    const told = ['first', 'second'].map(room => event(room, 1, { cmd: 4 }))
    const feed = db.store.commit(feedPage(version, { rows: eventRows(told) }))
    // It waits here, not in the database, where its statement would see the moment before the logs.
    for (let n = 0; n < 5; n++) expect(await waiting()).toBe(2)
    await gate.query('commit')
    expect((await Promise.all([...before, feed])).map(({ outcome }) => outcome)).toEqual(
      Array(3).fill('committed'),
    )
  })

  it('of the feed and of logs, two hundred of them: none in the way of another, none lost', async () => {
    const random = seededRandom(7)
    const rooms = Array.from({ length: 8 }, (_, n) => `busy-${n}`)
    await db.store.discoverRooms(me, app, rooms)
    const expected = new Set<string>()
    const told = (room: string, sequence: number) => {
      expected.add(`${room} ${sequence}`)
      return event(room, sequence)
    }
    const committed = async (result: Promise<CommitResult>) =>
      expect((await result).outcome).toBe('committed')

    async function drain(room: string): Promise<void> {
      for (let page = 0; page < 20; page++) {
        const events = Array.from({ length: 8 }, (_, n) => told(room, page * 5 + n))
        await committed(db.store.commit(logPage(room, page, { rows: eventRows(events), holes: [] })))
      }
    }
    async function feed(): Promise<void> {
      for (let n = 0; n < 40; n++) {
        const { version } = (await db.store.progress(app, 'app-events', ''))!
        const keys = new Set(
          Array.from(
            { length: 24 },
            () => `${rooms[Math.floor(random.next() * 8)]} ${Math.floor(random.next() * 120)}`,
          ),
        )
        const events = [...keys].map(key => told(key.split(' ')[0]!, Number(key.split(' ')[1])))
        await committed(
          db.store.commit(feedPage(version, { rows: eventRows([...events, told(`new-${n}`, 1)]) })),
        )
      }
    }
    await Promise.all([...rooms.map(drain), feed()])

    const stored = await db.rows(`select room_uuid || ' ' || sequence as key from classroom.room_event
      where room_uuid like 'busy-%' or room_uuid like 'new-%'`)
    expect(stored.map(({ key }) => String(key)).sort()).toEqual([...expected].sort())
    const derived = `select count(*)::int from classroom.room_event e left join classroom.chat_message c
      using (app_id, room_uuid, incarnation, sequence) where e.cmd = 3 and c.app_id is null`
    expect(await db.value(derived)).toBe(0)
    const unconfirmed = `select count(*)::int from classroom.room_event where room_uuid like 'busy-%' and source = 'feed' and sequence < 103`
    expect(await db.value(unconfirmed)).toBe(0)
  })
})

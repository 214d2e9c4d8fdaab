import type { QueryConfig } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CommitResult, Fence, Grant, Ledger, PageCommit, Store } from '../../src/engine/ports.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { createStore } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { debit, granted } from './debits.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  hour,
  listPage,
  logPage,
  me,
  openStore,
  roomStreams,
  type TestStore,
} from './harness.ts'

const group = 'classroom-feed'

let db: TestStore
let clock: VirtualClock
let store: Store
let ledger: Ledger
/** Names of the statements that were sent. */
let sent: string[]
/** While set, the database is sent nothing more and answers nothing more: the process is dead. */
let isDead: boolean
let isRefused: boolean
const underWay = new Set<Promise<unknown>>()

beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(() => {
  sent = []
  isDead = false
  isRefused = false
  clock = new VirtualClock()
  const query = async (statement: QueryConfig) => {
    if (isDead) return new Promise(() => {})
    sent.push(statement.name!)
    if (isRefused && statement.name === 'commit_empty_answers') throw new Error('cut')
    const answer = db.pool.query(statement)
    underWay.add(answer)
    return answer.finally(() => underWay.delete(answer))
  }
  ledger = createLedger({ query } as never)
  const settings = { streams: Object.values(streams), roomMemory: 3_600_000, sequenceScope: 'room' } as const
  store = createStore({ query, connect: () => db.pool.connect() } as never, {
    ...settings,
    region: () => 'ap',
    clock,
  })
})

let apps = 0
/** An app whose feed is followed, with a request that was answered. */
async function asked(
  fence: Fence = me,
): Promise<{ readonly app: string; readonly settles: Grant; readonly fence: Fence }> {
  const app = `app-${++apps}`
  await db.store.follow(me, app, 'app-events', '')
  return { app, fence, settles: await granted(db.ledger, debit(group, 9, 1, { app, scope: app })) }
}

const settle = async (one: Awaited<ReturnType<typeof asked>>, version = 0): Promise<CommitResult> =>
  store.commit(feedPage(version, one))

const stateOf = async (app: string) => {
  const [row] = await db.rows(
    `select p.version::int, p.caught_up_at is not null as caught_up, d.outcome, d.told_all, d.settled_at is not null as settled
     from ingest.progress p join ingest.debit d using (app_id) where app_id = $1 order by d.n desc limit 1`,
    [app],
  )
  return row
}
const stored = { version: 1, caught_up: true, outcome: 'committed', told_all: true, settled: true }
const untouched = { version: 0, caught_up: false, outcome: null, told_all: null, settled: false }

describe('answers of feeds that told nothing', () => {
  it('are settled at once after a pause, and then together, at the latest after 200 ms', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => asked()))
    expect(await settle(all[0]!)).toMatchObject({ outcome: 'committed', version: 1 })
    let isOver = false
    const others = Promise.all(all.slice(1).map(each => settle(each))).finally(() => {
      isOver = true
    })
    await clock.advance(199)
    expect([isOver, sent]).toEqual([false, ['commit_empty_answers']])
    await clock.advance(1)
    expect((await others).every(({ outcome }) => outcome === 'committed')).toBe(true)
    expect(sent).toEqual(['commit_empty_answers', 'commit_empty_answers'])
    for (const { app } of all) expect(await stateOf(app)).toEqual(stored)
  })

  it('are held each against its own fence and its own version', async () => {
    await settle(await asked())
    const all = await Promise.all([
      asked(),
      asked({ ...me, owner: 'other' }),
      asked({ ...me, epoch: 0 }),
      asked({ ...me, shard: 9 }),
      asked(),
    ])
    const results = Promise.all(all.map((each, i) => settle(each, i === 4 ? 7 : 0)))
    await clock.advance(200)
    expect((await results).map(({ outcome }) => outcome)).toEqual([
      ...['committed', 'fenced', 'fenced', 'fenced', 'stale'],
    ])
    const [first, ...rest] = all
    expect(await stateOf(first!.app)).toEqual(stored)
    for (const { app } of rest) expect(await stateOf(app)).toEqual(untouched)
  })

  it('say that a feed may have more to tell where it may', async () => {
    const one = await asked()
    await store.commit(feedPage(0, { ...one, caughtUp: false }))
    expect(await stateOf(one.app)).toEqual({ ...stored, caught_up: false, told_all: false })
  })

  it('go each by itself where they cannot go together', async () => {
    isRefused = true
    const one = await asked()
    expect(await settle(one)).toMatchObject({ outcome: 'committed', version: 1 })
    expect(sent.slice(0, 2)).toEqual(['commit_empty_answers', 'forgotten'])
    expect(await stateOf(one.app)).toEqual(stored)
  })

  it('do not hold up one that told something', async () => {
    const [first, second] = [await asked(), await asked()]
    await settle(first)
    const rows = eventRows([event('algebra', 1)])
    expect(await store.commit(feedPage(0, { ...second, rows }))).toMatchObject({ outcome: 'committed' })
    expect(sent.at(-1)).toBe('commit_app_events')
  })
})

describe('lists and widget logs of rooms that told nothing', () => {
  const ofRooms = roomStreams.filter(stream => stream !== 'room-events')
  /** Rooms whose logs were read just now. */
  const rooms = async (...names: readonly string[]) => {
    await db.store.discoverRooms(me, app, names)
    await Promise.all(names.map(room => db.store.commit(logPage(room, 0))))
  }
  const nothing = (room: string, version = 0) =>
    ofRooms.map(stream =>
      listPage(stream, room, version, { cursor: 'n1', streamState: { incarnation: 1, told: stream } }),
    )
  const progressOf = (...names: readonly string[]) =>
    db.rows(
      `select distinct version::int, cursor, stream_state ->> 'told' = stream as told, caught_up_at is not null as caught_up
       from ingest.progress where series = any ($1) and stream <> 'room-events'`,
      [names],
    )

  it('move together in one statement, whatever streams and rooms they are of', async () => {
    await rooms('one', 'two', 'three')
    const pages = [...nothing('one'), ...nothing('two'), ...nothing('three')]
    await settle(await asked())
    const results = Promise.all(pages.map(page => store.commit(page)))
    await clock.advance(200)
    expect(await results).toEqual(
      pages.map(() => ({ outcome: 'committed', version: 1, stored: {}, diverged: 0, deadLetters: {} })),
    )
    expect(sent).toEqual(['commit_empty_answers', 'commit_empty_answers'])
    expect(await progressOf('one', 'two', 'three')).toEqual([
      { version: 1, cursor: 'n1', told: true, caught_up: true },
    ])
  })

  it('were read when they were asked for, however long they waited', async () => {
    await rooms('aged')
    const [quiz] = nothing('aged')
    await settle(await asked())
    const waits = clock.monotonic()
    const stored = store.commit({ ...quiz!, age: () => 5_000 + clock.monotonic() - waits })
    await clock.advance(200)
    expect(await stored).toMatchObject({ outcome: 'committed' })
    const [row] = await db.rows(
      `select extract(epoch from ingest.clock() - caught_up_at)::float8 as age from ingest.progress where series = 'aged' and stream = $1`,
      [quiz!.stream],
    )
    expect(row).toEqual({ age: 5.2 })
  })

  it('wait for no time to pass where there are many', async () => {
    const names = Array.from({ length: 9 }, (_, n) => `crowd-${n}`)
    await rooms(...names)
    const results = await Promise.all(names.flatMap(room => nothing(room)).map(page => store.commit(page)))
    expect(results.every(({ outcome }) => outcome === 'committed')).toBe(true)
    expect(sent.length).toBeLessThanOrEqual(3)
  })

  it('move nothing of a room that is not known for certain, nor of a version that is gone', async () => {
    await db.store.discoverRooms(me, app, ['unseen', 'seen'])
    await db.store.commit(logPage('seen', 0))
    const [unseen, seen, former] = [nothing('unseen')[0]!, nothing('seen')[0]!, nothing('seen', 7)[1]!]
    const later = {
      ...nothing('seen')[2]!,
      room: { kind: 'incarnation', incarnation: 2, opens: false },
    } as const
    await settle(await asked())
    const results = Promise.all([unseen, seen, former, later].map(page => store.commit(page)))
    await clock.advance(200)
    expect((await results).map(({ outcome }) => outcome)).toEqual([
      ...['unverified', 'committed', 'stale', 'unverified'],
    ])
    await db.advance(2 * hour)
    const late = store.commit(nothing('seen', 1)[0]!)
    await clock.advance(200)
    expect(await late).toEqual({ outcome: 'unverified' })
    expect(await progressOf('unseen')).toEqual([{ version: 0, cursor: null, told: null, caught_up: false }])
  })

  it('repair what was lost of their stream, and of no other', async () => {
    await rooms('lost')
    const lost = (stream: string) =>
      `('${app}', '${stream}', 'lost', 1, 'time', ingest.clock() - interval '1 hour', ingest.clock(), 'room_forgotten', 'lost')`
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, incarnation, unit, range_from, range_to, reason, state)
       values ${['recordings', 'resources', 'poll'].map(lost).join(', ')}`,
    )
    const [resources, recordings] = ['resources', 'recordings'].map(stream =>
      listPage(stream, 'lost', 0, { caughtUp: stream === 'recordings', streamState: { incarnation: 1 } }),
    )
    await settle(await asked())
    const results = Promise.all([resources!, recordings!].map(page => store.commit(page)))
    await clock.advance(200)
    expect((await results).map(({ outcome }) => outcome)).toEqual(['committed', 'committed'])
    expect(
      await db.rows(`select stream, state from ingest.gap where series = 'lost' order by stream collate "C"`),
    ).toEqual([
      { stream: 'poll', state: 'lost' },
      { stream: 'recordings', state: 'repaired' },
      { stream: 'resources', state: 'lost' },
    ])
  })

  it('go by themselves where they set something aside or open another room', async () => {
    await rooms('odd')
    const [quiz, poll] = nothing('odd')
    const reject = { reason: 'wrong_type', detail: 'x', item: {} } as const
    const results = Promise.all([
      store.commit({ ...quiz!, rejects: [reject] }),
      store.commit({ ...poll!, isUndecided: true }),
    ])
    expect((await results).map(({ outcome }) => outcome)).toEqual(['committed', 'committed'])
    expect(sent).not.toContain('commit_empty_answers')
  })
})

describe('logs of rooms that told nothing new', () => {
  let rooms = 0
  /** A room whose log was read twenty minutes ago. */
  const room = async () => {
    const name = `log-${++rooms}`
    await db.store.discoverRooms(me, app, [name])
    await db.store.commit(logPage(name, 0, { region: 'ap' }))
    await db.advance(hour / 3)
    return name
  }
  const again = (room: string, more: Partial<PageCommit> = {}) =>
    logPage(room, 1, { region: 'ap', cursor: 'n1', holes: [], ...more })
  const minutesSinceSeen = (room: string) =>
    db.value(
      `select extract(epoch from ingest.clock() - verified_at)::int / 60 from classroom.room where room_uuid = '${room}'`,
    )
  const alone = ['commit_empty_answers', 'commit_room_events']

  it('verify their rooms in the statement that moves the others', async () => {
    const names = [await room(), await room(), await room()]
    await settle(await asked())
    const results = Promise.all(names.map(name => store.commit(again(name))))
    await clock.advance(200)
    expect((await results).map(({ outcome }) => outcome)).toEqual(['committed', 'committed', 'committed'])
    expect(sent).toEqual(['commit_empty_answers', 'commit_empty_answers'])
    for (const name of names) expect(await minutesSinceSeen(name)).toBe(0)
    expect(
      await db.rows(
        `select distinct version::int, cursor, caught_up_at = ingest.clock() as caught_up
         from ingest.progress where stream = 'room-events' and series = any ($1)`,
        [names],
      ),
    ).toEqual([{ version: 2, cursor: 'n1', caught_up: true }])
  })

  it('verify a room for a quarter of the time where the class is over', async () => {
    const name = await room()
    await db.rows(
      `update classroom.room set state = 2, verified_at = ingest.clock() - interval '55 minutes' where room_uuid = $1`,
      [name],
    )
    await store.commit(again(name))
    expect(sent).toEqual(['commit_empty_answers'])
    expect(await minutesSinceSeen(name)).toBe(45)
  })

  it('go by themselves where others follow that nobody has read yet', async () => {
    const name = await room()
    expect(await store.commit(again(name, { caughtUp: false }))).toMatchObject({ outcome: 'committed' })
    expect(sent).not.toContain('commit_empty_answers')
    const list = listPage('recordings', name, 0, { caughtUp: false, streamState: { incarnation: 1 } })
    expect(await store.commit(list)).toMatchObject({ outcome: 'committed' })
    expect(sent).not.toContain('commit_empty_answers')
  })

  const gap = (state: string) =>
    `insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state)
     values ('${app}', 'room-events', $1, 1, 'sequence', 3, 4, 'hole', '${state}')`
  it.each([
    ['has a hole', gap('open')],
    ['has lost something', gap('lost')],
    ['had a hole that was never served', gap('absent')],
    [
      'has something waiting that the feed told',
      `insert into ingest.divergence (app_id, stream, series, key, other) values ('${app}', 'app-events', $1, '9', '{"cmd": 3}')`,
    ],
    ['was forgotten', `update classroom.room set forgotten_at = ingest.clock() where room_uuid = $1`],
    ['was in another region', `update classroom.room set region = 'eu' where room_uuid = $1`],
    ['is not known', `delete from classroom.room where room_uuid = $1`],
  ])('go by themselves where the room %s', async (_, happens) => {
    const name = await room()
    await db.rows(happens, [name])
    expect(await store.commit(again(name))).toMatchObject({ outcome: 'committed', version: 2 })
    expect(sent.filter(name => name !== 'forgotten')).toEqual(alone)
    expect(await minutesSinceSeen(name)).toBe(0)
    expect(
      await db.rows('select region, forgotten_at from classroom.room where room_uuid = $1', [name]),
    ).toEqual([{ region: 'ap', forgotten_at: null }])
  })

  it('wait for no page of the feed that is being stored, and keep none waiting', async () => {
    const name = await room()
    const feed = await db.pool.connect()
    try {
      await feed.query('begin')
      await feed.query(`select pg_advisory_xact_lock(hashtextextended('penstock rooms of ' || $1, 0))`, [app])
      const stored = store.commit(again(name))
      while (!sent.includes('commit_room_events')) await new Promise(resolve => setImmediate(resolve))
      await feed.query('commit')
      expect(await stored).toMatchObject({ outcome: 'committed', version: 2 })
    } finally {
      feed.release()
    }
  })

  it('are held each against its own fence and its own version', async () => {
    const [one, other, third] = [await room(), await room(), await room()]
    await settle(await asked())
    const results = Promise.all([
      store.commit(again(one, { fence: { ...me, epoch: 0 } })),
      store.commit(again(other, { version: 7 })),
      store.commit(again(third)),
    ])
    await clock.advance(200)
    expect((await results).map(({ outcome }) => outcome)).toEqual(['fenced', 'stale', 'committed'])
    expect([await minutesSinceSeen(one), await minutesSinceSeen(third)]).toEqual([60, 0])
  })

  it('go by themselves with the holes that they show', async () => {
    const name = await room()
    await store.commit(again(name, { holes: [{ from: 2, to: 3, state: 'open' }] }))
    expect(sent).not.toContain('commit_empty_answers')
  })
})

it('a process that is killed leaves no more answers unsettled than were under way or waited for their statement', async () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `kept-${n}`)
  await Promise.all(names.map(app => db.store.follow(me, app, 'app-events', '')))
  const unsettled = new Set<string>()
  const ask = async (app: string) => {
    const settles = await granted(ledger, debit(group, 1_000, 1, { app, scope: app }))
    unsettled.add(app)
    const { outcome } = await store.commit(feedPage(0, { app, settles }))
    expect(outcome).toBe('committed')
    unsettled.delete(app)
  }
  for (const app of names) void ask(app)
  const settlements = () => sent.filter(name => name === 'commit_empty_answers').length
  for (let time = 0; settlements() < 3 && time < 100_000; time += 20) {
    await clock.advance(20)
    await new Promise<void>(resolve => setImmediate(resolve))
  }
  isDead = true
  await Promise.all(underWay)
  const left = await db.value(
    `select count(*)::int from ingest.debit where app_id like 'kept-%' and outcome is null`,
  )
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThanOrEqual(unsettled.size)
})

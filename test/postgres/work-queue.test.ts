import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { OpenItem } from '../../src/engine/ports.ts'
import { connect } from '../../src/postgres/connect.ts'
import { readStatus } from '../../src/postgres/status.ts'
import { createStore } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import { at, commitNext, expire, iso, itemPage, openItems, session, work } from './analytics.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows('truncate ingest.work_item, ingest.gap, analytics.call_session')
  await db.store.beginWindows(me, app, 'calls', ['all'], at(0))
})
afterAll(async () => (await opened)?.close())

const add = (...items: ReturnType<typeof work>[]) => commitNext(db, 'calls', 'all', { work: items })
const states = () =>
  db.rows(`select part, state, origin, page, failures from ingest.work_item order by item, part`)
const gaps = () =>
  db.rows(
    `select stream, series, extract(epoch from range_from)::float8 - $1 as "from",
            extract(epoch from range_to)::float8 - $1 as "to", unit, reason, state from ingest.gap order by 2, 3`,
    [at(0)],
  )
async function only(): Promise<OpenItem> {
  const [item, ...rest] = await openItems(db)
  expect(rest).toEqual([])
  return item!
}

describe('the work queue', () => {
  it('gives back what was put there, to the last character and digit', async () => {
    const ask = { sids: ['a\u0000', '\ud800'], big: 2n ** 60n }
    await add(work('call\u0000', { part: '1/2', from: 5, to: 9, ask }))
    expect(await openItems(db)).toEqual([
      {
        ...{ stream: 'call-sessions', key: 'call\u0000', part: '1/2', from: at(5), to: at(9), ask },
        ...{
          version: 0,
          page: 1,
          streamState: null,
          origin: 'live',
          failures: 0,
          wasRefused: false,
          inHandOf: null,
        },
      },
    ])
  })

  it('offers what begins first, within strict bounds, one stream apart from the other', async () => {
    await add(
      ...[work('b', { from: 20, to: 30 }), work('a', { from: 10, to: 40 })],
      ...[work('c', { from: 30, to: 50 }), work('m', { stream: 'call-metrics', from: 20, to: 30 })],
    )
    const keys = async (after: number, before: number, limit = 9, upTo?: number) => {
      const bounds = { after: at(after), before: at(before), ...(upTo ? { upTo: at(upTo) } : {}) }
      const found = await db.store.items(app, 'call-sessions', bounds, limit)
      return found.map(({ key }) => key)
    }
    expect(await keys(9, 51)).toEqual(['a', 'b', 'c'])
    expect(await keys(9, 51, 2)).toEqual(['a', 'b'])
    expect(await keys(10, 51)).toEqual(['b', 'c'])
    expect(await keys(9, 50)).toEqual(['a', 'b'])
    expect(await keys(9, 51, 9, 20)).toEqual(['a', 'b'])
    expect(await keys(9, 51, 9, 19)).toEqual(['a'])
    expect(await db.store.items('other', 'call-sessions', { after: 0, before: at(1e6) }, 9)).toEqual([])
  })

  it('offers those alone that did not fail last where that is asked for', async () => {
    await add(
      work('a', { from: 10, to: 20 }),
      work('b', { from: 20, to: 30 }),
      work('c', { from: 30, to: 40 }),
    )
    const [item] = await openItems(db)
    await db.store.deferItem(me, app, item!, 0)
    for (const first of ['oldest', 'newest'] as const) {
      const keys = async (isWell: boolean) => {
        const bounds = { after: 0, before: at(1e6), isWell }
        return (await db.store.items(app, 'call-sessions', bounds, 2, first)).map(({ key }) => key)
      }
      expect(await keys(true)).toEqual(first === 'oldest' ? ['b', 'c'] : ['c', 'b'])
      expect(await keys(false)).toEqual(first === 'oldest' ? ['a', 'b'] : ['c', 'b'])
    }
  })

  it('offers what begins at one moment by name, in whatever order it came', async () => {
    const part = (key: string, name: string) => ({ ...work(key, { from: 20, to: 30 }), part: name })
    await add(part('c', ''), part('a', '2/2'), part('b', ''), part('a', '1/2'))
    const bounds = { after: at(9), before: at(51) }
    for (const first of ['oldest', 'newest'] as const) {
      const found = await db.store.items(app, 'call-sessions', bounds, 9, first)
      expect(found.map(({ key, part }) => key + part)).toEqual(['a1/2', 'a2/2', 'b', 'c'])
    }
  })

  it('takes an item that is there already only when more is asked of it', async () => {
    await add(work('a', { to: 60, ask: { sids: ['1'] } }))
    await db.store.commitItem(itemPage(await only()))
    await add(work('a', { to: 60, ask: { sids: ['1'] } }))
    await add(work('a', { to: 50, ask: { sids: ['1'] } }))
    expect(await openItems(db)).toEqual([])
    await add(work('a', { to: 61, ask: { sids: ['1'] } }))
    expect(await only()).toMatchObject({ to: at(61), version: 2, page: 1 })
    await db.store.commitItem(itemPage(await only()))
    await add(work('a', { to: 61, ask: { sids: ['1', '2'] } }))
    expect(await only()).toMatchObject({ ask: { sids: ['1', '2'] } })
  })

  it('asks no more of a call whose end nobody tells, however late it is listed again, until somebody does', async () => {
    await add(work('a', { to: 60, ask: { end: 'unknown' } }))
    await add(work('a', { to: 90, ask: { end: 'unknown' } }))
    expect(await only()).toMatchObject({ to: at(60), version: 0 })
    await db.store.commitItem(itemPage(await only()))
    await add(work('a', { to: 120, ask: { end: 'unknown' } }))
    expect(await openItems(db)).toEqual([])
    await add(work('a', { to: 50 }))
    expect(await only()).toMatchObject({ to: at(50), ask: null })
  })
})

describe('an item', () => {
  it('moves page by page with its stream state, and is done with its last page', async () => {
    await add(work('a'))
    const rows = rowSet({ 'analytics.call_session': [session('a', 's1')] })
    const first = await only()
    const result = await db.store.commitItem(
      itemPage(first, { nextPage: 2, streamState: { sids: ['s1'] }, rows }),
    )
    expect(result).toEqual({
      ...{ outcome: 'committed', version: 1, stored: { 'analytics.call_session': 1 } },
      ...{ diverged: 0, deadLetters: {} },
    })
    const second = await only()
    expect(second).toMatchObject({ version: 1, page: 2, streamState: { sids: ['s1'] } })
    const more = [work('a', { stream: 'call-metrics', part: '0/0' })]
    await db.store.commitItem(itemPage(second, { work: more, streamState: { sids: ['s1', 's2'] } }))
    expect(await states()).toMatchObject([{ state: 'done' }, { state: 'pending' }])
    expect(await openItems(db, 'call-metrics')).toMatchObject([{ key: 'a', part: '0/0' }])
    expect(await db.value(`select stream_state from ingest.work_item where state = 'done'`)).toBeNull()
  })

  it('of another version is stale, of another owner fenced, and neither writes a row', async () => {
    await add(work('a'))
    const item = await only()
    const rows = rowSet({ 'analytics.call_session': [session('a', 's')] })
    const fence = { ...me, owner: 'other' }
    expect(await db.store.commitItem({ ...itemPage(item, { rows }), fence })).toEqual({ outcome: 'fenced' })
    const late = itemPage({ ...item, version: 5 }, { rows })
    expect(await db.store.commitItem(late)).toEqual({ outcome: 'stale' })
    const results = await Promise.all([1, 2, 3].map(() => db.store.commitItem(itemPage(item, { rows }))))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['committed', 'stale', 'stale'])
    expect(await db.store.commitItem(itemPage({ ...item, version: 1 }))).toEqual({ outcome: 'stale' })
  })

  it('is in the hand of whoever is about to read a large answer to it, until anything becomes of it', async () => {
    await add(work('a'))
    const item = await only()
    expect(item.inHandOf).toBeNull()
    await db.store.takeItemInHand({ ...me, owner: 'other' }, app, item)
    expect((await only()).inHandOf).toBeNull()
    await db.store.takeItemInHand(me, app, item)
    expect(await only()).toMatchObject({ version: item.version, inHandOf: 'me' })
    await db.store.deferItem(me, app, item, 0)
    expect((await only()).inHandOf).toBeNull()
  })

  it('that grew while it was read is read again', async () => {
    await add(work('a', { to: 60 }))
    const item = await only()
    await add(work('a', { to: 90 }))
    expect(await db.store.commitItem(itemPage(item))).toEqual({ outcome: 'stale' })
    expect(await only()).toMatchObject({ to: at(90), version: 1 })
  })

  it('is rehearsed without a trace, and its rejects are letters of its call', async () => {
    await add(work('a'))
    const item = await only()
    const bad = rowSet({ 'analytics.call_session': [session('a', 's', { joined_at: 'never' })] })
    expect(await db.store.dryRun(itemPage(item, { rows: bad }))).toBe(false)
    expect(await db.store.dryRun(itemPage(item))).toBe(true)
    expect(await only()).toEqual(item)
    const rejects = [{ reason: 'wrong_type', detail: 'sid is no text', item: { sid: 1 } }] as const
    await db.store.commitItem(itemPage(item, { rejects }))
    expect(await db.rows(`select stream, series, reason from ingest.dead_letter`)).toEqual([
      { stream: 'call-sessions', series: 'a', reason: 'wrong_type' },
    ])
  })

  it('was refused where its last failure was a refusal, until a page of it is stored', async () => {
    await add(work('a'))
    const deferred = async (loss?: 'refused' | 'vanished') => {
      await db.store.deferItem(me, app, await only(), 0, loss)
      return (await only()).wasRefused
    }
    expect([await deferred('refused'), await deferred(), await deferred('vanished')]).toEqual([
      true,
      false,
      false,
    ])
    expect(await deferred('refused')).toBe(true)
    await db.store.commitItem(itemPage(await only(), { nextPage: 2 }))
    expect(await only()).toMatchObject({ page: 2, wasRefused: false })
  })

  it('that is deferred waits, and counts its failures until it is done', async () => {
    await add(work('a'))
    await db.store.deferItem(me, app, await only(), 5_000)
    expect(await openItems(db)).toEqual([])
    await db.advance(4_999)
    expect(await openItems(db)).toEqual([])
    await db.advance(1)
    expect(await only()).toMatchObject({ failures: 1 })
    await db.store.commitItem(itemPage(await only(), { nextPage: 2 }))
    expect(await only()).toMatchObject({ failures: 1, page: 2 })
    await db.store.commitItem(itemPage(await only()))
    expect(await states()).toMatchObject([{ state: 'done', failures: 0 }])
  })

  it('of which something was set aside is asked again from its first page, later each time, until nothing is', async () => {
    const bad = [{ reason: 'wrong_type', detail: 'kvs', item: { sid: 's' } }] as const
    await add(work('a', { stream: 'call-metrics' }))
    const next = async () => (await openItems(db, 'call-metrics'))[0]!
    const result = await db.store.commitItem(itemPage(await next(), { rejects: bad, nextPage: 2 }))
    expect(result).toMatchObject({ outcome: 'committed', deadLetters: { wrong_type: 1 } })
    // Nothing is set aside of the last page, and yet not all could be read.
    await db.store.commitItem(itemPage(await next(), { again: 5_000 }))
    expect(await openItems(db, 'call-metrics')).toEqual([])
    await db.advance(4_999)
    expect(await openItems(db, 'call-metrics')).toEqual([])
    await db.advance(1)
    expect(await next()).toMatchObject({ page: 1, streamState: null, failures: 1 })
    await db.store.commitItem(itemPage(await next(), { nextPage: 2 }))
    await db.store.commitItem(itemPage(await next(), { rejects: bad, again: 6_000 }))
    await db.advance(6_000)
    expect(await next()).toMatchObject({ page: 1, failures: 2 })
    await db.store.commitItem(itemPage(await next()))
    expect(await states()).toMatchObject([{ state: 'done', failures: 0 }])
  })

  it('of which something was set aside to the end is a gap of its own kind, and repaired once it can be read', async () => {
    const bad = [{ reason: 'wrong_type', detail: 'kvs', item: { sid: 's' } }] as const
    await add(work('a', { from: 0, to: 10 }), work('b', { from: 5, to: 10 }))
    const [first] = await openItems(db)
    await db.store.commitItem(itemPage(first!, { rejects: bad }))
    expect(await expire(db, 'call-sessions', at(6))).toBe(2)
    expect(await gaps()).toMatchObject([
      { series: 'a', from: 0, to: 10, reason: 'unreadable', state: 'lost' },
      { series: 'b', from: 5, to: 10, reason: 'expired', state: 'lost' },
    ])
    await db.rows(`update ingest.work_item set state = 'pending' where item = 'a'`)
    await db.advance(60_000)
    await db.store.commitItem(itemPage(await only()))
    expect(await gaps()).toMatchObject([{ series: 'a', state: 'repaired' }, { state: 'lost' }])
  })

  it('that must wait tells for how long: for its next try, or until it is old enough, whichever is later', async () => {
    const dueIn = (before: number, ago = 0) =>
      db.store.itemDueIn(app, 'call-sessions', { after: at(-1), before: at(before) }, ago)
    expect(await dueIn(10)).toBeNull()
    await add(work('a', { from: 0, to: 9 }))
    expect(await dueIn(10)).toBeNull()
    expect(await dueIn(10, 60_000)).toBeNull()
    await db.store.deferItem(me, app, await only(), 5_000)
    expect(await dueIn(10)).toBe(5_000)
    expect(await dueIn(2)).toBe(8_000)
    await add(work('b', { from: 3, to: 12 }), work('c', { from: -1, to: 11 }))
    expect(await dueIn(10)).toBe(3_000)
    expect(await db.store.itemDueIn(app, 'call-metrics', { after: at(-1), before: at(10) }, 0)).toBeNull()
    await db.advance(5_000)
    expect(await dueIn(10)).toBe(3_000)
    expect(await dueIn(10, 1)).toBe(0)
    await db.advance(40)
    expect(await dueIn(10, 39)).toBe(3_000)
    expect(await dueIn(10, 41)).toBe(0)
  })

  it('that is split is replaced by its parts, which keep where it came from', async () => {
    await add(work('a', { part: '0', from: 0, to: 9, ask: ['x', 'y'] }))
    await db.rows(`update ingest.work_item set origin = 'backfill'`)
    const halves = [
      work('a', { part: '0.a', to: 9, ask: ['x'] }),
      work('a', { part: '0.b', to: 9, ask: ['y'] }),
    ]
    await db.store.splitItem(me, app, await only(), halves)
    expect(await states()).toMatchObject([
      { part: '0', state: 'split' },
      { part: '0.a', state: 'pending', origin: 'backfill' },
      { part: '0.b', state: 'pending', origin: 'backfill' },
    ])
    await add(work('a', { part: '0', from: 0, to: 9, ask: ['x', 'y'] }))
    expect(await states()).toMatchObject([{ part: '0', state: 'split' }, {}, {}])
  })

  it.each(['too_large', 'refused', 'vanished'] as const)('that is given up as %s is a gap', async reason => {
    await add(work('a', { from: 3, to: 8 }))
    await db.store.loseItem(me, app, await only(), reason)
    expect(await openItems(db)).toEqual([])
    expect(await gaps()).toEqual([
      { stream: 'call-sessions', series: 'a', from: 3, to: 8, unit: 'time', reason, state: 'lost' },
    ])
  })

  it('of a former owner can neither be deferred, split, given up nor expire', async () => {
    await add(work('a'))
    const item = await only()
    const late = { ...me, epoch: 0 }
    await db.store.deferItem(late, app, item, 1)
    await db.store.splitItem(late, app, item, [work('a', { part: 'b' })])
    await db.store.loseItem(late, app, item, 'refused')
    expect(await expire(db, 'call-sessions', at(1_000), late)).toBe(0)
    expect(await only()).toEqual(item)
    expect(await gaps()).toEqual([])
  })
})

describe('what calls ask for their details', () => {
  it('is told by the calls since a moment, what the newest cost, and what is owed', async () => {
    expect(await db.store.substreamDemand(app, at(0))).toEqual({ calls: 0, cost: undefined, backlog: [] })
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, finished, first_seen_at, updated_at)
       select $1, c, 'c', $2::timestamptz + n * interval '1 second', true, $2, $2
       from unnest(array['old', 'a', 'b', 'c']) with ordinality t(c, n)`,
      [app, iso(-1)],
    )
    await add(work('a', { part: '1', from: 1, to: 9 }), work('a', { part: '9', from: 9, to: 12 }))
    await add(work('b', { from: 2, to: 9 }), work('c', { from: 1_300, to: 1_400 }))
    const [first, , second] = await openItems(db)
    const batch = (key: string, part: string) => work(key, { stream: 'call-metrics', part, from: 1, to: 9 })
    const leftOut = { ...batch('a', '3'), isLeftOut: true as const }
    await db.store.commitItem(itemPage(first!, { work: [batch('a', '1'), batch('a', '2'), leftOut] }))
    await db.store.commitItem(itemPage(second!, { work: [batch('b', '1')] }))
    expect(await db.store.substreamDemand(app, at(0))).toEqual({
      calls: 3,
      cost: { slices: 4 / 3, pages: 1, batches: 1.5 },
      backlog: [
        { from: at(2), sessions: 1, metrics: 3 },
        { from: at(1_300), sessions: 1, metrics: 0 },
      ],
    })
  })
})

describe('a work queue of which nearly all is done', () => {
  it('finds what is owed and what is lost without reading what is done', async () => {
    await db.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
       select $1, 'call-sessions', 'done ' || i, '0', $2::timestamptz + i * interval '1 second', $2, 'done'
       from generate_series(1, 100000) i`,
      [app, iso(0)],
    )
    onTestFinished(async () => {
      await db.rows('truncate ingest.work_item')
    })
    await db.rows('analyze ingest.work_item')
    await add(work('last', { from: 50_000, to: 50_001 }))
    // One session, which tells how many rows it has touched.
    const pool = connect({ ...db.connection, poolSize: 1 })
    const store = createStore(pool, { ...settings, region: () => 'ap' })
    const touched = async () => {
      await pool.query('select pg_stat_force_next_flush()')
      const { rows } = await pool.query<{ rows: number }>(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
         from pg_stat_user_tables where relid = 'ingest.work_item'::regclass`,
      )
      return rows[0]!.rows
    }
    const before = await touched()
    const found = await store.items(app, 'call-sessions', { after: at(-1), before: at(1e6) }, 10)
    expect(found.map(({ key }) => key)).toEqual(['last'])
    const { backlog } = await readStatus(db.pool)
    const oldest = new Date(at(50_000) * 1_000).toISOString().replace('.000Z', 'Z')
    const ofSessions = { app, stream: 'call-sessions', seconds: 2, items: 1, oldest }
    expect(backlog).toContainEqual(expect.objectContaining(ofSessions))
    expect((await touched()) - before).toBeLessThan(50)
    await pool.end()
  })
})

const settings = { streams: Object.values(streams), roomMemory: 1, sequenceScope: 'room' } as const

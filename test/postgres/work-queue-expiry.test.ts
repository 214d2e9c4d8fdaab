import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { OpenItem } from '../../src/engine/ports.ts'
import { at, commitNext, expire, iso, itemPage, openItems, work } from './analytics.ts'
import { app, hour, me, openStore, type TestStore } from './harness.ts'

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

describe('items that expire', () => {
  it('are gaps from then on: those that begin before the edge, and no others', async () => {
    await add(
      ...[work('a', { from: 0, to: 10 }), work('b', { from: 5, to: 30 }), work('c', { from: 6, to: 7 })],
      work('m', { stream: 'call-metrics', from: 0, to: 1 }),
    )
    expect(await db.store.backlogItems(app, 'call-sessions')).toEqual({ seconds: 11 + 26 + 2, oldest: at(0) })
    expect(await expire(db, 'call-sessions', at(6))).toBe(2)
    expect(await db.store.backlogItems(app, 'call-sessions')).toEqual({ seconds: 2, oldest: at(6) })
    expect(await gaps()).toMatchObject([
      { series: 'a', from: 0, to: 10, reason: 'expired', state: 'lost' },
      { series: 'b', from: 5, to: 30, reason: 'expired', state: 'lost' },
    ])
    expect(await only()).toMatchObject({ key: 'c' })
    expect(await expire(db, 'call-sessions', at(6))).toBe(0)
    expect(await openItems(db, 'call-metrics')).toHaveLength(1)
    expect(await db.store.backlogItems('another app', 'call-metrics')).toEqual({ seconds: 0, oldest: null })
  })

  it('are given up call by call, the oldest first, and those that are passed over stay', async () => {
    await add(work('b', { from: 2 }), work('a', { from: 3 }), work('c', { from: 1 }), work('d', { from: 9 }))
    const calls = (except: readonly string[], most: number) =>
      db.store.expiringCalls(app, 'call-sessions', at(6), except, most)
    expect(await calls([], 100)).toEqual(['c', 'b', 'a'])
    expect(await calls(['c'], 1)).toEqual(['b'])
    expect(await db.store.expiringCalls(app, 'call-sessions', Number.NEGATIVE_INFINITY, [], 100)).toEqual([])
    expect(await db.store.expireItems(me, app, 'call-sessions', at(6), ['b', 'd'])).toBe(1)
    expect(await calls([], 100)).toEqual(['c', 'a'])
    expect((await openItems(db)).map(({ key }) => key)).toEqual(['c', 'a', 'd'])
  })

  it('and take too long to be summed up keep neither another call from being given up nor are half gone', async () => {
    await add(work('huge', { from: 0 }), work('b', { from: 1 }), work('huge', { part: 'p', from: 2 }))
    await db.rows(`create function too_slow() returns trigger language plpgsql as $$
      begin
        if new.item = 'huge' then raise exception 'too long' using errcode = '57014'; end if;
        return new;
      end $$`)
    await db.rows(
      'create trigger slow before update on ingest.work_item for each row execute function too_slow()',
    )
    try {
      await expect(expire(db, 'call-sessions', at(6))).rejects.toMatchObject({ code: '57014' })
      expect(await openItems(db)).toHaveLength(3)
      expect(await db.store.expireItems(me, app, 'call-sessions', at(6), ['b'])).toBe(1)
      expect(await db.store.expiringCalls(app, 'call-sessions', at(6), [], 100)).toEqual(['huge'])
    } finally {
      await db.rows('drop trigger slow on ingest.work_item; drop function too_slow')
    }
    expect(await expire(db, 'call-sessions', at(6))).toBe(2)
  })

  it('that the provider refused to the end are told as refused, unless it failed otherwise since', async () => {
    await add(...['a', 'b', 'c'].map(name => work(name, { from: 0, to: 10 })))
    const [a, b] = await openItems(db)
    await db.store.deferItem(me, app, a!, 0, 'vanished')
    await db.store.deferItem(me, app, b!, 0, 'refused')
    await db.store.deferItem(me, app, { ...b!, version: b!.version + 1 }, 0)
    expect(await expire(db, 'call-sessions', at(6))).toBe(3)
    expect((await gaps()).map(({ series, reason }) => [series, reason])).toEqual([
      ['a', 'vanished'],
      ['b', 'expired'],
      ['c', 'expired'],
    ])
  })

  it('that were fetched, and should be once more, are as they were before', async () => {
    await add(work('had', { from: 0, to: 10 }), work('grown', { from: 0, to: 10 }))
    for (const item of await openItems(db)) await db.store.commitItem(itemPage(item))
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, finished, first_seen_at, updated_at)
       select $1, c, 'c', $2, true, $2, $2 from unnest(array['had', 'grown']) c`,
      [app, iso(0)],
    )
    await db.rows(`select ingest.mark_wanted('call-sessions', $1, null, '2026-01-01', '2026-02-01')`, [app])
    expect(await openItems(db)).toHaveLength(2)
    // It goes on longer than it was when it was fetched: that was never had.
    await add(work('grown', { from: 0, to: 20 }))
    expect(await expire(db, 'call-sessions', at(6))).toBe(1)
    expect(await gaps()).toMatchObject([
      { series: 'grown', from: 0, to: 20, reason: 'expired', state: 'lost' },
    ])
    expect(await db.rows('select item, state from ingest.work_item order by item')).toEqual([
      { item: 'grown', state: 'lost' },
      { item: 'had', state: 'done' },
    ])
    // What was lost before is not lost once more.
    await db.advance(hour)
    await db.rows(`select ingest.mark_wanted('call-sessions', $1, null, '2026-01-01', '2026-02-01')`, [app])
    expect(await expire(db, 'call-sessions', at(6))).toBe(0)
    expect(await db.value(`select count(*)::int from ingest.work_item where state = 'pending'`)).toBe(0)
  })

  it('that were fetched, and are asked for in parts once more, are as they were before', async () => {
    await add(work('a', { from: 0, to: 10 }), work('b', { from: 0, to: 10 }))
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, finished, first_seen_at, updated_at)
       select $1, c, 'c', $2, true, $2, $2 from unnest(array['a', 'b']) c`,
      [app, iso(0)],
    )
    const [a] = await openItems(db)
    await db.store.commitItem(itemPage(a!))
    expect(await expire(db, 'call-sessions', at(1))).toBe(1)
    await db.rows(`select ingest.mark_wanted('call-sessions', $1, null, $2, $3)`, [app, iso(0), iso(1)])
    for (const item of await openItems(db)) {
      const parts = [work(item.key, { part: '0.1', to: 5 }), work(item.key, { part: '0.2', from: 5, to: 10 })]
      await db.store.splitItem(me, app, item, parts)
    }
    const [first] = await openItems(db)
    await db.store.commitItem(itemPage(first!))
    expect(await expire(db, 'call-sessions', at(6))).toBe(0)
    const parts = await db.rows('select item, part, state from ingest.work_item order by 1, 2')
    expect(parts.map(({ item, part, state }) => `${item} ${part} ${state}`)).toEqual([
      ...['a 0 split', 'a 0.1 done', 'a 0.2 done', 'b 0 split', 'b 0.1 lost', 'b 0.2 lost'],
    ])
    expect(await gaps()).toMatchObject([{ series: 'b', from: 0, to: 10, state: 'lost' }])
  })

  it('that are parts of one call with one begin are one gap, repaired when all of them were had after all', async () => {
    const part = (name: string) => work('a', { stream: 'call-metrics', part: name, from: 0, to: 10 })
    await add(part('0/0'), part('0/1'))
    expect(await expire(db, 'call-metrics', at(6))).toBe(2)
    expect(await gaps()).toMatchObject([
      { stream: 'call-metrics', series: 'a', from: 0, to: 10, state: 'lost' },
    ])
    await db.rows(`update ingest.work_item set state = 'pending'`)
    const [first, second] = await openItems(db, 'call-metrics')
    await db.store.commitItem(itemPage(first!))
    expect(await gaps()).toMatchObject([{ state: 'lost' }])
    await db.store.commitItem(itemPage(second!))
    expect(await gaps()).toMatchObject([{ state: 'repaired' }])
  })

  it('that are asked for again in parts are a gap until the last of these was had', async () => {
    await add(work('a', { from: 0, to: 10 }), work('a', { part: 'next', from: 10, to: 20 }))
    expect(await expire(db, 'call-sessions', at(16))).toBe(2)
    await db.rows(`update ingest.work_item set state = 'pending' where part = '0'`)
    const halves = [work('a', { part: '0.1', to: 5 }), work('a', { part: '0.2', from: 5, to: 10 })]
    await db.store.splitItem(me, app, await only(), halves)
    const [first, second] = await openItems(db)
    await db.store.commitItem(itemPage(first!))
    expect((await gaps()).map(({ from, state }) => [from, state])).toEqual([
      [0, 'lost'],
      [10, 'lost'],
    ])
    await db.store.commitItem(itemPage(second!))
    expect((await gaps()).map(({ from, state }) => [from, state])).toEqual([
      [0, 'repaired'],
      [10, 'lost'],
    ])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RefusedRows } from '../../src/engine/ports.ts'
import { markRoom, markWanted, readMarkedRoom, readWanted, type Wanted } from '../../src/postgres/backfill.ts'
import { readStatus } from '../../src/postgres/status.ts'
import { at, back, call, commitNext, itemPage, openItems, span, work } from './analytics.ts'
import { app, hour, me, openStore, rowSet, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.beginWindows(me, app, 'calls', ['all'], at(0))
  await db.store.beginWindows(me, app, 'quality-insight', ['a', 'b', 'former'], at(0))
  await db.store.closeSeries(me, app, 'quality-insight', 'former')
  await db.advance(hour)
})
afterAll(() => db.close())

const want = (stream: Wanted['stream'], from: number, to: number, series: string | null = null) =>
  markWanted(db.pool, { app, stream, series, from: at(from), to: at(to) })

const windows = async () =>
  (await db.store.windows(app, 'quality-insight')).map(({ series, backlogFrom, wanted }) => {
    return { series, backlogFrom: backlogFrom - at(0), wanted: back(wanted) }
  })

describe('a range that someone asks for once more', () => {
  it('is wanted in every series that is asked for, up to now, and owed from its begin on', async () => {
    expect(await want('quality-insight', 100, 200)).toBe(2)
    expect(await want('quality-insight', -50, 10, 'b')).toBe(1)
    expect(await want('quality-insight', 3_500, 99_999, 'a')).toBe(1)
    expect(await windows()).toEqual([
      {
        series: 'a',
        backlogFrom: 0,
        wanted: [
          [100, 200],
          [3_500, 3_600],
        ],
      },
      {
        series: 'b',
        backlogFrom: -50,
        wanted: [
          [-50, 10],
          [100, 200],
        ],
      },
    ])
    expect(await db.value(`select wanted::text from ingest.progress where series = 'former'`)).toBe('{}')
  })

  it('is told by how many seconds of it are left, over all series', async () => {
    const left = (from: number, to: number) =>
      readWanted(db.pool, { app, stream: 'quality-insight', from: at(from), to: at(to) })
    expect([await left(100, 200), await left(150, 300), await left(-50, 10)]).toEqual([200, 100, 60])
    expect(await left(1_000, 2_000)).toBe(0)
  })

  it('of a room is told by how many of its streams are left', async () => {
    const room = { app, room: 'asked-again', streams: ['room-events', 'poll'] }
    expect(await readMarkedRoom(db.pool, room)).toBe(0)
    await markRoom(db.pool, room)
    expect(await readMarkedRoom(db.pool, room)).toBe(2)
    await db.rows(`update ingest.progress set wanted = '{}' where series = 'asked-again' and stream = 'poll'`)
    expect(await readMarkedRoom(db.pool, room)).toBe(1)
  })

  it('of a room that the provider does not know has nothing left', async () => {
    const room = { app, room: 'unknown', streams: ['room-events', 'poll'] }
    await markRoom(db.pool, room)
    await db.store.forgetRoom(me, app, 'unknown')
    expect(await readMarkedRoom(db.pool, room)).toBe(0)
    expect(await db.rows(`select wanted::text from ingest.progress where series = 'unknown'`)).toEqual([
      { wanted: '{}' },
      { wanted: '{}' },
    ])
  })

  it('does not disturb a page that is being read', async () => {
    const before = await db.store.windows(app, 'quality-insight')
    await want('quality-insight', 0, 1)
    expect((await db.store.windows(app, 'quality-insight')).map(({ version }) => version)).toEqual(
      before.map(({ version }) => version),
    )
  })

  it('of nobody, or of the future, marks nothing', async () => {
    expect(await want('quality-insight', 0, 10, 'nobody')).toBe(0)
    expect(await want('quality-insight', 4_000, 5_000)).toBe(0)
    expect(
      await markWanted(db.pool, { app: 'other', stream: 'calls', series: null, from: 0, to: at(1) }),
    ).toBe(0)
  })

  it('must end after it begins, and be of a stream whose progress is time', async () => {
    await expect(want('calls', 10, 10)).rejects.toEqual(new RefusedRows('22023', 'select ingest.mark_wanted'))
    await expect(want('poll', 0, 10)).rejects.toEqual(new RefusedRows('22023', 'select ingest.mark_wanted'))
  })
})

describe('details that someone asks for once more', () => {
  it('are owed again for the calls that start in the range: what is done and what was lost', async () => {
    await commitNext(db, 'calls', 'all', {
      ...{ covers: [span(0, 1_000)], sees: [span(0, 1_000)] },
      rows: rowSet({
        'analytics.call': [
          ...[call('early', { created_at: '2026-01-05T08:00:10Z' }), call('late')],
          ...[call('lost', { created_at: '2026-01-05T08:00:20Z' }), call('pending')],
        ],
      }),
      work: ['early', 'late', 'lost', 'pending'].map(id => work(id, { part: id })),
    })
    await db.rows(`update analytics.call set created_at = $1 where call_id in ('late', 'pending')`, [
      '2026-01-05T08:00:30Z',
    ])
    const items = new Map((await openItems(db)).map(item => [item.key, item]))
    await db.store.commitItem(itemPage(items.get('early')!, { nextPage: 2, streamState: 'x' }))
    const [early] = (await openItems(db)).filter(({ key }) => key === 'early')
    await db.store.commitItem(itemPage(early!))
    await db.store.commitItem(itemPage(items.get('late')!))
    await db.store.loseItem(me, app, items.get('lost')!, 'vanished')
    expect(await want('call-sessions', 0, 30)).toBe(2)
    expect(await want('call-sessions', 0, 31, 'late')).toBe(1)
    const state = await db.rows(
      `select item, state, origin, page, stream_state, version::int from ingest.work_item order by item`,
    )
    const fresh = { state: 'pending', origin: 'backfill', page: 1, stream_state: null }
    expect(state).toEqual([
      { item: 'early', ...fresh, version: 3 },
      { item: 'late', ...fresh, version: 2 },
      { item: 'lost', ...fresh, version: 2 },
      { item: 'pending', ...fresh, origin: 'live', version: 0 },
    ])
  })
})

describe('the status', () => {
  it('shows what is owed, what of it was never read, and what is lost', async () => {
    await db.store.beginWindows(me, app, 'realtime-usage', ['x'], at(0))
    await commitNext(db, 'realtime-usage', 'x', {
      ...{ covers: [span(0, 1_000)], sees: [span(0, 2_000)] },
      loses: [{ ...span(2_000, 2_100), reason: 'unreadable' }],
    })
    const status = await readStatus(db.pool)
    expect(status.backlog.filter(({ stream }) => stream === 'realtime-usage')).toEqual([
      {
        ...{ app, stream: 'realtime-usage', series: 1, seconds: 2_500, longestSeconds: 2_500 },
        ...{ longestUnreadSeconds: 1_500, items: 0 },
        ...{ oldest: '2026-01-05T08:16:40Z', longestLostSeconds: 100, lostItems: 0 },
      },
    ])
    expect(status.backlog).toContainEqual({
      ...{ app, stream: 'call-sessions', series: 1, seconds: 4 * 61, longestSeconds: 4 * 61 },
      ...{ longestUnreadSeconds: 4 * 61, items: 4 },
      ...{ oldest: '2026-01-05T08:00:00Z', longestLostSeconds: 0, lostItems: 0 },
    })
    expect(status.streams).toContainEqual({
      ...{
        app,
        stream: 'call-sessions',
        open: 4,
        closed: 0,
        backlog: 4,
        lastCommit: '2026-01-05T09:00:00Z',
        oldestSeconds: 0,
      },
    })
  })
})

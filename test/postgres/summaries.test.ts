import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ItemCommit, OpenItem } from '../../src/engine/ports.ts'
import { callMetrics } from '../../src/streams/call-metrics.ts'
import { at, call, commitNext, iso, itemPage, openItems, samples, work } from './analytics.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

/** What calls come to, counted by hand. */

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

beforeEach(async () => {
  await db.rows(
    `truncate ingest.work_item, ingest.gap, ingest.progress, analytics.call, analytics.call_session, analytics.session_series,
              analytics.session_digest, analytics.session_summary, analytics.call_summary, analytics.call_minute`,
  )
  await db.store.beginWindows(me, app, 'calls', [''], at(0))
})

/** A call of two stays, whose metrics are to be fetched stay by stay. */
async function begin(finished = true): Promise<readonly [OpenItem, OpenItem]> {
  const rows = { 'analytics.call': [call('c', { destroyed_at: iso(600), finished })] }
  const items = ['1', '2'].map(part => work('c', { stream: 'call-metrics', part, to: 600 }))
  await commitNext(db, 'calls', '', { rows: rowSet(rows), work: items })
  for (const sid of ['s1', 's2'])
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid, joined_at) values ($1, 'c', $2, $2, $3)`,
      [app, sid, iso(0)],
    )
  const [first, second] = await openItems(db, 'call-metrics')
  return [first!, second!]
}

/** The call is listed again, and is over. */
const end = () => {
  const rows = { 'analytics.call': [call('c', { destroyed_at: iso(600), finished: true })] }
  return commitNext(db, 'calls', '', { rows: rowSet(rows) })
}

const audioFreeze = 20_005
const roundTrip = 20_022
const cpu = 20_001

/** Freezes of 0 to 90 ms, each `shift` longer, every two seconds. */
const freezes = (sid: string, shift: number) =>
  samples(
    'c',
    sid,
    audioFreeze,
    Array.from({ length: 10 }, (_, n) => [n * 2, n * 10 + shift] as const),
  )

const commit = (item: OpenItem, rows: readonly object[], more: Partial<ItemCommit> = {}) =>
  db.store.commitItem(itemPage(item, { rows: rowSet({ 'analytics.session_series': rows }), ...more }))

const summary = async () => {
  const [row] = await db.rows(
    `select samples::int, bad_share, audio_freeze_avg_ms as avg, audio_freeze_p95_ms as p95, partial
     from analytics.call_quality where call_id = 'c'`,
  )
  return row
}
const nothing = { samples: 0, bad_share: null, avg: null, p95: null, partial: true }

describe('the summary of a call', () => {
  it('is written with the last of its items, and says so', async () => {
    const [first, second] = await begin()
    await commit(first, [freezes('s1', 0)])
    expect(await summary()).toEqual(nothing)
    await commit(second, [freezes('s2', 200)])
    // Half of the values are 0 to 90, half 200 to 290; the place of the 95th is 19 * 0.95 = 18.05.
    expect(await summary()).toEqual({
      ...{ samples: 20, bad_share: 0.5, avg: 145, partial: false },
      p95: expect.closeTo(280.5, 9),
    })
  })

  it.each([1e154, 1e155, -1e200, Number.MAX_VALUE])('takes a value of %d for what it is', async value => {
    const [first, second] = await begin()
    await commit(first, [
      samples(
        'c',
        's1',
        audioFreeze,
        [0, 2, 4].map(n => [n, value] as const),
      ),
    ])
    await commit(second, [
      freezes('s2', 0),
      samples('c', 's2', roundTrip, [
        [0, value],
        [2, -value],
        [4, 1],
      ]),
    ])
    const stored = await db.rows('select value from analytics.session_metric where abs(value) = abs($1)', [
      value,
    ])
    expect(stored).toHaveLength(5)
    expect(await summary()).toMatchObject({ samples: 16, partial: false })
    const { avg } = (await summary()) as { avg: number }
    expect(Math.sign(avg)).toBe(Math.sign(value))
    const hours = await db.rows(
      'select audio_freeze_avg_ms, audio_freeze_p95_ms from analytics.quality_by_hour',
    )
    expect(hours).toHaveLength(1)
  })

  it('counts both of two items that end at one moment', async () => {
    for (let round = 0; round < 5; round++) {
      const [first, second] = await begin()
      await Promise.all([commit(first, [freezes('s1', 0)]), commit(second, [freezes('s2', 200)])])
      expect(await summary()).toMatchObject({ samples: 20, partial: false })
      await db.rows(
        'truncate ingest.work_item, analytics.session_series, analytics.call_session, analytics.call_summary',
      )
    }
  })

  it('is whole where some of its values were not measured', async () => {
    const kvs = [
      [at(0), null],
      [at(2), 30],
    ]
    for (const [index, item] of (await begin()).entries()) {
      const items = [{ sid: `s${index + 1}`, data: [{ mid: audioFreeze, peer_uid: 0, kvs }] }]
      const page = { number: 1, item, asked: { appid: app }, items, now: at(900) }
      const { rows, rejects } = callMetrics.toRows(page, null)
      await db.store.commitItem(itemPage(item, { rows, rejects }))
    }
    expect(await summary()).toMatchObject({ samples: 2, avg: 30, partial: false })
    expect(
      await db.value(`select bool_and(state = 'done') from ingest.work_item where stream = 'call-metrics'`),
    ).toBe(true)
    expect(await db.value('select count(*)::int from ingest.dead_letter')).toBe(0)
  })

  it('is partial where something was given up, and written again when that comes after all', async () => {
    const [first, second] = await begin()
    await commit(first, [freezes('s1', 0)])
    await db.store.loseItem(me, app, second, 'vanished')
    expect(await summary()).toMatchObject({ samples: 10, avg: 45, partial: true })
    await db.rows(
      `update ingest.work_item set state = 'pending', falls_back_to = 'lost', version = version + 1 where part = '2'`,
    )
    const [again] = await openItems(db, 'call-metrics')
    await commit(again!, [freezes('s2', 200)])
    expect(await summary()).toMatchObject({ samples: 20, avg: 145, partial: false })
  })

  it('waits for nothing that was tried in vain', async () => {
    const [first, second] = await begin()
    const reject = { reason: 'wrong_type', detail: 'no number', item: { sid: 's2' } } as const
    await commit(first, [freezes('s1', 0)], { rejects: [reject] })
    expect(await summary()).toEqual(nothing)
    await commit(second, [freezes('s2', 200)])
    expect(await summary()).toMatchObject({ samples: 20, partial: true })
    await db.advance(120_000)
    const [again] = await openItems(db, 'call-metrics')
    await commit(again!, [freezes('s1', 100)])
    expect(await summary()).toMatchObject({ samples: 20, avg: 195, partial: false })
  })

  it('is partial while the call goes on', async () => {
    const [first, second] = await begin(false)
    await commit(first, [freezes('s1', 0)])
    await commit(second, [])
    expect(await summary()).toMatchObject({ samples: 10, partial: true })
  })

  it('is whole once a call is told to be over that had been read to its end by then', async () => {
    const [first, second] = await begin(false)
    await commit(first, [freezes('s1', 0)])
    await commit(second, [freezes('s2', 200)])
    expect(await summary()).toMatchObject({ samples: 20, partial: true })
    await end()
    expect(await summary()).toMatchObject({ samples: 20, partial: false })
  })

  it('knows of an end that is told at the moment of its last item', async () => {
    for (let round = 0; round < 5; round++) {
      const [first, second] = await begin(false)
      await commit(first, [freezes('s1', 0)])
      await Promise.all([commit(second, [freezes('s2', 200)]), end()])
      expect(await summary()).toMatchObject({ samples: 20, partial: false })
      await db.rows(
        'truncate ingest.work_item, analytics.call, analytics.session_series, analytics.call_session, analytics.call_summary',
      )
    }
  })

  it('tells of a call without a value that it was read', async () => {
    for (const item of await begin()) await commit(item, [])
    expect(await summary()).toEqual({ ...nothing, partial: false })
  })

  it('is that of the newer values where slices overlap', async () => {
    const [first, second] = await begin()
    await commit(first, [freezes('s1', 0)])
    await commit(second, [freezes('s1', 100)])
    expect(await summary()).toMatchObject({ samples: 10, avg: 145 })
  })

  it('stays when the values are gone', async () => {
    for (const item of await begin()) await commit(item, [freezes('s1', 0)])
    await db.rows('truncate analytics.session_series')
    expect(await summary()).toMatchObject({ samples: 10, avg: 45 })
  })
})

describe('the summaries of its stays', () => {
  it('tell of every metric, about all remote users together', async () => {
    const [first, second] = await begin()
    await commit(first, [
      { ...freezes('s1', 0), peer_uid: '7' },
      { ...freezes('s1', 200), peer_uid: '8' },
      samples('c', 's1', cpu, [
        [0, 3],
        [2, 1],
      ]),
    ])
    await commit(second, [])
    const rows = await db.rows(
      `select sid, mid, samples, min, max, avg, p50, p95, bad_share from analytics.metric_summary order by mid`,
    )
    const told = { sid: 's1', samples: 2, min: 1, max: 3, avg: 2, p50: 2, p95: 2.9, bad_share: null }
    expect(rows).toEqual([
      { ...told, mid: cpu },
      {
        ...{ sid: 's1', mid: audioFreeze, samples: 20, min: 0, max: 290, avg: 145, p50: 145, bad_share: 0.5 },
        p95: expect.closeTo(280.5, 9),
      },
    ])
    const stays = await db.rows(
      `select sid, samples::int, bad_samples::int, freeze_samples::int, freezes::int, audio_freeze_avg_ms as avg
       from analytics.session_quality order by sid`,
    )
    expect(stays).toEqual([
      { sid: 's1', samples: 20, bad_samples: 10, freeze_samples: 20, freezes: 10, avg: 145 },
      { sid: 's2', samples: 0, bad_samples: 0, freeze_samples: 0, freezes: 0, avg: null },
    ])
  })

  it('tell of each minute, on both sides of midnight', async () => {
    const midnight = 16 * 3_600
    const items = ['1', '2'].map(part => work('c', { stream: 'call-metrics', part, to: midnight }))
    const rows = { 'analytics.call': [call('c', { destroyed_at: iso(midnight) })] }
    await commitNext(db, 'calls', '', { rows: rowSet(rows), work: items })
    const [first, second] = await openItems(db, 'call-metrics')
    const around = [midnight - 30, midnight - 1, midnight, midnight + 59, midnight + 60]
    await commit(first!, [
      samples(
        'c',
        's1',
        roundTrip,
        around.map((second, n) => [second, n * 200] as const),
      ),
    ])
    await commit(second!, [])
    const minutes = await db.rows(
      `select minute, samples::int, bad_share, rtt_avg_ms as rtt from analytics.call_quality_by_minute order by 1`,
    )
    expect(minutes).toEqual([
      { minute: new Date(iso(midnight - 60)), samples: 2, bad_share: 0, rtt: 100 },
      { minute: new Date(iso(midnight)), samples: 2, bad_share: 1, rtt: 500 },
      { minute: new Date(iso(midnight + 60)), samples: 1, bad_share: 1, rtt: 800 },
    ])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RefusedRows } from '../../src/engine/ports.ts'
import { at, call, commitNext, iso, itemPage, openItems, samples, session } from './analytics.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

let db: TestStore
const windows = ['calls', 'usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality'] as const
beforeAll(async () => {
  db = await openStore()
  for (const stream of windows) await db.store.beginWindows(me, app, stream, ['all'], at(0))
})
afterAll(() => db.close())

/** How many rows of each table were new. */
async function store(stream: (typeof windows)[number], table: string, ...rows: readonly object[]) {
  const result = await commitNext(db, stream, 'all', { rows: rowSet({ [table]: rows }) })
  return result.outcome === 'committed' ? result.stored[table] : result.outcome
}

/** Commits rows as the only page of a new item of a call. */
async function fetchItem(stream: 'call-sessions' | 'call-metrics', rows: ReturnType<typeof rowSet>) {
  const key = `item ${items++}`
  await db.rows(
    `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to) values ($1, $2, $3, '0', $4, $4)`,
    [app, stream, key, iso(0)],
  )
  const item = (await openItems(db, stream)).find(each => each.key === key)!
  return db.store.commitItem(itemPage(item, { rows }))
}
let items = 0

describe('a call', () => {
  const stored = () => db.rows(`select * from analytics.call where call_id = 'c'`)

  it('is new once; what it says later wins and what it does not say is kept', async () => {
    const first = call('c', { destroyed_at: null, finished: false, extra: { a: 1 } })
    expect(await store('calls', 'analytics.call', first)).toBe(1)
    await db.advance(1_000)
    expect(await store('calls', 'analytics.call', call('c', { cname: null }))).toBe(0)
    expect(await stored()).toEqual([
      {
        ...{ app_id: app, call_id: 'c', cname: 'maths', finished: true, extra: { a: 1 } },
        ...{ created_at: new Date(iso(0)), destroyed_at: new Date(iso(60)) },
        ...{ first_seen_at: new Date(iso(0)), updated_at: new Date(iso(1)), emptied_at: null },
      },
    ])
  })

  it('that has ended does not go on again, nor loses its end to a page that says so', async () => {
    await db.advance(1_000)
    await store('calls', 'analytics.call', call('c', { destroyed_at: iso(30), finished: false }))
    await store('calls', 'analytics.call', call('c', { destroyed_at: null, finished: null }))
    expect(await stored()).toMatchObject([
      { finished: true, destroyed_at: new Date(iso(60)), updated_at: new Date(iso(1)) },
    ])
    await store('calls', 'analytics.call', call('c', { destroyed_at: iso(90) }))
    expect(await stored()).toMatchObject([{ destroyed_at: new Date(iso(90)), updated_at: new Date(iso(2)) }])
  })

  it('that ends before it starts is kept', async () => {
    expect(await store('calls', 'analytics.call', call('backwards', { destroyed_at: iso(-60) }))).toBe(1)
  })
})

describe('a session', () => {
  it('is merged the same way', async () => {
    const rows = (...all: object[]) => rowSet({ 'analytics.call_session': all })
    const going = { left_at: null, finished: false, network: 'WIFI', uid: '4294967295' }
    await fetchItem('call-sessions', rows(session('c', 's', going)))
    await fetchItem('call-sessions', rows(session('c', 's', { uid: null, network: null })))
    await fetchItem('call-sessions', rows(session('c', 's', { ...going, uid: null, left_at: iso(10) })))
    const found = await db.rows(`select uid, network, finished, left_at from analytics.call_session`)
    expect(found).toEqual([
      { uid: '4294967295', network: 'WIFI', finished: true, left_at: new Date(iso(60)) },
    ])
  })
})

describe('values of a session', () => {
  const rows = (...all: object[]) => rowSet({ 'analytics.session_series': all })
  const values = (sid: string) =>
    db.rows(
      `select mid, extract(epoch from at)::float8 - $2 as at, value from analytics.session_metric
       where sid = $1 order by mid, at`,
      [sid, at(0)],
    )

  it('come as two lists and become a row each; the same again changes nothing and another value wins', async () => {
    const first = await fetchItem(
      'call-metrics',
      rows(
        samples('c', 'm', 20_001, [
          [0, 1.5],
          [2, 0.1],
        ]),
        samples('c', 'm', 29_999, [[0, -3e300]]),
      ),
    )
    expect(first).toMatchObject({ stored: { 'analytics.session_series': 3 } })
    const again = samples('c', 'm', 20_001, [
      [0, 1.5],
      [2, 7],
    ])
    expect(await fetchItem('call-metrics', rows(again))).toMatchObject({
      stored: { 'analytics.session_series': 1 },
    })
    expect(await values('m')).toEqual([
      { mid: 20_001, at: 0, value: 1.5 },
      { mid: 20_001, at: 2, value: 7 },
      { mid: 29_999, at: 0, value: -3e300 },
    ])
  })

  it('keep what else came with some of them', async () => {
    const extra = [null, ['third', 2n ** 60n], { unit: '%' }]
    const three = samples('c', 'more', 20_001, [
      [0, 1],
      [2, 2],
      [4, 3],
    ])
    const kept = () =>
      db.rows(`select extra::text from analytics.session_metric where sid = 'more' order by at`)
    await fetchItem('call-metrics', rows({ ...three, extra }, samples('c', 'more', 20_002, [[6, 4]])))
    expect(await kept()).toEqual([
      { extra: null },
      { extra: '["third", 1152921504606846976]' },
      { extra: '{"unit": "%"}' },
      { extra: null },
    ])
    expect(
      await fetchItem('call-metrics', rows({ ...three, extra: [['new'], ...extra.slice(1)] })),
    ).toMatchObject({
      stored: { 'analytics.session_series': 1 },
    })
    expect((await kept())[0]).toEqual({ extra: '["new"]' })
  })

  it('of slices that overlap, or come in parts, are told once each, the newest first heard last', async () => {
    const part = (from: number, to: number, value: number) =>
      samples(
        'c',
        'parts',
        20_001,
        Array.from({ length: to - from + 1 }, (_, i) => [from + i, value] as const),
      )
    await fetchItem('call-metrics', rows({ ...part(0, 3, 1), extra: [['a'], ['b'], ['c'], null] }))
    expect(
      await fetchItem('call-metrics', rows({ ...part(2, 5, 2), extra: [null, ['d'], null, null] })),
    ).toMatchObject({
      stored: { 'analytics.session_series': 4 },
    })
    await fetchItem('call-metrics', rows(part(-2, 0, 3)))
    const told = await db.rows(
      `select extract(epoch from at)::int - $1 as at, value, extra from analytics.session_metric where sid = 'parts' order by at`,
      [at(0)],
    )
    expect(told.map(({ at, value, extra }) => [at, value, extra])).toEqual([
      ...[
        [-2, 3, null],
        [-1, 3, null],
        [0, 3, null],
        [1, 1, ['b']],
      ],
      ...[
        [2, 2, null],
        [3, 2, ['d']],
        [4, 2, null],
        [5, 2, null],
      ],
    ])
  })

  it('come in any order, and lie in the days on which they were measured', async () => {
    const midnight = at(0) - (at(0) % 86_400) + 86_400
    const seconds = [1, -1, 0, 86_400, -86_401]
    const extra = seconds.map(second => (second === 0 ? ['midnight'] : null))
    const night = { call_id: 'c', sid: 'night', peer_uid: '', mid: 20_001 }
    await fetchItem(
      'call-metrics',
      rows({ ...night, at: seconds.map(s => midnight + s), value: seconds, extra }),
    )
    const told = await db.rows(
      `select at, value, extra, day from analytics.session_metric where sid = 'night' order by at`,
    )
    expect(told).toEqual(
      seconds
        .toSorted((a, b) => a - b)
        .map(second => {
          const day = midnight + Math.floor(second / 86_400) * 86_400
          return {
            ...{ at: new Date((midnight + second) * 1_000), value: second },
            ...{ extra: second === 0 ? ['midnight'] : null, day: new Date(day * 1_000) },
          }
        }),
    )
    const lie = await db.rows(
      `select gaps, value from analytics.session_series where sid = 'night' order by at`,
    )
    expect(lie.map(({ gaps, value }) => [gaps, value])).toEqual([
      [[86_399], [-86_401]],
      [[86_399], [-1]],
      [
        [0, 1],
        [0, 1],
      ],
      [[0], [86_400]],
    ])
  })

  it('that two items bring at once are stored once, the same values or others', async () => {
    const shared = (first: number, value: number) =>
      rows(
        samples(
          'c',
          'twice',
          20_001,
          Array.from({ length: 2_000 }, (_, i) => [first + i, value] as const),
        ),
      )
    for (let round = 0; round < 5; round++) {
      const from = round * 10_000
      const results = await Promise.all(
        [0, 500, 1_000].map(shift => fetchItem('call-metrics', shared(from + shift, shift))),
      )
      expect(results.map(({ outcome }) => outcome)).toEqual(['committed', 'committed', 'committed'])
      const count = `select count(*)::int from analytics.session_metric where sid = 'twice' and at >= $1`
      expect(await db.value(count, [iso(from)])).toBe(3_000)
    }
  })

  it('of any time find a place, from 1970 to 2099', async () => {
    const far = { call_id: 'c', sid: 'far', peer_uid: '7', mid: 20_001 }
    await fetchItem('call-metrics', rows({ ...far, at: [0, 1, 4_102_444_799], value: [1, 2, 3] }))
    const found = await db.rows(
      `select at, value from analytics.session_metric where sid = 'far' order by at`,
    )
    expect(found).toEqual([
      { at: new Date('1970-01-01T00:00:00Z'), value: 1 },
      { at: new Date('1970-01-01T00:00:01Z'), value: 2 },
      { at: new Date('2099-12-31T23:59:59Z'), value: 3 },
    ])
  })

  it('that no timestamp or metric can be are refused, and nothing of the item is written', async () => {
    const odd = { call_id: 'c', sid: 'odd', peer_uid: '0', mid: 20_001 }
    const refused = [
      { ...odd, at: [1e18], value: [1] },
      { ...odd, mid: 2 ** 31, at: [0], value: [1] },
      { ...odd, at: [0, 0], value: [1, 2] },
    ]
    for (const row of refused) {
      await expect(fetchItem('call-metrics', rows(row))).rejects.toBeInstanceOf(RefusedRows)
    }
    expect(await values('odd')).toEqual([])
  })

  it('may be none', async () => {
    expect(await fetchItem('call-metrics', rows())).toMatchObject({ outcome: 'committed' })
    const empty = await fetchItem('call-metrics', rows(samples('c', 'none', 20_001, [])))
    expect(empty).toMatchObject({ stored: { 'analytics.session_series': 0 } })
  })
})

describe('an insight', () => {
  const table = 'analytics.quality_insight'
  const insight = (value: number, fetched: number) => {
    const key = { product: 'Native', metric: 'networkDelay', granularity: 'hour', at: iso(0) }
    return { ...key, value, fetched_at: iso(fetched) }
  }
  const stored = () => db.rows(`select value, revision, fetched_at from ${table}`)

  it('counts how often its value changed and keeps the newest reading', async () => {
    expect(await store('quality-insight', table, insight(1, 10))).toBe(1)
    expect(await store('quality-insight', table, insight(1, 20))).toBe(0)
    expect(await stored()).toEqual([{ value: 1, revision: 1, fetched_at: new Date(iso(20)) }])
    await store('quality-insight', table, insight(2, 30))
    expect(await stored()).toEqual([{ value: 2, revision: 2, fetched_at: new Date(iso(30)) }])
  })

  it('that was read earlier changes nothing', async () => {
    await store('quality-insight', table, insight(5, 25))
    expect(await stored()).toEqual([{ value: 2, revision: 2, fetched_at: new Date(iso(30)) }])
  })

  it('that was read by a clock that was ahead gives way to what is read when it is right again', async () => {
    await db.advance(3_600_000)
    const late = (value: number, fetched: number) => ({
      ...insight(value, fetched),
      metric: 'audioFreezeRate',
    })
    const stored = () => db.rows(`select value, revision from ${table} where metric = 'audioFreezeRate'`)
    await store('quality-insight', table, late(1, 2 * 86_400))
    await store('quality-insight', table, late(3, 3_600))
    expect(await stored()).toEqual([{ value: 3, revision: 2 }])
    await store('quality-insight', table, late(2, 3_000))
    expect(await stored()).toEqual([{ value: 3, revision: 2 }])
  })

  it('of usage does the same', async () => {
    const usage = (value: number, fetched: number) => {
      return { metric: 'userCount', granularity: 'day', at: iso(0), value, fetched_at: iso(fetched) }
    }
    await store('usage-insight', 'analytics.usage_insight', usage(7, 1))
    await store('usage-insight', 'analytics.usage_insight', usage(8, 2))
    await store('usage-insight', 'analytics.usage_insight', usage(7, 3))
    expect(await db.rows('select value, revision from analytics.usage_insight')).toEqual([
      { value: 7, revision: 3 },
    ])
  })
})

describe('a real-time value', () => {
  it('is replaced by a newer one, each channel and user for itself', async () => {
    const row = (uid: string, value: number) => {
      return { product: 'Native', metric: 'audioFreezeRate', cname: 'maths', uid, at: iso(0), value }
    }
    const table = 'analytics.quality_realtime'
    expect(await store('realtime-quality', table, row('', 1), row('1', 2))).toBe(2)
    expect(await store('realtime-quality', table, row('', 1))).toBe(0)
    await store('realtime-quality', table, row('', 3))
    expect(await db.rows(`select uid, value from ${table} order by uid`)).toEqual([
      { uid: '', value: 3 },
      { uid: '1', value: 2 },
    ])
  })

  it('of usage is kept by channel', async () => {
    const row = (cname: string) => ({ product: 'Native', metric: 'userCount', cname, at: iso(0), value: 4 })
    expect(await store('realtime-usage', 'analytics.usage_realtime', row(''), row('maths'))).toBe(2)
  })
})

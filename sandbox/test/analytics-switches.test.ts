import { describe, expect, it } from 'vitest'
import type { Switches } from '../src/index.ts'
import {
  askAt,
  calls,
  type Endpoint,
  frameOf,
  hour,
  playAnalytics,
  rest,
  searchAll,
  someCall,
} from './analytics-play.ts'

const real = { hasMore: 'real', callLatenessSeconds: 0 } as const
const load = { ...calls, callsPerDay: 4_800 }

describe('callSearch', () => {
  const idsOf = async (callSearch: Switches['callSearch']) => {
    const stage = playAnalytics({ switches: { ...real, callSearch } })
    const end = stage.now() - 3 * hour
    const found = await searchAll(stage, { start_ts: end - 600, end_ts: end })
    return { found, from: end - 600, to: end, stage }
  }

  it('start: matches the calls that start in the range', async () => {
    const { found, from, to } = await idsOf('start')
    expect(found.length).toBeGreaterThan(0)
    expect(found.every(({ created_ts }) => created_ts >= from && created_ts <= to)).toBe(true)
  })

  it('overlap: matches all that go on in the range, whenever they start', async () => {
    const { found, from, to, stage } = await idsOf('overlap')
    const truth = [...stage.sandbox.analytics('demo').calls()].map(({ item }) => item)
    const expected = truth.filter(({ created_ts, destroyed_ts }) => created_ts <= to && destroyed_ts >= from)
    expect(found.map(({ call_id }) => call_id).sort()).toEqual(expected.map(({ call_id }) => call_id).sort())
    expect(found.some(({ created_ts }) => created_ts < from)).toBe(true)
  })
})

it.each([
  ['page', (pages: readonly number[]) => pages],
  ['all', (pages: readonly number[]) => pages.map(() => pages.reduce((a, b) => a + b, 0))],
] as const)('totalSize %s: is what total_size of each page counts', async (totalSize, counted) => {
  const stage = playAnalytics({ profile: load, switches: { ...real, callSearch: 'start', totalSize } })
  const end = stage.now() - 120
  const pages: { readonly listed: number; readonly total: number }[] = []
  for (let page_no = 1; pages.at(-1)?.listed !== 0; page_no++) {
    const { body } = await stage.ask('search', {
      start_ts: end - 3_600,
      end_ts: end,
      page_size: 100,
      page_no,
    })
    pages.push({ listed: body.call_lists.length, total: body.total_size })
  }
  expect(pages.length).toBeGreaterThan(2)
  expect(pages.map(({ total }) => total)).toEqual(counted(pages.map(({ listed }) => listed)))
})

describe('has_more', () => {
  const last = async (switches: Partial<Switches>, seconds: number) => {
    const stage = playAnalytics({
      profile: load,
      switches: { callSearch: 'start', callLatenessSeconds: 0, ...switches },
    })
    const end = stage.now() - 120
    const range = { start_ts: end - seconds, end_ts: end, page_size: 100 }
    for (let page_no = 1; ; page_no++) {
      const { body } = await stage.ask('search', { ...range, page_no })
      if (body.call_lists.length < 100)
        return { more: body.has_more, matches: 100 * (page_no - 1) + body.total_size }
    }
  }

  it('real: is false on the last page, however many calls there are', async () => {
    const { more, matches } = await last({ hasMore: 'real' }, 4 * hour)
    expect([more, matches > 500]).toEqual([false, true])
  })

  it('forced: is true on the last page of a search under load, and only there', async () => {
    expect(await last({ hasMore: 'forced' }, 4 * hour)).toMatchObject({ more: true })
    expect(await last({ hasMore: 'forced' }, hour)).toMatchObject({ more: false })
    expect(await last({ hasMore: 'forced', hasMoreAbove: 50 }, hour)).toMatchObject({ more: true })
  })

  it('omitted: is false on full pages that others follow, and true where calls are on no page', async () => {
    const stage = playAnalytics({
      profile: load,
      switches: { ...real, hasMore: 'omitted', callListPages: 3 },
    })
    const first = async (seconds: number) => {
      const end_ts = stage.now() - 120
      const { body } = await stage.ask('search', { start_ts: end_ts - seconds, end_ts, page_size: 100 })
      return [body.total_size, body.has_more]
    }
    expect(await first(hour)).toEqual([100, false])
    expect(await first(4 * hour)).toEqual([100, true])
  })

  it('forced: also strikes by rate, alike for a range, and never a range up to the floor', async () => {
    const forced = { hasMore: 'forced', hasMoreRate: 1 } as const
    expect((await last(forced, 61)).more).toBe(true)
    expect((await last(forced, 60)).more).toBe(false)
    expect((await last({ ...forced, hasMoreFloorSeconds: 600 }, 600)).more).toBe(false)
  })
})

it('callListPages: pages beyond are empty, and has_more says that something is left out', async () => {
  const stage = playAnalytics({ profile: load, switches: { ...real, callSearch: 'start', callListPages: 2 } })
  const range = { start_ts: stage.now() - 4 * hour, end_ts: stage.now() - 120, page_size: 100 }
  const page = async (page_no: number) => (await stage.ask('search', { ...range, page_no })).body
  expect(await page(2)).toMatchObject({ total_size: 100, has_more: true })
  expect(await page(3)).toMatchObject({ total_size: 0, has_more: true, call_lists: [] })
})

describe('pages of sessions', () => {
  const load = { ...calls, callsPerDay: 240, users: 40 }
  const pagesOf = async (switches: Partial<Switches>, exclude_server_user: string) => {
    const stage = playAnalytics({ profile: load, switches })
    const withRecorder = [...stage.sandbox.analytics('demo').calls()].findLast(
      ({ sessions, destroyedAt }) => destroyedAt && sessions.some(({ user }) => user === 'recorder'),
    )!
    const page = async (page_no: number) =>
      (
        await stage.ask('sessions', {
          ...{ ...frameOf(withRecorder.item), exclude_server_user, page_no, page_size: 100 },
        })
      ).body
    const pages = [await page(1)]
    while (pages.at(-1)!.page_size * pages.length < withRecorder.sessions.length)
      pages.push(await page(pages.length + 1))
    return { pages, all: withRecorder.sessions.length }
  }

  it('mostPerPage: hold no more, and say how many that is', async () => {
    const { pages, all } = await pagesOf({ mostPerPage: 10 }, 'false')
    expect(pages.map(({ page_size }) => page_size)).toEqual(pages.map(() => 10))
    expect(pages.flatMap(({ call_info }) => call_info)).toHaveLength(all)
    expect(pages.length).toBeGreaterThan(3)
  })

  it('serverFilter: leaves servers out before the pages are cut, or of each page', async () => {
    const sizes = async (serverFilter: Switches['serverFilter']) => {
      const { pages, all } = await pagesOf({ mostPerPage: 10, serverFilter }, 'true')
      return [pages.slice(0, -1).map(({ total_size }) => total_size), all - 1] as const
    }
    const [before] = await sizes('before-paging')
    const [after] = await sizes('after-paging')
    expect(before).toEqual(before.map(() => 10))
    expect(after.filter(size => size === 9)).toHaveLength(1)
  })
})

it('callLatenessSeconds: a call appears in the search some time after its start, up to so many seconds', async () => {
  const stage = playAnalytics({ profile: load, switches: { callSearch: 'start', callLatenessSeconds: 900 } })
  const range = { start_ts: stage.now() - 600, end_ts: stage.now() - 61 }
  const early = await searchAll(stage, range)
  await stage.clock.advance(900_000)
  const late = await searchAll(stage, range)
  expect(early.length).toBeLessThan(late.length)
  const ids = new Set(late.map(({ call_id }) => call_id))
  expect(early.every(({ call_id }) => ids.has(call_id))).toBe(true)
  await stage.clock.advance(900_000)
  expect((await searchAll(stage, range)).length).toBe(late.length)
})

it('callLatenessSeconds: a call that is late appears all the same when the world stands still meanwhile', async () => {
  const stage = playAnalytics({ profile: load, switches: { callSearch: 'start', callLatenessSeconds: 900 } })
  const range = { start_ts: stage.now() - 600, end_ts: stage.now() - 61 }
  stage.sandbox.universe.pause()
  const early = await searchAll(stage, range)
  await stage.clock.advance(900_000)
  expect((await searchAll(stage, range)).length).toBeGreaterThan(early.length)
})

it.each(['200', '0'] as const)('successCode %s: is the code of every success', async successCode => {
  const stage = playAnalytics({ switches: { successCode } })
  const codes: number[] = []
  for (const endpoint of Object.keys(rest) as Endpoint[]) {
    const age = endpoint.startsWith('realtime') ? 120 : 13 * hour
    codes.push((await askAt(stage, endpoint, age)).body.code)
  }
  expect(codes).toEqual(codes.map(() => Number(successCode)))
})

describe('restatement', () => {
  const values = async (switches: Partial<Switches>) => {
    const stage = playAnalytics({ switches })
    const ts = Math.floor(stage.now() / hour) * hour - 24 * hour
    const asked = { startTs: ts, endTs: ts, metric: 'userCount', aggregateGranularity: '1h' }
    const read = async () => (await stage.ask('usage', asked)).body.data[0]!.userCount
    const first = await read()
    await stage.clock.advance(3 * hour * 1_000)
    const second = await read()
    await stage.clock.advance(30 * hour * 1_000)
    return [first === second, second === (await read())]
  }

  it('on: a value changes after restatementHours', async () => {
    expect(await values({})).toEqual([true, false])
    expect(await values({ restatementHours: 23 })).toEqual([false, true])
  })

  it('off: a value stands', async () => {
    expect(await values({ restatement: 'off' })).toEqual([true, true])
  })
})

describe('callSlices', () => {
  const slices = async (callSlices: Switches['callSlices']) => {
    const stage = playAnalytics({ switches: { callSlices } })
    const call = await someCall(stage)
    const { start_ts, end_ts } = frameOf(call)
    const codes: number[] = []
    for (const [from, to] of [
      [start_ts, end_ts],
      [start_ts - 5, end_ts + 5],
      [start_ts, end_ts - 1],
      [start_ts + 1, end_ts],
    ] as const) {
      const frame = { call_id: call.call_id, start_ts: from, end_ts: to }
      codes.push((await stage.ask('sessions', frame)).body.code)
      codes.push((await stage.ask('metrics', { ...frame, sids: 's' })).body.code)
    }
    return { codes, violations: stage.sandbox.status().violations }
  }

  it('served: a part of a call may be read, and lists the users who joined before its end', async () => {
    expect((await slices('served')).codes).toEqual([200, 200, 200, 200, 200, 200, 200, 200])
    const stage = playAnalytics()
    const call = await someCall(stage)
    const end = call.created_ts + 300
    const asked = { ...frameOf(call), end_ts: end, exclude_server_user: 'false' }
    const { call_info } = (await stage.ask('sessions', asked)).body
    const truth = [...stage.sandbox.analytics('demo').calls()].find(({ callId }) => callId === call.call_id)!
    const expected = truth.sessions.filter(({ item }) => item.join_ts <= end).map(({ sid }) => sid)
    expect(call_info.map(({ sid }) => sid).toSorted()).toEqual(expected.toSorted())
  })

  it('refused: only the whole of a call may be read; a part is refused and is no violation', async () => {
    expect(await slices('refused')).toEqual({
      codes: [200, 200, 200, 200, 400, 400, 400, 400],
      violations: 0,
    })
  })
})

it.each([2, 30, 0])(
  'metricSeconds %i: is the distance of two values of a metric, at least 1',
  async metricSeconds => {
    const stage = playAnalytics({ switches: { metricSeconds } })
    const call = await someCall(stage)
    const { call_info } = (await stage.ask('sessions', frameOf(call))).body
    const { body } = await stage.ask('metrics', { ...frameOf(call), sids: call_info[0]!.sid })
    const times = body.metrics[0]!.data[0]!.kvs.map(([at]) => at)
    const distances = new Set(times.slice(1).map((at, n) => at - times[n]!))
    expect(distances).toEqual(new Set([Math.max(1, metricSeconds)]))
  },
)

describe('realtimeEnd', () => {
  it.each([
    ['exclusive', 3],
    ['inclusive', 4],
  ] as const)('%s: a minute has %i windows', async (realtimeEnd, windows) => {
    const stage = playAnalytics({ switches: { realtimeEnd } })
    const end = Math.floor((stage.now() - 120) / 20) * 20
    const asked = { ...rest['realtime-usage'], startTs: end - 60, endTs: end }
    const { data } = (await stage.ask('realtime-usage', asked)).body
    expect(data.map(({ ts }) => ts)).toEqual(Array.from({ length: windows }, (_, n) => end - 60 + n * 20))
  })
})

it.each(['number', 'string'] as const)(
  'realtimeUid %s: is the type of uid beside the values of a user',
  async type => {
    const stage = playAnalytics({ switches: { realtimeUid: type } })
    const asked = { ...rest['realtime-quality'], cname: 'channel-1', uids: '7,8' }
    const end = stage.now() - 120
    const { body } = await stage.ask('realtime-quality', { ...asked, startTs: end - 60, endTs: end })
    const uids: unknown[] = body.data.map(({ uid }) => uid)
    expect(uids).toEqual(type === 'number' ? [7, 8] : ['7', '8'])
  },
)

it('valueEntries: tells times around the frame, or each time twice, with values that are wrong', async () => {
  const read = async (valueEntries: Switches['valueEntries']) => {
    const stage = playAnalytics({ switches: { valueEntries } })
    const end = Math.floor((stage.now() - 300) / 20) * 20
    const asked = { ...rest['realtime-usage'], startTs: end - 60, endTs: end }
    const { data } = (await stage.ask('realtime-usage', asked)).body
    return data.map(({ ts, ...value }) => [Number(ts) - end, Object.values(value).includes(-7)])
  }
  const served = [
    [-60, false],
    [-40, false],
    [-20, false],
  ]
  expect(await read('once')).toEqual(served)
  expect(await read('around')).toEqual([[-80, true], ...served, [40, true]])
  expect(await read('twice')).toEqual(
    served.flatMap(([ts]) => [
      [ts, true],
      [ts, false],
    ]),
  )
})

describe('kvs', () => {
  const first = async (kvs: Switches['kvs']) => {
    const stage = playAnalytics({ switches: { kvs } })
    const call = await someCall(stage)
    const { call_info } = (await stage.ask('sessions', frameOf(call))).body
    const { body } = await stage.ask('metrics', { ...frameOf(call), sids: call_info[0]!.sid })
    return body.metrics[0]!.data[0]!.kvs[0] as unknown
  }

  it('says the same value in the form of the deployment', async () => {
    const [moment, value] = (await first('pairs')) as [number, number]
    expect(await first('objects')).toEqual({ k: moment, v: value })
    expect(await first('triples')).toEqual([moment, value, expect.any(Number)])
    expect(await first('words')).toBe(`${moment}=${value}`)
  })
})

it('ownPeer: absent where the values are of the session itself', async () => {
  const stage = playAnalytics({ switches: { ownPeer: 'absent' } })
  const call = await someCall(stage)
  const { call_info } = (await stage.ask('sessions', frameOf(call))).body
  const { body } = await stage.ask('metrics', { ...frameOf(call), sids: call_info[0]!.sid })
  const own = body.metrics[0]!.data.filter(({ mid }) => mid === 20_001)
  expect(own.map(series => Object.keys(series))).toEqual([['mid', 'kvs']])
})

it('unknownFields: stand in entries of insights, real-time values and metrics', async () => {
  const stage = playAnalytics({ switches: { unknownFields: 'present' } })
  for (const endpoint of ['usage', 'quality', 'realtime-usage', 'realtime-quality'] as const) {
    const age = endpoint.startsWith('realtime') ? 60 : 13 * hour
    const { data } = (await askAt(stage, endpoint, age)).body
    expect(data.every(entry => 'note' in entry)).toBe(true)
    expect(data.length).toBeGreaterThan(0)
    await stage.clock.advance(60_000)
  }
  const call = await someCall(stage)
  const { call_info } = (await stage.ask('sessions', frameOf(call))).body
  const { body } = await stage.ask('metrics', { ...frameOf(call), sids: call_info[0]!.sid })
  expect([body.metrics[0], body.metrics[0]!.data[0]]).toMatchObject([{ note: {} }, { note: {} }])
})

it('usersOutsideChannels: users are served of the whole project, or only of a channel', async () => {
  const ask = async (usersOutsideChannels: Switches['usersOutsideChannels']) => {
    const stage = playAnalytics({ switches: { usersOutsideChannels } })
    const end = stage.now() - 60
    const asked = { startTs: end - 60, endTs: end, metric: 'networkDelay', productType: 'Native', uids: '4' }
    return (await stage.ask('realtime-quality', asked)).body
  }
  expect((await ask('served')).data).toEqual([{ uid: 4, values: [] }])
  expect((await ask('refused')).message).toBe('invalid parameters: uids without cname')
})

it('realtimeUsers: with-channel tells of the channel beside its users', async () => {
  const stage = playAnalytics({ switches: { realtimeUsers: 'with-channel' } })
  const end = stage.now() - 60
  const asked = { startTs: end - 60, endTs: end, metric: 'networkDelay', productType: 'Native' }
  const { data } = (await stage.ask('realtime-quality', { ...asked, cname: 'c', uids: '4' })).body
  expect(data.map(entry => Object.keys(entry).toSorted().join())).toEqual([
    ...['networkDelay,ts', 'networkDelay,ts', 'networkDelay,ts'],
    'uid,values',
  ])
})

it('successMessage: a word, or null', async () => {
  for (const successMessage of ['text', 'null'] as const) {
    const stage = playAnalytics({ switches: { successMessage } })
    const { body } = await askAt(stage, 'realtime-usage', 60)
    expect(body.message).toBe(successMessage === 'null' ? null : 'success')
  }
})

describe('emptyLists', () => {
  const lists = async (emptyLists: Switches['emptyLists']) => {
    const stage = playAnalytics({ switches: { emptyLists } })
    const end = stage.now() - hour
    const nobody = { call_id: 'nobody', start_ts: end - 60, end_ts: end }
    const { body: search } = await stage.ask('search', { start_ts: end - 60, end_ts: end, cname: 'nobody' })
    const { body: sessions } = await stage.ask('sessions', nobody)
    const { body: metrics } = await stage.ask('metrics', { ...nobody, sids: 's' })
    expect([search.total_size, sessions.total_size]).toEqual([0, 0])
    return [search.call_lists, sessions.call_info, metrics.metrics]
  }

  it.each([
    ['array', [[], [], []]],
    ['null', [null, null, null]],
    ['absent', [undefined, undefined, []]],
  ] as const)('%s: is how a list without items is said', async (way, said) => {
    expect(await lists(way)).toEqual(said)
  })
})

import { describe, expect, it } from 'vitest'
import { demoApp } from '../../src/sandbox/index.ts'
import {
  type AnalyticsStage,
  basic,
  calls,
  demoCredential,
  frameOf,
  hour,
  type MetricsEntry,
  paths,
  playAnalytics,
  searchAll,
  someCall,
} from './analytics-play.ts'

const start = { callSearch: 'start', hasMore: 'real', callLatenessSeconds: 0 } as const

/** The calls that the world knows of a range, by their served start. */
function trueCalls(stage: AnalyticsStage, from: number, to: number) {
  return [...stage.sandbox.analytics('demo').calls()]
    .map(({ item }) => item)
    .filter(({ created_ts }) => created_ts >= from && created_ts <= to)
}

describe('authentication', () => {
  const range = (stage: AnalyticsStage) => ({ start_ts: stage.now() - hour, end_ts: stage.now() - 120 })

  it.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Bearer demo-key' }],
    ['a wrong secret', basic('demo-key', 'other')],
    ['a wrong key', basic('other', 'demo-secret')],
    ['no secret', { authorization: `Basic ${Buffer.from('demo-key').toString('base64')}` }],
  ])('answers 401 to %s', async (_, headers) => {
    const stage = playAnalytics()
    const { status, body } = await stage.ask('search', range(stage), headers)
    expect([status, body.code, body.message]).toEqual([401, 401, 'Unauthorized'])
    expect(stage.violations().authentication).toBe(1)
  })

  it('answers 403 where the app belongs to another credential, and 400 where none is named', async () => {
    const other = { ...demoApp, id: 'other', rest: { key: 'other-key', secret: 's' } }
    const stage = playAnalytics({ apps: [demoApp, other] })
    const foreign = await stage.ask('search', { ...range(stage), appid: 'other' })
    expect([foreign.status, foreign.body.code]).toEqual([403, 403])
    const nameless = await stage.ask('search', { ...range(stage), appid: undefined })
    expect([nameless.status, nameless.body.code]).toEqual([400, 400])
    const own = await stage.ask('search', { ...range(stage), appid: 'other' }, basic('other-key', 's'))
    expect(own.body.code).toBe(200)
  })

  it('answers 401 for an app that has no credential at all', async () => {
    const stage = playAnalytics({ apps: [{ id: 'demo', uid: 'u', token: 't' }] })
    expect((await stage.ask('search', range(stage))).status).toBe(401)
  })

  it('reads the scheme in any case', async () => {
    const stage = playAnalytics()
    const headers = { authorization: demoCredential.authorization!.replace('Basic', 'basic') }
    expect((await stage.ask('search', range(stage), headers)).status).toBe(200)
  })
})

describe('an unknown path of the call analytics', () => {
  it.each(['/beta/analytics/call', '/beta/insight/usage', '/beta/analytics/call/lists/x'])(
    'is answered with code 404: %s',
    async path => {
      const stage = playAnalytics()
      const { status, body } = await stage.get(path, demoCredential)
      expect([status, body]).toEqual([404, { code: 404, message: 'Wrong API invoked' }])
    },
  )

  it('is another method than GET, too', async () => {
    const { sandbox } = playAnalytics()
    const request = new Request(`http://sandbox${paths.search}`, { method: 'POST', headers: demoCredential })
    expect((await sandbox.fetch(request)).status).toBe(404)
  })
})

describe('an injected error', () => {
  it('has its code and a message: 500, unknown error', async () => {
    const stage = playAnalytics({ faults: [{ kind: 'status', status: 500, code: 500, every: 1 }] })
    const { status, body } = await stage.ask('search', { start_ts: 1, end_ts: 2 })
    expect([status, body.code, body.message]).toEqual([500, 500, 'injected'])
  })
})

describe('search calls', () => {
  it('answers code, message, requestId, total_size, page_no, page_size, has_more and call_lists', async () => {
    const stage = playAnalytics({ switches: start })
    const end = stage.now() - 120
    const { status, body, headers } = await stage.ask('search', { start_ts: end - hour, end_ts: end })
    expect(status).toBe(200)
    expect(body).toEqual({
      code: 200,
      message: 'success',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      total_size: body.call_lists.length,
      page_no: 1,
      page_size: 20,
      has_more: false,
      call_lists: expect.any(Array),
    })
    expect(headers.get('date')).toBe(new Date(stage.clock.now()).toUTCString())
    expect(Object.keys(body.call_lists[0]!).sort()).toEqual(
      ['call_id', 'cname', 'created_ts', 'destroyed_ts', 'finished'].sort(),
    )
  })

  it('finds exactly the calls that start in the range, both ends included, newest first', async () => {
    const stage = playAnalytics({ switches: start })
    const end = stage.now() - 120
    const found = await searchAll(stage, { start_ts: end - 6 * hour, end_ts: end })
    expect(found.length).toBeGreaterThan(100)
    expect(found.map(({ created_ts }) => created_ts)).toEqual(
      found.map(({ created_ts }) => created_ts).sort((a, b) => b - a),
    )
    const expected = trueCalls(stage, end - 6 * hour, end).map(({ call_id }) => call_id)
    expect(found.map(({ call_id }) => call_id).sort()).toEqual(expected.sort())
    const { created_ts, call_id } = found[50]!
    const second = await stage.ask('search', { start_ts: created_ts, end_ts: created_ts })
    expect(second.body.call_lists.map(call => call.call_id)).toEqual([call_id])
  })

  it('takes a page of 20 where nothing is said, and of at most 100', async () => {
    const stage = playAnalytics({ switches: start })
    const range = { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 120 }
    const plain = await stage.ask('search', range)
    expect([plain.body.call_lists.length, plain.body.total_size, plain.body.has_more]).toEqual([20, 20, true])
    const whole = await stage.ask('search', { ...range, page_no: 2, page_size: 100 })
    expect([whole.body.call_lists.length, whole.body.page_no, whole.body.page_size]).toEqual([100, 2, 100])
  })

  it('says has_more until the last page, whose total_size is what it returned', async () => {
    const stage = playAnalytics({ switches: start })
    const end = stage.now() - 120
    const range = { start_ts: end - 5 * hour, end_ts: end }
    const count = trueCalls(stage, range.start_ts, end).length
    const pages = Math.ceil(count / 30)
    for (let page_no = 1; page_no <= pages; page_no++) {
      const { body } = await stage.ask('search', { ...range, page_no, page_size: 30 })
      expect(body.has_more).toBe(page_no < pages)
      expect(body.total_size).toBe(page_no < pages ? 30 : count - 30 * (pages - 1))
    }
  })

  it('finds the calls of one channel alone', async () => {
    const stage = playAnalytics({ switches: start })
    const range = { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 120 }
    const { cname } = (await searchAll(stage, range))[0]!
    const found = await searchAll(stage, { ...range, cname })
    expect(new Set(found.map(call => call.cname))).toEqual(new Set([cname]))
    expect((await stage.ask('search', { ...range, cname: 'nowhere' })).body.call_lists).toEqual([])
  })

  it('shows a call that goes on as unfinished, ending where anything last happened, and later as finished', async () => {
    const stage = playAnalytics({ switches: start })
    const range = { start_ts: stage.now() - hour, end_ts: stage.now() - 120 }
    const going = (await searchAll(stage, range)).find(({ finished }) => !finished)!
    expect(going.destroyed_ts).toBeGreaterThanOrEqual(going.created_ts)
    expect(going.destroyed_ts).toBeLessThanOrEqual(stage.now())
    await stage.clock.advance(hour * 1_000)
    const later = (await searchAll(stage, range)).find(({ call_id }) => call_id === going.call_id)!
    expect(later.finished).toBe(true)
    expect(later.destroyed_ts).toBeGreaterThan(going.destroyed_ts)
  })

  it.each([
    [{ page_size: 101 }, 'page_size'],
    [{ page_size: 0 }, 'page_size'],
    [{ page_no: 0 }, 'page_no'],
    [{ page_no: 'two' }, 'page_no'],
    [{ start_ts: undefined }, 'start_ts'],
    [{ end_ts: undefined }, 'end_ts'],
    [{ start_ts: 'today' }, 'start_ts'],
    [{ start_ts: 1_767_600_000_000 }, 'start_ts'],
    [{ end_ts: 1 }, 'end_ts before start_ts'],
  ])('answers code 400 to %j', async (wrong, name) => {
    const stage = playAnalytics()
    const { status, body } = await stage.ask('search', {
      start_ts: stage.now() - hour,
      end_ts: stage.now() - 120,
      ...wrong,
    })
    expect([status, body.code, body.message]).toEqual([400, 400, `invalid parameters: ${name}`])
    expect(stage.violations().parameters).toBe(1)
  })
})

describe('session details', () => {
  const crowd = { ...calls, callsPerDay: 96, users: 130 }

  it('lists the stays of a call, the latest to join first, in pages whose total_size is what they hold', async () => {
    const stage = playAnalytics({ profile: crowd })
    const call = await someCall(stage)
    const paged = { ...frameOf(call), exclude_server_user: 'false', page_size: 100 }
    const first = (await stage.ask('sessions', { ...paged, page_no: 1 })).body
    const second = (await stage.ask('sessions', { ...paged, page_no: 2 })).body
    const third = (await stage.ask('sessions', { ...paged, page_no: 3 })).body
    expect(first).toMatchObject({
      code: 200,
      message: 'success',
      page_no: 1,
      page_size: 100,
      total_size: 100,
    })
    const listed = [...first.call_info, ...second.call_info]
    const truth = [...stage.sandbox.analytics('demo').calls()].find(({ callId }) => callId === call.call_id)!
    expect(listed).toEqual(truth.sessions.map(({ item }) => item).toReversed())
    expect(second.total_size).toBe(listed.length - 100)
    expect(third).toMatchObject({ total_size: 0, call_info: [] })
    const joins = listed.map(({ join_ts }) => join_ts)
    expect(joins).toEqual(joins.toSorted((a, b) => b - a))
    expect(Object.keys(listed[0]!).sort()).toEqual(
      [
        ...['sid', 'cname', 'uid', 'network', 'platform', 'speaker', 'sdk_version', 'device_type'],
        ...['join_ts', 'leave_ts', 'finished'],
      ].sort(),
    )
    expect(new Set(listed.map(({ sid }) => sid)).size).toBe(listed.length)
  })

  it('takes a page where number and size are given, the first 20 where neither is, and one alone for a mistake', async () => {
    const stage = playAnalytics({ profile: crowd })
    const frame = frameOf(await someCall(stage))
    const whole = (await stage.ask('sessions', frame)).body
    expect(whole).toMatchObject({ total_size: 20, page_no: 1, page_size: 20 })
    for (const half of [{ page_no: 2 }, { page_size: 50 }]) {
      const { status, body } = await stage.ask('sessions', { ...frame, ...half })
      expect([status, body.message]).toEqual([
        400,
        'invalid parameters: page_no without page_size, or the other way round',
      ])
    }
    expect((await stage.ask('sessions', { ...frame, page_no: 2, page_size: 20 })).body.call_info).not.toEqual(
      whole.call_info,
    )
  })

  it('leaves Linux users out unless it is told not to', async () => {
    const stage = playAnalytics({ profile: { ...calls, callsPerDay: 1_000 } })
    const truth = [...stage.sandbox.analytics('demo').calls()].find(({ destroyedAt, sessions }) => {
      const isRecent = destroyedAt !== undefined && destroyedAt > (stage.now() - 5 * hour) * 1_000
      return isRecent && sessions.some(({ platform }) => platform === 'Linux')
    })!
    await stage.clock.advance(600_000)
    const platforms = async (exclude: string | undefined) => {
      const asked = { ...frameOf(truth.item), page_no: 1, page_size: 100, exclude_server_user: exclude }
      return (await stage.ask('sessions', asked)).body.call_info.map(({ platform }) => platform)
    }
    expect(await platforms('false')).toContain('Linux')
    expect(await platforms('true')).not.toContain('Linux')
    expect(await platforms(undefined)).toEqual(await platforms('true'))
    expect((await platforms('false')).length).toBe((await platforms('true')).length + 1)
  })

  it('lists the stays of up to ten users, and a user who came back twice', async () => {
    const stage = playAnalytics()
    const truth = [...stage.sandbox.analytics('demo').calls()].find(
      ({ createdAt, destroyedAt, sessions }) => {
        const isRecent = createdAt > (stage.now() - 3 * hour) * 1_000 && destroyedAt !== undefined
        return isRecent && new Set(sessions.map(({ uid }) => uid)).size < sessions.length
      },
    )!
    await stage.clock.advance(600_000)
    const uids = truth.sessions.map(({ uid }) => uid)
    const twice = uids.find((uid, index) => uids.indexOf(uid) !== index)!
    const asked = { ...frameOf(truth.item), exclude_server_user: 'false', uids: `${twice},4` }
    const { body } = await stage.ask('sessions', asked)
    expect(body.call_info.map(({ uid }) => uid)).toEqual([twice, twice])
  })

  it.each([
    [{ uids: '1,2,3,4,5,6,7,8,9,10,11' }, 'uids'],
    [{ uids: '1,,2' }, 'uids'],
    [{ uids: 'ada' }, 'uids'],
    [{ exclude_server_user: 'maybe' }, 'exclude_server_user'],
    [{ call_id: undefined }, 'call_id'],
    [{ page_no: 1, page_size: 101 }, 'page_size'],
  ])('answers code 400 to %j', async (wrong, name) => {
    const stage = playAnalytics()
    const { status, body } = await stage.ask('sessions', { ...frameOf(await someCall(stage)), ...wrong })
    expect([status, body.code, body.message]).toEqual([400, 400, `invalid parameters: ${name}`])
  })

  it('knows nobody in a call that there is not', async () => {
    const stage = playAnalytics()
    const asked = { ...frameOf(await someCall(stage)), call_id: '0'.repeat(32) }
    expect((await stage.ask('sessions', asked)).body).toMatchObject({
      code: 200,
      total_size: 0,
      call_info: [],
    })
    expect((await stage.ask('metrics', { ...asked, sids: 'x' })).body).toMatchObject({
      code: 200,
      metrics: [],
    })
  })

  it('keeps a user who is still there unfinished, leaving now', async () => {
    const stage = playAnalytics()
    const end = stage.now() - 301
    const { body } = await stage.ask('search', { start_ts: end - 600, end_ts: end })
    const going = body.call_lists.find(({ finished }) => !finished)!
    const asked = { call_id: going.call_id, start_ts: going.created_ts, end_ts: end }
    const { call_info } = (await stage.ask('sessions', asked)).body
    const present = call_info.filter(({ finished }) => !finished)
    expect(present.length).toBeGreaterThan(0)
    expect(present.every(({ leave_ts }) => leave_ts === stage.now())).toBe(true)
  })
})

describe('quality metrics', () => {
  const pointsOf = (entries: readonly MetricsEntry[]) =>
    entries.flatMap(({ sid, data }) =>
      data.flatMap(({ mid, peer_uid, kvs }) =>
        kvs.map(([at, value]) => `${sid} ${peer_uid} ${mid} ${at} ${value}`),
      ),
    )

  async function callWithSids(stage: AnalyticsStage) {
    const call = await someCall(stage)
    const { body } = await stage.ask('sessions', { ...frameOf(call), exclude_server_user: 'false' })
    return { call, sessions: body.call_info, sids: body.call_info.map(({ sid }) => sid).join(',') }
  }

  it('of a session are pairs of Unix seconds and a value, 2 s apart, inside the stay', async () => {
    const stage = playAnalytics()
    const { call, sessions, sids } = await callWithSids(stage)
    const { body } = await stage.ask('metrics', { ...frameOf(call), sids })
    expect(body).toMatchObject({ code: 200, message: 'success', requestId: expect.any(String) })
    expect(body.metrics.map(({ sid }) => sid).sort()).toEqual(sids.split(',').sort())
    for (const { sid, data } of body.metrics) {
      const { join_ts, leave_ts } = sessions.find(session => session.sid === sid)!
      for (const { mid, peer_uid, kvs } of data) {
        expect(mid).toBeGreaterThanOrEqual(20001)
        expect(mid).toBeLessThanOrEqual(20028)
        expect(Number.isInteger(peer_uid)).toBe(true)
        const times = kvs.map(([at]) => at)
        expect(times.every(at => at >= join_ts && at <= leave_ts && at % 2 === 0)).toBe(true)
        expect(new Set(times).size).toBe(times.length)
      }
      const own = data.find(({ mid }) => mid === 20001)!
      expect(own.kvs.length).toBe(Math.floor(leave_ts / 2) - Math.ceil(join_ts / 2) + 1)
    }
  })

  it('are of the local user where peer_uid is 0, and of someone in the call where it is not', async () => {
    const stage = playAnalytics()
    const { call, sessions, sids } = await callWithSids(stage)
    const { body } = await stage.ask('metrics', { ...frameOf(call), sids })
    const uids = new Set(sessions.map(({ uid }) => uid))
    const peers = new Set(body.metrics.flatMap(({ data }) => data.map(({ peer_uid }) => peer_uid)))
    expect(peers.has(0)).toBe(true)
    expect(peers.size).toBeGreaterThan(1)
    for (const peer of peers) expect(peer === 0 || uids.has(peer)).toBe(true)
  })

  it('are as many as the truth counts, alike each time, and slices of them fit together', async () => {
    const stage = playAnalytics()
    const { call, sids } = await callWithSids(stage)
    const { start_ts, end_ts } = frameOf(call)
    const whole = pointsOf((await stage.ask('metrics', { ...frameOf(call), sids })).body.metrics)
    expect(stage.sandbox.analytics('demo').points(call.call_id)).toEqual({
      points: whole.length,
      malformed: 0,
    })
    const middle = start_ts + 601
    const early = await stage.ask('metrics', { ...frameOf(call), end_ts: middle, sids })
    const late = await stage.ask('metrics', { ...frameOf(call), start_ts: middle + 1, end_ts, sids })
    const sliced = [...pointsOf(early.body.metrics), ...pointsOf(late.body.metrics)]
    expect(sliced.sort()).toEqual(whole.sort())
  })

  it('of a remote user are of the time in which that user is there', async () => {
    const stage = playAnalytics()
    const truth = [...stage.sandbox.analytics('demo').calls()].findLast(
      ({ item, sessions: [first, ...others] }) => {
        const isLate = others.some(({ uid, speaks }) => speaks && uid !== first!.uid)
        return item.finished && item.destroyed_ts < stage.now() - 400 && isLate
      },
    )!
    const sessions = truth.sessions.map(({ item }) => item)
    const sids = sessions.map(({ sid }) => sid).join(',')
    const { body } = await stage.ask('metrics', { ...frameOf(truth.item), sids })
    for (const { peer_uid, kvs } of body.metrics.flatMap(({ data }) => data)) {
      const stays = sessions.filter(({ uid }) => uid === peer_uid)
      const isThere = (at: number) => stays.some(({ join_ts, leave_ts }) => join_ts <= at && at <= leave_ts)
      expect(peer_uid === 0 || kvs.every(([at]) => isThere(at))).toBe(true)
    }
  })

  it('read slice by slice while the call goes on are the same as those read in the end', async () => {
    const stage = playAnalytics()
    const end = stage.now() - 301
    const { call_lists } = (await stage.ask('search', { start_ts: end - 300, end_ts: end })).body
    const going = call_lists.findLast(({ finished }) => !finished)!
    const frame = { call_id: going.call_id, exclude_server_user: 'false' }
    const read = async (start_ts: number, end_ts: number) => {
      const { call_info } = (await stage.ask('sessions', { ...frame, start_ts, end_ts })).body
      const sids = call_info.map(({ sid }) => sid).join(',')
      return pointsOf((await stage.ask('metrics', { ...frame, start_ts, end_ts, sids })).body.metrics)
    }
    const early = await read(going.created_ts, end)
    expect(early.length).toBeGreaterThan(100)
    await stage.clock.advance(2 * hour * 1_000)
    expect((await read(going.created_ts, end)).sort()).toEqual(early.sort())
    const truth = [...stage.sandbox.analytics('demo').calls()].find(({ callId }) => callId === going.call_id)!
    const late = await read(end + 1, truth.item.destroyed_ts)
    expect(stage.sandbox.analytics('demo').points(going.call_id)!.points).toBe(early.length + late.length)
  })

  it('stand for every metric ID that the document lists', async () => {
    const stage = playAnalytics()
    const { call, sids } = await callWithSids(stage)
    const { body } = await stage.ask('metrics', { ...frameOf(call), sids })
    const mids = new Set(body.metrics.flatMap(({ data }) => data.map(({ mid }) => mid)))
    const documented = Array.from({ length: 28 }, (_, n) => 20001 + n).filter(
      mid => mid !== 20012 && mid !== 20014,
    )
    expect([...mids].sort()).toEqual(documented)
  })

  it('are of at most twenty sessions', async () => {
    const stage = playAnalytics()
    const { call } = await callWithSids(stage)
    const sids = (count: number) => Array.from({ length: count }, (_, n) => `s${n}`).join(',')
    expect((await stage.ask('metrics', { ...frameOf(call), sids: sids(20) })).body.code).toBe(200)
    for (const wrong of [sids(21), '', 'a,,b', undefined]) {
      const { body } = await stage.ask('metrics', { ...frameOf(call), sids: wrong })
      expect([body.code, body.message]).toEqual([400, 'invalid parameters: sids'])
    }
  })

  it('leave out a session that nobody knows', async () => {
    const stage = playAnalytics()
    const { call, sids } = await callWithSids(stage)
    const { body } = await stage.ask('metrics', { ...frameOf(call), sids: `${sids.split(',')[0]},unknown` })
    expect(body.metrics.map(({ sid }) => sid)).toEqual([sids.split(',')[0]])
  })
})

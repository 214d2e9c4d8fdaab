import { describe, expect, it } from 'vitest'
import {
  type AnalyticsStage,
  calls,
  frameOf,
  hour,
  type MetricsEntry,
  playAnalytics,
  someCall,
} from './analytics-play.ts'

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

  it('tells stays as they stood at the end of what is asked about, where it is told so', async () => {
    const stage = playAnalytics({ switches: { staysAsOf: 'question' } })
    const frame = frameOf(await someCall(stage))
    const staysUpTo = async (end_ts: number) =>
      (await stage.ask('sessions', { ...frame, end_ts, exclude_server_user: 'false' })).body.call_info
    const whole = await staysUpTo(frame.end_ts)
    const first = Math.min(...whole.map(({ leave_ts }) => leave_ts))
    expect(whole.every(({ finished }) => finished)).toBe(true)
    const before = await staysUpTo(first - 1)
    expect(before.length).toBeGreaterThan(0)
    expect(before.every(({ finished, leave_ts }) => !finished && leave_ts === first - 1)).toBe(true)
    const upTo = await staysUpTo(first)
    expect(upTo.filter(({ finished }) => finished).every(({ leave_ts }) => leave_ts === first)).toBe(true)
    expect(upTo.some(({ finished }) => finished)).toBe(true)
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

import { describe, expect, it } from 'vitest'
import { type Quirks, truthJson } from '../src/index.ts'
import {
  type AnalyticsStage,
  appOf,
  calls,
  day,
  frameOf,
  hour,
  playAnalytics,
  searchAll,
} from './analytics-play.ts'
import { at, lively, minutes } from './play.ts'

const quiet = { ...calls, callsPerDay: 24, days: 1 }
const real = { hasMore: 'real', callSearch: 'start', callLatenessSeconds: 0 } as const

describe('the calls of a school', () => {
  const school = (options = {}) => playAnalytics({ profile: lively, switches: real, ...options })

  it('have the name of a room as their channel, and go on as long as its class', async () => {
    const stage = school({ profile: { ...lively, historyMinutes: 80 } })
    const found = await searchAll(stage, { start_ts: stage.now() - 3 * hour, end_ts: stage.now() - 61 })
    const rooms = new Map(stage.linesOf('room').map(room => [room.roomUuid, room]))
    expect(found.length).toBeGreaterThan(5)
    expect(found.length).toBe(rooms.size)
    for (const { cname, created_ts, destroyed_ts, finished } of found) {
      const { openedAt, endedAt } = rooms.get(cname)!
      expect(created_ts).toBe(Math.floor(openedAt / 1_000))
      expect(finished).toBe(endedAt !== undefined)
      if (endedAt !== undefined) expect(destroyed_ts - Math.floor(endedAt / 1_000)).toBe(5)
    }
  })

  it('are found after the provider has forgotten the room', async () => {
    const stage = school({
      switches: { ...real, roomMemorySeconds: 600 },
      profile: { ...lively, historyMinutes: 80 },
    })
    const gone = stage.roomIn(room => room.destroyedAt !== undefined)
    expect((await stage.get(at(gone.roomUuid).events)).status).toBe(404)
    const range = { start_ts: stage.now() - 3 * hour, end_ts: stage.now() - 300 }
    const [call] = await searchAll(stage, { ...range, cname: gone.roomUuid })
    const { call_info } = (await stage.ask('sessions', frameOf(call!))).body
    expect(call_info.length).toBeGreaterThan(5)
  })

  it('have the people of the class: every uid of a session is one of a user of the room', async () => {
    const stage = school()
    const room = stage.roomIn(({ state }) => state === 3)
    const { call } = stage.linesOf('call', room.roomUuid)[0]!
    const people = call.sessions.filter(({ user }) => user === 'person')
    const uuids = new Set(
      stage
        .linesOf('event', room.roomUuid)
        .filter(({ cmd }) => cmd === 20)
        .flatMap(({ data }) => (data as { onlineUsers: { userUuid: string }[] }).onlineUsers)
        .map(({ userUuid }) => userUuid),
    )
    expect(new Set(people.map(({ uid }) => `user-${uid.toString(36)}`))).toEqual(uuids)
    expect(people.length).toBeGreaterThan(uuids.size)
    expect(people.some(({ speaks }) => speaks)).toBe(true)
    expect(people.every(({ platform }) => platform !== 'Linux')).toBe(true)
  })

  it('have a Linux recorder for as long as the class is recorded', () => {
    const stage = school({ profile: { ...lively, historyMinutes: 100 } })
    const recordings = stage.linesOf('recording')
    expect(recordings.length).toBeGreaterThan(0)
    for (const { roomUuid, item } of recordings) {
      const { call } = stage.linesOf('call', roomUuid)[0]!
      const recorder = call.sessions.find(({ sid }) => sid === item.sid)!
      expect(recorder).toMatchObject({
        platform: 'Linux',
        uid: Number(item.recordUid),
        joinedAt: item.startTime,
      })
      expect(recorder.leftAt ?? null).toBe(item.endTime)
    }
  })

  it('stand still while the world is paused, and their numbers do too', async () => {
    const stage = school()
    stage.sandbox.universe.pause()
    const quietly = [...stage.sandbox.analytics('demo').calls()]
    await stage.clock.advance(60 * minutes)
    expect([...stage.sandbox.analytics('demo').calls()]).toEqual(quietly)
    const range = { start_ts: stage.now() - 3 * hour, end_ts: stage.now() - 61 }
    expect((await searchAll(stage, range)).length).toBe(quietly.length)
  })

  it('have nobody in them after a pause began, in what is served and in the truth', async () => {
    const stage = school()
    stage.sandbox.universe.pause()
    const pausedAt = stage.now()
    await stage.clock.advance(10 * minutes)
    const asked = { startTs: pausedAt - 200, endTs: pausedAt + 200, metric: 'userCount' }
    const { body } = await stage.ask('realtime-usage', { productType: 'Native', ...asked })
    const truth = stage.sandbox.analytics('demo')
    for (const { ts, userCount } of body.data)
      expect(truth.realtimeUsage({ product: 'Native' }, 'userCount', ts!)).toBe(userCount)
    expect([body.data[0]!.userCount! > 0, body.data.at(-1)!.userCount]).toEqual([true, 0])
  })

  it('are none where classes fell silent before there was a sandbox', async () => {
    const stage = school({ profile: { kind: 'idle', rooms: 20 } })
    expect(await searchAll(stage, { start_ts: stage.now() - 3 * hour, end_ts: stage.now() - 61 })).toEqual([])
    expect(stage.linesOf('call')).toEqual([])
  })
})

describe('a load of calls', () => {
  const heavy = { kind: 'calls', callsPerDay: 10_000, users: 8, minutes: 40, days: 15 } as const

  it('has as many calls a day as it is told, in the past and in the future, none beyond its history', async () => {
    const stage = playAnalytics({ profile: heavy, apps: [appOf('enterprise')], switches: real })
    const count = () => stage.sandbox.status().apps[0]!.calls
    const history = count()
    expect(Math.abs(history - 15 * 10_000)).toBeLessThan(500)
    await stage.clock.advance(day * 1_000)
    expect(count() - history).toBe(10_000)
    const first = stage.now() - 14.5 * day
    const found = await searchAll(stage, { start_ts: first, end_ts: first + 6 * hour })
    expect(found.length).toBeGreaterThan(2_450)
    expect(found.length).toBeLessThan(2_550)
  })

  it('is the same each time, and another one with another seed', async () => {
    const page = async (seed: number) => {
      const stage = playAnalytics({ profile: heavy, seed, switches: real })
      return (await stage.ask('search', { start_ts: stage.now() - hour, end_ts: stage.now() - 120 })).body
    }
    expect(await page(1)).toEqual(await page(1))
    expect((await page(1)).call_lists).not.toEqual((await page(2)).call_lists)
  })

  it('counts its usage hour by hour though nobody ever lists its calls', async () => {
    const stage = playAnalytics({ profile: heavy, apps: [appOf('enterprise')] })
    const frame = { startTs: stage.now() - 3 * day, endTs: stage.now() - day, aggregateGranularity: '1h' }
    const { data } = (await stage.ask('usage', { ...frame, metric: 'channelCount' })).body
    expect(data.length).toBe(49)
    expect(data.every(({ channelCount }) => channelCount! > 150 && channelCount! <= 200)).toBe(true)
  })

  it('ends no later than it is said to last, and has its users', () => {
    const stage = playAnalytics({ profile: { ...quiet, users: 5, minutes: 20 } })
    for (const { createdAt, destroyedAt, sessions } of stage.sandbox.analytics('demo').calls()) {
      if (destroyedAt === undefined) continue
      expect(destroyedAt - createdAt).toBeGreaterThanOrEqual(10 * minutes)
      expect(destroyedAt - createdAt).toBeLessThanOrEqual(30 * minutes)
      const people = sessions.filter(({ user }) => user === 'person')
      expect(new Set(people.map(({ uid }) => uid)).size).toBe(5)
      expect(sessions.every(({ joinedAt, leftAt }) => joinedAt >= createdAt && leftAt! <= destroyedAt)).toBe(
        true,
      )
    }
  })
})

describe('an oddity of calls', () => {
  const odd = (quirks: Partial<Quirks>, apps = [appOf('premium')]) => {
    return playAnalytics({ profile: quiet, switches: real, quirks, apps })
  }
  const named = async (stage: AnalyticsStage, cname: string) => {
    const range = { start_ts: stage.now() - 3 * hour, end_ts: stage.now() - 61 }
    return (await searchAll(stage, range)).find(call => call.cname === cname)!
  }

  it('burstOfCalls is more than a page of calls in one second', async () => {
    const stage = odd({ burstOfCalls: 250 })
    const second = stage.now() - 2 * hour
    const found = await searchAll(stage, { start_ts: second, end_ts: second })
    expect(found.length).toBe(250)
    expect(new Set(found.map(({ call_id }) => call_id)).size).toBe(250)
    expect(new Set(found.map(({ created_ts }) => created_ts))).toEqual(new Set([second]))
  })

  it('longCallHours is a call that goes on for longer than any plan lets one ask about at once', async () => {
    const stage = odd({ longCallHours: 25 })
    const call = await named(stage, 'long-call')
    expect(call.finished).toBe(false)
    await stage.clock.advance(23.5 * hour * 1_000)
    const range = { start_ts: call.created_ts, end_ts: call.created_ts }
    const [over] = (await stage.ask('search', range)).body.call_lists
    expect(over).toMatchObject({ finished: true, destroyed_ts: call.created_ts + 25 * hour })
    const long = await stage.ask('sessions', frameOf(over!))
    expect(long.body.message).toBe('query time length limit error')
    const slice = { ...frameOf(over!), end_ts: over!.created_ts + 3 * hour - 1 }
    expect((await stage.ask('sessions', slice)).body.total_size).toBeGreaterThan(0)
  })

  it('crowd is a call of more sessions than a page holds', async () => {
    const stage = odd({ crowd: 150 })
    const call = await named(stage, 'crowd')
    const asked = { ...frameOf(call), exclude_server_user: 'false', page_size: 100 }
    const first = (await stage.ask('sessions', { ...asked, page_no: 1 })).body
    const second = (await stage.ask('sessions', { ...asked, page_no: 2 })).body
    expect([first.total_size, second.total_size >= 50]).toEqual([100, true])
  })

  it('backwardCall is a call that is said to end before it starts', async () => {
    const stage = odd({ backwardCall: 1 })
    const found = await searchAll(stage, { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 61 })
    const finished = found.filter(call => call.finished)
    expect(finished.length).toBeGreaterThan(3)
    expect(finished.every(({ created_ts, destroyed_ts }) => destroyed_ts < created_ts)).toBe(true)
  })

  const metricsOf = async (stage: AnalyticsStage) => {
    const found = await searchAll(stage, {
      start_ts: stage.now() - 10 * hour,
      end_ts: stage.now() - 2 * hour,
    })
    const frame = frameOf(found[0]!)
    const { call_info } = (await stage.ask('sessions', { ...frame, exclude_server_user: 'false' })).body
    const sids = call_info.map(({ sid }) => sid)
    const { metrics } = (await stage.ask('metrics', { ...frame, sids: sids.join(',') })).body
    const pairs = metrics.flatMap(({ data }) => data.flatMap(({ kvs }) => kvs))
    const values = pairs.map(pair => pair?.[1])
    const counted = stage.sandbox.analytics('demo').points(frame.call_id)!
    return { sids, metrics, pairs, values, counted }
  }

  it('unknownMid is a metric ID that no document names', async () => {
    const { metrics, values, counted } = await metricsOf(odd({ unknownMid: 1 }))
    expect(metrics.every(({ data }) => data.some(({ mid }) => mid === 20_031))).toBe(true)
    expect(counted).toEqual({ points: values.length, malformed: 0 })
  })

  it('partedMetric is a metric in two entries, the later values in the second', async () => {
    const whole = await metricsOf(odd({}))
    const { metrics, values, counted } = await metricsOf(odd({ partedMetric: 1 }))
    const [first, second] = metrics[0]!.data
    expect(second!.mid).toBe(first!.mid)
    expect(second!.kvs[0]![0]).toBeGreaterThan(first!.kvs.at(-1)![0]!)
    expect(values).toEqual(whole.values)
    expect(counted).toEqual(whole.counted)
  })

  it('malformedValue is a word among the values, and the truth counts both', async () => {
    const { values, counted } = await metricsOf(odd({ malformedValue: 0.05 }))
    const words = values.filter(value => typeof value === 'string')
    expect(words.length).toBeGreaterThan(10)
    expect(counted).toEqual({ points: values.length - words.length, malformed: words.length })
  })

  it('strangePair is null or a text in the place of a pair, and the truth counts it as a word', async () => {
    const { pairs, counted } = await metricsOf(odd({ malformedValue: 0.05, strangePair: 1 }))
    const strange = pairs.filter(pair => !Array.isArray(pair))
    expect(strange.filter(pair => pair === null).length).toBeGreaterThan(5)
    expect(strange.filter(pair => typeof pair === 'string').length).toBeGreaterThan(5)
    expect(counted).toEqual({ points: pairs.length - strange.length, malformed: strange.length })
  })

  it('unmeasuredValue is null among the values, and the truth counts the others', async () => {
    const { values, counted } = await metricsOf(odd({ malformedValue: 0.05, unmeasuredValue: 0.05 }))
    const numbers = values.filter(value => typeof value === 'number')
    const words = values.filter(value => typeof value === 'string')
    expect(values.filter(value => value === null).length).toBeGreaterThan(10)
    expect(counted).toEqual({ points: numbers.length, malformed: words.length })
  })

  it.each([
    ['heavySessions', 'sessions'],
    ['heavyMetrics', 'metrics'],
  ] as const)(
    '%s is a second that makes each answer a large one that tells of it',
    async (quirk, endpoint) => {
      const stage = odd({ [quirk]: 1 })
      const range = { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 2 * hour }
      const [call] = await searchAll(stage, range)
      const { call_id, start_ts, end_ts } = frameOf(call!)
      const { heavy } = [...stage.sandbox.analytics('demo').calls()].find(({ callId }) => callId === call_id)!
      const { at: second, sid } = heavy!
      const isLarge = async (from: number, to: number) => {
        await stage.ask(endpoint, { call_id, start_ts: from, end_ts: to, ...(sid && { sids: sid }) })
        const { arrivals } = stage.sandbox
        return arrivals.list(arrivals.count - 1, 1)[0]!.fault === 'weighty'
      }
      expect(await isLarge(start_ts, end_ts)).toBe(true)
      expect(await isLarge(second, second)).toBe(true)
      expect(await isLarge(start_ts, second - 1)).toBe(false)
      expect(await isLarge(second + 1, end_ts)).toBe(false)
    },
  )

  it('cutSessions is a call of whose sessions the first page alone is served', async () => {
    const stage = odd({ cutSessions: 1 })
    const range = { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 2 * hour }
    const [call] = await searchAll(stage, range)
    const page = (page_no: number) => stage.ask('sessions', { ...frameOf(call!), page_no, page_size: 2 })
    expect((await page(1)).body.call_info).toHaveLength(2)
    expect([(await page(2)).status, stage.violations().parameters ?? 0]).toEqual([400, 0])
  })

  it('strangeEntry is a value of real time in no shape that can be read, of which it can be told which it is', async () => {
    const stage = odd({ strangeEntry: 0.5 })
    const end = Math.floor(stage.now() / 20) * 20 - 120
    const question = { productType: 'Native', metric: 'userCount', startTs: end - 1_200, endTs: end }
    const { data } = (await stage.ask('realtime-usage', question)).body as unknown as {
      data: readonly object[]
    }
    const strange = data.filter(entry => {
      const { ts, userCount } = entry as Readonly<Record<string, unknown>>
      return typeof ts !== 'number' || typeof userCount !== 'number'
    })
    expect(strange.length).toBeGreaterThan(10)
    expect(strange.length).toBeLessThan(data.length - 10)
    const words = ['Native', 'userCount', '', '']
    const asked = { operation: 'realtimeUsage', words, time: stage.sandbox.universe.now() }
    const times = Array.from({ length: 60 }, (_, n) => end - 1_200 + n * 20)
    const told = times.filter(at => stage.sandbox.analytics('demo').strangeness(asked, at))
    expect(strange.map(entry => Number(/\d{10}/.exec(JSON.stringify(entry))?.[0]))).toEqual(told)
  })

  it('vanishingSid is a session that is listed and has no metrics', async () => {
    const { sids, metrics, values, counted } = await metricsOf(odd({ vanishingSid: 0.5 }))
    expect(metrics.length).toBeGreaterThan(0)
    expect(metrics.length).toBeLessThan(sids.length)
    expect(counted.points).toBe(values.length)
  })

  it('is off by default', async () => {
    const stage = odd({})
    const found = await searchAll(stage, { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 61 })
    expect(found.every(({ created_ts, destroyed_ts }) => destroyed_ts >= created_ts)).toBe(true)
    const { metrics, values, sids } = await metricsOf(stage)
    expect(metrics.length).toBe(sids.length)
    expect(values.every(Number.isFinite)).toBe(true)
  })
})

describe('the truth of calls', () => {
  it('is a line for each call that has begun, with its sessions, as they are and as they are served', async () => {
    const stage = playAnalytics({ profile: quiet, switches: real })
    const lines = stage.linesOf('call')
    expect(lines.length).toBe(stage.sandbox.status().apps[0]!.calls)
    const line = lines.find(
      ({ call }) => call.item.finished && call.createdAt > (stage.now() - 5 * hour) * 1_000,
    )!
    await stage.clock.advance(600_000)
    const { created_ts, destroyed_ts } = line.call.item
    const [found] = (await stage.ask('search', { start_ts: created_ts, end_ts: created_ts })).body.call_lists
    expect(found).toEqual(line.call.item)
    const asked = { call_id: line.call.callId, start_ts: created_ts, end_ts: destroyed_ts }
    const listed = (await stage.ask('sessions', { ...asked, exclude_server_user: 'false' })).body.call_info
    expect(listed.toReversed()).toEqual(line.call.sessions.map(({ item }) => item))
    expect([line.app, line.roomUuid, line.incarnation]).toEqual(['demo', line.call.cname, 0])
    const { text } = await stage.get('/control/truth', {})
    expect(text.split('\n')).toContain(
      truthJson(stage.linesOf('call').find(one => one.call.callId === line.call.callId)!),
    )
  })

  it('is asked for single values by name over HTTP', async () => {
    const stage = playAnalytics({ profile: quiet })
    const truth = stage.sandbox.analytics('demo')
    const control = async (query: string) => {
      const { status, text } = await stage.get(`/control/analytics/${query}`, {})
      return [status, JSON.parse(text)]
    }
    const { callId } = [...truth.calls()][0]!
    const ts = Math.floor(stage.now() / hour) * hour - 20 * hour
    expect(await control(`points?app=demo&call_id=${callId}`)).toEqual([200, { value: truth.points(callId) }])
    expect(await control('points?app=demo&call_id=none')).toEqual([200, { value: null }])
    expect(await control(`usage?app=demo&metric=totalDuration&granularity=hour&ts=${ts}`)).toEqual([
      200,
      { value: truth.usage('totalDuration', 'hour', ts) },
    ])
    const series = { product: 'Native', metric: 'networkDelay', granularity: 'minute' } as const
    expect(
      await control(`quality?app=demo&product=Native&metric=networkDelay&granularity=minute&ts=${ts}`),
    ).toEqual([200, { value: truth.quality(series, ts) }])
    expect(await control(`realtime-usage?app=demo&product=Native&metric=userCount&ts=${ts}`)).toEqual([
      200,
      { value: truth.realtimeUsage({ product: 'Native' }, 'userCount', ts) },
    ])
    expect(
      await control(`realtime-quality?app=demo&product=Native&metric=audioFreezeRate&cname=x&uid=4&ts=${ts}`),
    ).toEqual([200, { value: null }])
    expect((await control(`usage?app=demo&metric=tea&granularity=hour&ts=${ts}`))[0]).toBe(400)
    expect((await control('points?app=nobody&call_id=x'))[0]).toBe(404)
    expect(stage.sandbox.arrivals.count).toBe(0)
  })

  it('has no app that there is not', () => {
    expect(() => playAnalytics({ profile: quiet }).sandbox.analytics('nobody')).toThrow(
      'the sandbox has no app nobody',
    )
  })
})

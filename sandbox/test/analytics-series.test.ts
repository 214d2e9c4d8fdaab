import { describe, expect, it } from 'vitest'
import { type AnalyticsStage, appOf, day, hour, playAnalytics } from './analytics-play.ts'

const noRestatement = { restatement: 'off' } as const
const monday = Date.UTC(2026, 0, 5) / 1_000

interface Entry {
  readonly ts: number
  readonly [metric: string]: number
}

async function ask(
  stage: AnalyticsStage,
  endpoint: 'usage' | 'quality',
  params: object,
): Promise<readonly Entry[]> {
  await stage.clock.advance(20_000)
  const product = endpoint === 'quality' ? { productType: 'Native' } : {}
  const { status, body } = await stage.send(endpoint, { ...product, ...params })
  expect([status, body.code, body.message]).toEqual([200, 200, 'success'])
  return body.data as unknown as readonly Entry[]
}

describe('insights', () => {
  const frame = { startTs: monday - 2 * day, endTs: monday - day }

  it('by hour of 24 hours are 25 entries, one an hour from the beginning to the end', async () => {
    const stage = playAnalytics()
    for (const endpoint of ['usage', 'quality'] as const) {
      const metric = endpoint === 'usage' ? 'userCount' : 'networkDelay'
      const data = await ask(stage, endpoint, { ...frame, metric, aggregateGranularity: '1h' })
      expect(data.map(({ ts }) => ts)).toEqual(Array.from({ length: 25 }, (_, n) => frame.startTs + n * hour))
      expect(data.every(entry => typeof entry[metric] === 'number')).toBe(true)
      expect(data.every(entry => Object.keys(entry).length === 2)).toBe(true)
    }
  })

  it('by day begin at midnight UTC, wherever in a day the frame begins', async () => {
    const stage = playAnalytics()
    const asked = { startTs: monday - 2 * day + 5, endTs: monday - 6 * hour, metric: 'userCount' }
    const data = await ask(stage, 'usage', { ...asked, aggregateGranularity: '1d' })
    expect(data.map(({ ts }) => ts)).toEqual([monday - 2 * day, monday - day])
  })

  it('by minute exist of quality alone', async () => {
    const stage = playAnalytics()
    const asked = { startTs: frame.startTs, endTs: frame.startTs + 300, aggregateGranularity: '1m' }
    expect((await ask(stage, 'quality', { ...asked, metric: 'audioFreezeRate' })).length).toBe(6)
    const { body } = await stage.send('usage', { ...asked, metric: 'userCount' })
    expect([body.code, body.message]).toEqual([400, 'invalid parameters: aggregateGranularity'])
  })

  it.each([
    ['usage', { metric: 'videoFreezeRate' }, 'metric'],
    ['usage', { metric: undefined }, 'metric'],
    ['usage', { aggregateGranularity: 'hour' }, 'aggregateGranularity'],
    ['quality', { metric: 'userCount' }, 'metric'],
    ['quality', { productType: 'Toaster' }, 'productType'],
    ['quality', { productType: undefined }, 'productType'],
    ['quality', { aggregateGranularity: '5m' }, 'aggregateGranularity'],
    ['quality', { startTs: undefined }, 'startTs'],
  ] as const)('of %s with %j answer code 400', async (endpoint, wrong, name) => {
    const stage = playAnalytics()
    const metric = endpoint === 'usage' ? 'userCount' : 'videoFreezeRate'
    const asked = { ...frame, metric, aggregateGranularity: '1h', productType: 'Native', ...wrong }
    const { status, body } = await stage.ask(endpoint, asked)
    expect([status, body.code, body.message]).toEqual([400, 400, `invalid parameters: ${name}`])
  })

  it('know every metric and product that services of this kind have', async () => {
    const stage = playAnalytics({ apps: [appOf('enterprise')] })
    const usage = [
      ...['userCount', 'sessionCount', 'channelCount', 'peakCurrentChannels', 'peakCurrentUsers'],
      ...['totalDuration', 'totalVideoDuration', 'totalAudioDuration'],
    ]
    for (const metric of usage) {
      const data = await ask(stage, 'usage', { ...frame, metric, aggregateGranularity: '1d' })
      expect(data[0]![metric], metric).toBeGreaterThan(0)
    }
    const quality = [
      ...['joinSuccessRate', 'joinSuccessIn5sRate', 'audioFreezeRate', 'videoFreezeRate', 'networkDelay'],
    ]
    for (const metric of quality) {
      const data = await ask(stage, 'quality', { ...frame, metric, aggregateGranularity: '1h' })
      expect(data.every(({ [metric]: value }) => value! >= 0 && value! <= 100)).toBe(true)
      expect(new Set(data.map(({ [metric]: value }) => value)).size).toBeGreaterThan(10)
    }
    const web = { ...frame, metric: 'audioFreezeRate', aggregateGranularity: '1h', productType: 'WebRTC' }
    const native = { ...web, productType: 'Native' }
    expect(await ask(stage, 'quality', web)).not.toEqual(await ask(stage, 'quality', native))
  })

  it('of usage follow from the stays of the calls', async () => {
    const stage = playAnalytics({ switches: noRestatement })
    const [from, to] = [monday - 30 * hour, monday - 29 * hour]
    const calls = [...stage.sandbox.analytics('demo').calls()].filter(
      call => call.createdAt < to * 1_000 && call.destroyedAt! > from * 1_000,
    )
    const stays = calls
      .flatMap(({ sessions }) => sessions)
      .map(({ uid, joinedAt, leftAt }) => ({ uid, begin: joinedAt, end: leftAt! }))
      .filter(({ begin, end }) => begin < to * 1_000 && end > from * 1_000)
    const overlap = stays.map(({ begin, end }) => Math.min(end, to * 1_000) - Math.max(begin, from * 1_000))
    const at = (moment: number) =>
      new Set(stays.filter(({ begin, end }) => begin <= moment && moment < end).map(({ uid }) => uid)).size
    const peak = Math.max(...stays.map(({ begin }) => at(Math.max(begin, from * 1_000))))
    const value = async (metric: string) => {
      const asked = { startTs: from, endTs: from, metric, aggregateGranularity: '1h' }
      return (await ask(stage, 'usage', asked))[0]![metric]
    }
    expect(await value('userCount')).toBe(new Set(stays.map(({ uid }) => uid)).size)
    expect(await value('sessionCount')).toBe(stays.length)
    expect(await value('channelCount')).toBe(new Set(calls.map(({ cname }) => cname)).size)
    expect(await value('peakCurrentUsers')).toBe(peak)
    expect(await value('totalDuration')).toBeCloseTo(overlap.reduce((a, b) => a + b, 0) / 60_000, -1)
    expect(await value('totalDuration')).toBe(
      Number(await value('totalVideoDuration')) + Number(await value('totalAudioDuration')),
    )
  })

  it.each([
    ['usage', 'totalDuration', 12],
    ['quality', 'networkDelay', 6],
  ] as const)(
    'of %s are not what they will be while an hour is only partly older than the delay',
    async (endpoint, metric, delay) => {
      const stage = playAnalytics({ switches: noRestatement })
      await stage.clock.advance(1_800_000)
      const ts = Math.floor((stage.now() - delay * hour - 60) / hour) * hour
      const asked = { startTs: ts, endTs: ts, metric, aggregateGranularity: '1h' }
      const [early] = await ask(stage, endpoint, asked)
      await stage.clock.advance(hour * 1_000)
      const [settled] = await ask(stage, endpoint, asked)
      expect(settled![metric]).not.toBe(early![metric])
      await stage.clock.advance(hour * 1_000)
      expect(await ask(stage, endpoint, asked)).toEqual([settled])
    },
  )

  it.each([
    ['usage', 'userCount'],
    ['quality', 'videoFreezeRate'],
  ] as const)(
    'of %s change once, about two days after their time, and then stand',
    async (endpoint, metric) => {
      const stage = playAnalytics()
      const ts = monday - 20 * hour
      const asked = { startTs: ts, endTs: ts, metric, aggregateGranularity: '1h' }
      const read = async (ageHours: number) => {
        await stage.clock.advance((ts + hour + ageHours * hour) * 1_000 - stage.sandbox.universe.now())
        return (await ask(stage, endpoint, asked))[0]![metric]
      }
      const [first, before, after, later] = [await read(28), await read(47), await read(50), await read(200)]
      expect(before).toBe(first)
      expect(after).not.toBe(before)
      expect(later).toBe(after)
      const truth = stage.sandbox.analytics('demo')
      const values = {
        usage: truth.usage('userCount', 'hour', ts),
        quality: truth.quality({ product: 'Native', metric: 'videoFreezeRate', granularity: 'hour' }, ts),
      }
      expect(values[endpoint]).toBe(after)
    },
  )
})

describe('real-time values', () => {
  const native = { productType: 'Native' }

  async function read(stage: AnalyticsStage, endpoint: 'usage' | 'quality', params: object) {
    await stage.clock.advance(20_000)
    const { status, body } = await stage.send(`realtime-${endpoint}`, { ...native, ...params })
    expect([status, Object.keys(body), body.message]).toEqual([200, ['code', 'message', 'data'], 'success'])
    return body.data as unknown as readonly Entry[]
  }

  it('come late, but come, also while nothing happens', async () => {
    const stage = playAnalytics({ switches: { lateValueSeconds: 600 } })
    stage.sandbox.universe.pause()
    const base = Math.floor((stage.now() - 500) / 20) * 20
    const asked = { metric: 'userCount', startTs: base, endTs: base + 400 }
    const early = await read(stage, 'usage', asked)
    await stage.clock.advance(1_200_000)
    const late = await read(stage, 'usage', asked)
    expect([early.length < 20, late.length]).toEqual([true, 20])
  })

  it('have one entry for each window of 20 s from that of the start to before that of the end', async () => {
    const stage = playAnalytics()
    const base = Math.floor((stage.now() - 1_000) / 20) * 20
    for (const [endpoint, metric] of [
      ['usage', 'userCount'],
      ['usage', 'channelCount'],
      ['quality', 'audioFreezeRate'],
    ] as const) {
      for (const [from, to] of [
        [0, 200],
        [7, 200],
        [19, 219],
        [0, 219],
        [10, 210],
      ] as const) {
        const data = await read(stage, endpoint, { startTs: base + from, endTs: base + to, metric })
        expect(data.map(({ ts }) => ts)).toEqual(Array.from({ length: 10 }, (_, n) => base + n * 20))
        expect(data.every(entry => Object.keys(entry).sort().join() === [metric, 'ts'].sort().join())).toBe(
          true,
        )
      }
    }
  })

  it('are those of the window that holds both ends', async () => {
    const stage = playAnalytics()
    const base = Math.floor((stage.now() - 1_000) / 20) * 20
    const data = await read(stage, 'usage', { startTs: base + 5, endTs: base + 15, metric: 'userCount' })
    expect(data.map(({ ts }) => ts)).toEqual([base])
  })

  it('of usage count who is in a call in the window, of the product, in the channel or everywhere', async () => {
    const stage = playAnalytics()
    const ts = Math.floor((stage.now() - 900) / 20) * 20
    const calls = [...stage.sandbox.analytics('demo').calls()]
    const present = calls.flatMap(({ cname, sessions }) =>
      sessions
        .filter(({ joinedAt, leftAt }) => joinedAt < (ts + 20) * 1_000 && (leftAt ?? Infinity) > ts * 1_000)
        .map(({ uid, platform }) => ({ cname, uid, isWeb: platform === 'Web' })),
    )
    const people = (list: typeof present) => new Set(list.map(({ uid }) => uid)).size
    const native = present.filter(({ isWeb }) => !isWeb)
    const { cname } = native[0]!
    const value = async (metric: string, params: object) => {
      const [entry] = await read(stage, 'usage', { startTs: ts, endTs: ts + 20, metric, ...params })
      return entry![metric]
    }
    expect(await value('userCount', {})).toBe(people(native))
    expect(await value('channelCount', {})).toBe(new Set(native.map(one => one.cname)).size)
    expect(await value('userCount', { cname })).toBe(people(native.filter(one => one.cname === cname)))
    expect(await value('userCount', { productType: 'WebRTC' })).toBe(people(present.filter(one => one.isWeb)))
    expect(await value('userCount', { cname: 'nowhere' })).toBe(0)
    expect(stage.sandbox.analytics('demo').realtimeUsage({ product: 'Native' }, 'userCount', ts)).toBe(
      people(native),
    )
  })

  it('of quality are percentages, alike each time, and idle where nobody is', async () => {
    const stage = playAnalytics()
    const end = stage.now() - 60
    const asked = { startTs: end - 2_000, endTs: end, metric: 'videoFreezeRate' }
    const data = await read(stage, 'quality', asked)
    expect(await read(stage, 'quality', asked)).toEqual(data)
    const values = data.map(({ videoFreezeRate }) => videoFreezeRate!)
    expect(values.every(value => value >= 0 && value <= 100)).toBe(true)
    const mean = values.reduce((a, b) => a + b, 0) / values.length
    expect(mean).toBeGreaterThan(0.5)
    expect(mean).toBeLessThan(10)
    const idle = await read(stage, 'quality', { ...asked, cname: 'nowhere' })
    expect(new Set(idle.map(({ videoFreezeRate }) => videoFreezeRate))).toEqual(new Set([0]))
  })

  it('of users are [{uid, values}] with the windows in which each is there', async () => {
    const stage = playAnalytics()
    const end = stage.now() - 60
    const call = [...stage.sandbox.analytics('demo').calls()].findLast(
      ({ createdAt, sessions }) =>
        createdAt < (end - 600) * 1_000 && sessions.some(({ platform }) => platform !== 'Web'),
    )!
    const { uid, joinedAt } = call.sessions.find(({ platform }) => platform !== 'Web')!
    const uids = `${uid},4`
    const asked = { startTs: end - 1_800, endTs: end, metric: 'audioFreezeRate', cname: call.cname, uids }
    const { body } = await stage.ask('realtime-quality', { productType: 'Native', ...asked })
    const data = body.data as unknown as readonly { uid: number; values: readonly Entry[] }[]
    expect(data.map(entry => entry.uid)).toEqual([uid, 4])
    expect(data[1]!.values).toEqual([])
    const { values } = data[0]!
    expect(values.length).toBeGreaterThan(10)
    expect(values.every(({ ts }) => (ts + 20) * 1_000 > joinedAt && ts % 20 === 0)).toBe(true)
    const truth = stage.sandbox.analytics('demo')
    const subject = { product: 'Native', cname: call.cname }
    for (const { ts, audioFreezeRate } of values) {
      expect(truth.realtimeQuality(subject, 'audioFreezeRate', ts, uid)).toBe(audioFreezeRate)
    }
  })

  it.each([
    ['usage', { metric: 'peakCurrentUsers' }, 'metric'],
    ['usage', { productType: undefined }, 'productType'],
    ['quality', { metric: 'userCount' }, 'metric'],
    ['quality', { cname: 'c', uids: '1,2,3,4,5,6,7,8,9,10,11' }, 'uids'],
    ['quality', { cname: 'c', uids: 'ada' }, 'uids'],
    ['quality', { endTs: undefined }, 'endTs'],
  ] as const)('of %s with %j answer code 400', async (endpoint, wrong, name) => {
    const stage = playAnalytics()
    const end = stage.now() - 60
    const metric = endpoint === 'usage' ? 'userCount' : 'networkDelay'
    const asked = { startTs: end - 60, endTs: end, metric, productType: 'Native', ...wrong }
    const { status, body } = await stage.ask(`realtime-${endpoint}`, asked)
    expect([status, body.code, body.message]).toEqual([400, 400, `invalid parameters: ${name}`])
  })
})

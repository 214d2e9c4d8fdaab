import { describe, expect, it } from 'vitest'
import { defaultParameterNames, type ParameterNames } from '../../src/provider/analytics/index.ts'
import { requestLine } from '../../src/provider/operation.ts'
import { configuredStreams, streams } from '../../src/streams/index.ts'
import type { WindowSeries } from '../../src/streams/page.ts'
import type { WindowStream } from '../../src/streams/stream.ts'
import { plainDeployment } from '../support/streams.ts'
import { windowPageOf } from './pages.ts'

/** What a stream asks for with these settings. */
function asked(stream: WindowStream) {
  return (settings: object) => stream.follows({ every: 60_000, allowedLateness: 0, ...settings }).series
}
const usageInsightSeries = asked(streams['usage-insight'])
const qualityInsightSeries = asked(streams['quality-insight'])
const realtimeUsageSeries = asked(streams['realtime-usage'])
const realtimeQualitySeries = asked(streams['realtime-quality'])

const keys = (series: readonly WindowSeries[]) => series.map(({ key }) => key)
const bounds = { start: 1_767_225_600, end: 1_767_312_000 }

function target(stream: WindowStream, series: WindowSeries): string {
  return requestLine(stream.operation, stream.request('a1', series, bounds, 1)).target
}

const others: ParameterNames = {
  parameters: {
    ...defaultParameterNames.parameters,
    startTs: 'from',
    metric: 'metrics',
    productType: 'kind',
  },
  granularities: { minute: '60s', hour: '3600s', day: '86400s' },
}

function configured(name: WindowStream['name']): WindowStream {
  const found = configuredStreams({ ...plainDeployment, words: others }).find(stream => stream.name === name)
  if (found?.kind !== 'window') throw new Error(`${name} is no window stream`)
  return found
}

describe('the series of usage insights', () => {
  const series = usageInsightSeries({
    metrics: ['userCount', 'totalDuration'],
    granularities: ['hour', 'day'],
  })

  it('are one for each metric and granularity', () => {
    expect(keys(series)).toEqual([
      'userCount/hour',
      'userCount/day',
      'totalDuration/hour',
      'totalDuration/day',
    ])
    expect(series.map(({ step }) => step)).toEqual([3_600, 86_400, 3_600, 86_400])
  })

  it('are asked for in the words that are known from elsewhere', () => {
    expect(target(streams['usage-insight'], series[1]!)).toBe(
      '/beta/insight/usage/by_time?startTs=1767225600&endTs=1767312000&appid=a1&metric=userCount&aggregateGranularity=1d',
    )
  })

  it('are asked for in the words of a deployment', () => {
    expect(target(configured('usage-insight'), series[0]!)).toBe(
      '/beta/insight/usage/by_time?from=1767225600&endTs=1767312000&appid=a1&metrics=userCount&aggregateGranularity=3600s',
    )
  })
})

describe('the series of quality insights', () => {
  const series = qualityInsightSeries({
    products: ['Native', 'WebRTC'],
    metrics: ['networkDelay'],
    granularities: ['minute', 'day'],
  })

  it('are one for each product, metric and granularity', () => {
    expect(keys(series)).toEqual([
      'Native/networkDelay/minute',
      'Native/networkDelay/day',
      'WebRTC/networkDelay/minute',
      'WebRTC/networkDelay/day',
    ])
    expect(series.map(({ step }) => step)).toEqual([60, 86_400, 60, 86_400])
  })

  it('are asked for in the words of a deployment', () => {
    const asked = '/beta/insight/quality/by_time?'
    expect(target(streams['quality-insight'], series[2]!)).toBe(
      `${asked}startTs=1767225600&endTs=1767312000&appid=a1&metric=networkDelay&aggregateGranularity=1m&productType=WebRTC`,
    )
    expect(target(configured('quality-insight'), series[2]!)).toBe(
      `${asked}from=1767225600&endTs=1767312000&appid=a1&metrics=networkDelay&aggregateGranularity=60s&kind=WebRTC`,
    )
  })
})

describe('the series of real-time usage', () => {
  const series = realtimeUsageSeries({
    products: ['Native'],
    metrics: ['userCount', 'channelCount'],
    channels: ['algebra/7b'],
  })

  it('are of the whole project and of each channel, in windows of 20 seconds', () => {
    expect(keys(series)).toEqual([
      'Native/userCount',
      'Native/userCount/algebra%2F7b',
      'Native/channelCount',
      'Native/channelCount/algebra%2F7b',
    ])
    expect(new Set(series.map(({ step }) => step))).toEqual(new Set([20]))
  })

  it('name the channel where there is one', () => {
    const asked = '/beta/realtime/usage/by_time_20sec?startTs=1767225600&endTs=1767312000&appid=a1'
    expect(target(streams['realtime-usage'], series[0]!)).toBe(`${asked}&productType=Native&metric=userCount`)
    expect(target(streams['realtime-usage'], series[1]!)).toBe(
      `${asked}&productType=Native&cname=algebra%2F7b&metric=userCount`,
    )
  })

  it('are never one and the same, whatever channels are called', () => {
    const channels = ['a', 'a/b', 'a%2Fb', 'b', 'a b', 'ä', '']
    const many = realtimeUsageSeries({ products: ['N', 'N/x'], metrics: ['m', 'x/m'], channels })
    expect(new Set(keys(many)).size).toBe(many.length)
    expect(many).toHaveLength(2 * 2 * (1 + channels.length))
  })
})

describe('the series of real-time quality', () => {
  const settings = {
    products: ['Native'],
    metrics: ['audioFreezeRate'],
    channels: ['algebra-7b'],
    uids: ['7', '12', '7'],
    usersOf: 'channels',
  } as const

  it('add one of the users in each channel', () => {
    const series = realtimeQualitySeries(settings)
    expect(keys(series)).toEqual([
      'Native/audioFreezeRate',
      'Native/audioFreezeRate/algebra-7b',
      'Native/audioFreezeRate/algebra-7b/12%2C7',
    ])
    expect(target(streams['realtime-quality'], series[2]!)).toBe(
      '/beta/realtime/quality/by_time_20sec?startTs=1767225600&endTs=1767312000&appid=a1&productType=Native&cname=algebra-7b&metric=audioFreezeRate&uids=12%2C7',
    )
  })

  it('stay the same when the users are named in another order', () => {
    expect(realtimeQualitySeries({ ...settings, uids: ['12', '7'] })).toEqual(realtimeQualitySeries(settings))
  })

  it('promise a value for each window of all users, but not of single ones', () => {
    expect(realtimeQualitySeries(settings).map(({ expects }) => expects)).toEqual(['each', 'each', undefined])
  })

  it('have received what has a value: neither a null nor what lies outside the window', () => {
    const [series] = realtimeQualitySeries(settings)
    const from = 1_767_225_600
    const items = [0, 20, 40, 60].map(second => ({
      ts: from + second,
      audioFreezeRate: second === 20 ? null : 1,
    }))
    const page = { series: series!, range: { from, to: from + 60 }, number: 1, items, hasMore: false }
    const { received } = streams['realtime-quality'].toRows({
      ...page,
      ...{ now: from + 100, receivedAt: 0, details: undefined },
    })
    expect(received).toEqual([from, from + 40])
  })

  it('take a time that nothing is told of for one that has no value, of the project and of users', () => {
    const [series] = realtimeQualitySeries(settings)
    const range = { from: 1_767_225_600, to: 1_767_225_660 }
    const items = [{ ts: range.from, audioFreezeRate: 1 }, { ts: range.from + 20 }]
    const read = (one: WindowSeries, items: readonly object[]) =>
      streams['realtime-quality'].toRows(windowPageOf({ series: one, range, items }))
    expect(read(series!, items)).toMatchObject({ rejects: [], received: [range.from] })
    const users = realtimeQualitySeries(settings).at(-1)!
    expect(read(users, [{ uid: 7, values: items }])).toMatchObject({ rejects: [] })
    // A value may stand there, and cannot be read.
    expect(read(series!, [{ ts: range.from, rate: '1 %' }]).rejects).toHaveLength(1)
    expect(read(series!, [{ ts: range.from, userCount: 1 }]).rejects).toHaveLength(1)
  })

  it('have no users without a channel, unless users of the whole project are wanted', () => {
    const series = (parts: object) => realtimeQualitySeries({ ...settings, channels: [], ...parts })
    expect(keys(series({}))).toEqual(['Native/audioFreezeRate'])
    const [, users] = series({ usersOf: 'project' })
    expect(target(streams['realtime-quality'], users!)).toBe(
      '/beta/realtime/quality/by_time_20sec?startTs=1767225600&endTs=1767312000&appid=a1&productType=Native&metric=audioFreezeRate&uids=12%2C7',
    )
    expect(keys(realtimeQualitySeries({ ...settings, usersOf: 'project' }))).toHaveLength(3)
  })

  it('ask for users in batches of ten', () => {
    const uids = Array.from({ length: 23 }, (_, n) => String(10 + n))
    const batches = realtimeQualitySeries({ ...settings, uids }).flatMap(({ ask }) => ask.uids ?? [])
    expect(batches.map(batch => batch.split(',').length)).toEqual([10, 10, 3])
    expect(batches.join()).toBe(uids.join())
  })
})

it('what the settings name twice is asked for once', () => {
  expect(usageInsightSeries({ metrics: ['a', 'a'], granularities: ['day', 'day'] })).toHaveLength(1)
})

it('an answer of a series is its data, and nothing else passes for one', () => {
  for (const name of ['usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality'] as const) {
    expect(streams[name].read({ code: 200, message: null, data: [1] })).toEqual({
      items: [1],
      hasMore: false,
    })
    expect(() => streams[name].read({ code: 200, message: null, data: {} })).toThrow()
  }
})

it('a deployment changes how streams are asked, never which there are', () => {
  const deployment = { ...plainDeployment, words: others }
  for (const widgetPath of ['without-region', 'with-region'] as const) {
    const names = configuredStreams({ ...deployment, widgetPath }).map(({ name }) => name)
    expect(names).toEqual(Object.keys(streams))
  }
  const behind = configuredStreams({ ...deployment, widgetPath: 'with-region' })
  const paths = behind.filter(({ operation }) => operation.path.includes('{region}')).map(({ name }) => name)
  const plain = Object.values(streams).filter(({ operation }) => operation.path.includes('{region}'))
  expect(paths).toEqual(expect.arrayContaining(['popup-quiz', 'poll']))
  expect(paths).toHaveLength(plain.length + 2)
})

it('an app that wants no servers is asked for none', () => {
  const [sessions] = configuredStreams({
    ...plainDeployment,
    settingsOf: (app, { settings }) =>
      settings.parse({ serverUsers: app === 'a1' ? 'exclude' : 'include' }) as never,
  }).filter(({ name }) => name === 'call-sessions')
  if (sessions?.kind !== 'substream') throw new Error('call-sessions is no detail stream')
  const item = { stream: 'call-sessions', key: 'c', part: '0', from: 1, to: 2, ask: null } as const
  expect(sessions.request('a1', item, 1)).toMatchObject({ exclude_server_user: true })
  expect(sessions.request('a2', item, 1)).toMatchObject({ exclude_server_user: false })
})

describe('real-time values of single users', () => {
  const range = { from: 1_767_225_600, to: 1_767_225_660 }
  const ask = { productType: 'Native', metric: 'networkDelay', cname: 'algebra-7b', uids: '7,12' }
  const read = (items: readonly object[]) =>
    streams['realtime-quality'].toRows(windowPageOf({ series: { key: 'k', ask, step: 20 }, range, items }))
  const good = { uid: 12, values: [{ ts: range.from, networkDelay: 3 }] }

  it('leave their window open where one of them cannot be read, for none is promised that would be missed', () => {
    const bad = { uid: 7, values: [{ ts: range.from * 1_000, networkDelay: 1 }] }
    const { rows, rejects, isUncertain } = read([bad, good])
    expect(rows['analytics.quality_realtime']).toMatchObject([{ uid: '12', value: 3 }])
    expect(rejects).toHaveLength(1)
    expect(isUncertain).toBe(true)
  })

  it('are none of a user who has none', () => {
    for (const values of [[], null]) {
      const { rows, rejects, isUncertain } = read([{ uid: 7, values }, good])
      expect(rows['analytics.quality_realtime']).toHaveLength(1)
      expect(rejects).toEqual([])
      expect(isUncertain).not.toBe(true)
    }
  })
})

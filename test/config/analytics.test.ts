import { describe, expect, it } from 'vitest'
import { offTexts, streamsOn } from '../../src/config/availability.ts'
import type { Config } from '../../src/config/config.ts'
import { allowanceOf } from '../../src/config/limits.ts'
import { loadConfig, readConfig } from '../../src/config/load.ts'

const path = new URL('good/analytics.yaml', import.meta.url).pathname
const { provider, apps, retention, ...config } = await loadConfig(path, { env: {} })
const [own, starter, keyless] = apps as [
  Config['apps'][number],
  Config['apps'][number],
  Config['apps'][number],
]
const whole: Config = { ...config, provider, apps, retention }

const analyticsOn = (config: Config, app: Config['apps'][number]) =>
  streamsOn(config, app)
    .filter(({ operation }) => operation.family === 'analytics')
    .map(({ name }) => name)

async function appOf(plan: string, limits = '{}') {
  const text = `
provider:
  classroom: { url: https://x.example }
  analytics: { url: https://x.example }
apps:
  - id: a
    region: ap
    plan: ${plan}
    classroom: { uid: u, token: t }
    rest: { key: k, secret: s }
    limits: ${limits}`
  const { apps } = await readConfig(text, { name: 'text', env: {}, folder: '/' })
  return apps[0]!
}

describe('the call analytics service', () => {
  it('has defaults for all but its address', async () => {
    const text = `
provider: { classroom: { url: "https://x.example" }, analytics: { url: "https://y.example" } }
apps: [{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }]`
    const { provider } = await readConfig(text, { name: 'text', env: {}, folder: '/' })
    expect(provider.analytics).toEqual({
      url: 'https://y.example',
      deadline: 30_000,
      maxBodyBytes: 16_777_216,
      insecure: false,
      counters: 'credential',
      limits: 'joint',
      parameters: {
        startTs: 'startTs',
        endTs: 'endTs',
        appid: 'appid',
        metric: 'metric',
        aggregateGranularity: 'aggregateGranularity',
        productType: 'productType',
        cname: 'cname',
        uids: 'uids',
      },
      granularities: { minute: '1m', hour: '1h', day: '1d' },
    })
  })

  it('may use other words for parameters and granularities', () => {
    expect(provider.analytics).toMatchObject({
      counters: 'app',
      parameters: { metric: 'metricName', startTs: 'startTs' },
      granularities: { minute: '60s', hour: '1h' },
    })
  })
})

describe('streams of call analytics', () => {
  it('are laid over each other setting by setting, and a list replaces a list', () => {
    expect(own.streams.calls).toEqual({ every: 120_000, allowedLateness: 1_800_000, revisitEvery: 600_000 })
    expect(own.streams['realtime-quality']).toEqual({
      every: 300_000,
      products: ['Native'],
      metrics: ['networkDelay'],
      channels: ['math', 'art', 'é'.repeat(32)],
      uids: ['7', '8'],
      usersOf: 'channels',
    })
  })

  it('ask for the channels that are named, or for whichever something goes on in', () => {
    expect(own.streams['realtime-usage']).toMatchObject({ channels: 'live' })
  })

  it('come with what is expected of the calls, and with what may be lost', () => {
    expect(own.expect).toEqual({ callsPerDay: 200, usersPerCall: 25, callMinutes: 45 })
    expect(own.acceptLoss).toEqual(['call-metrics', 'realtime-quality'])
    expect(starter).toMatchObject({ expect: undefined, acceptLoss: [] })
  })

  it('keep their rows as long as the file says, or for ever', () => {
    expect(retention).toEqual({
      session_series: 30 * 86_400_000,
      usage_realtime: 'forever',
      quality_realtime: 'forever',
      dead_letter: 90 * 86_400_000,
      notification: 90 * 86_400_000,
      cloud_player_change: 400 * 86_400_000,
      classroom: 400 * 86_400_000,
      calls: 400 * 86_400_000,
    })
  })
})

describe('what may be asked of a limit group', () => {
  const day = 86_400
  it.each([
    [
      'standard',
      'call-search',
      [
        [1, 1],
        [1_000, day],
      ],
      3 * day,
      8 * 3_600,
      60,
    ],
    [
      'premium',
      'call-search',
      [
        [3, 1],
        [2_000, day],
      ],
      7 * day,
      16 * 3_600,
      60,
    ],
    [
      'enterprise',
      'call-details',
      [
        [10, 1],
        [10_000, day],
      ],
      15 * day,
      6 * 3_600,
      300,
    ],
    [
      'premium',
      'usage-insight',
      [
        [3, 60],
        [40, day],
      ],
      14 * day,
      3 * day,
      12 * 3_600,
    ],
    [
      'premium',
      'quality-insight',
      [
        [3, 60],
        [40, day],
      ],
      14 * day,
      3 * day,
      6 * 3_600,
    ],
    [
      'enterprise',
      'realtime',
      [
        [10, 60],
        [1_440, day],
      ],
      3_600,
      3_600,
      20,
    ],
  ] as const)(
    'is what the document says of the plan %s: %s',
    async (plan, group, rates, availableData, timeFrame, delay) => {
      expect(allowanceOf(await appOf(plan), group)).toEqual({
        rates: rates.map(([requests, window]) => ({ requests, window })),
        ...{ availableData, timeFrame, dataDelay: delay },
      })
    },
  )

  it.each([
    ['starter', 'call-search'],
    ['starter', 'realtime'],
    ['standard', 'usage-insight'],
    ['standard', 'quality-insight'],
    ['standard', 'realtime'],
  ] as const)('is nothing where the plan %s has no access: %s', async (plan, group) => {
    expect(allowanceOf(await appOf(plan), group)).toBeUndefined()
  })

  it('is changed number by number, and a rate of another kind comes on top', async () => {
    const app = await appOf('premium', '{ call-search: { perDay: 100, perMinute: 20, timeFrame: 90m } }')
    expect(allowanceOf(app, 'call-search')).toEqual({
      rates: [
        { requests: 3, window: 1 },
        { requests: 20, window: 60 },
        { requests: 100, window: day },
      ],
      ...{ availableData: 7 * day, timeFrame: 5_400, dataDelay: 60 },
    })
  })

  it('can be given to a plan without access by giving every number, from both layers', () => {
    expect(allowanceOf(own, 'realtime')).toEqual({
      rates: [
        { requests: 3, window: 60 },
        { requests: 480, window: day },
      ],
      ...{ availableData: 2_400, timeFrame: 2_400, dataDelay: 40 },
    })
    expect(allowanceOf(own, 'call-search')).toMatchObject({
      rates: [
        { requests: 2, window: 1 },
        { requests: 5_000, window: day },
      ],
      availableData: 10 * day,
    })
  })

  it('stays nothing where the file overrides a few numbers for the apps that have access', () => {
    expect(allowanceOf(starter, 'usage-insight')).toBeUndefined()
    expect(allowanceOf(keyless, 'usage-insight')).toMatchObject({ dataDelay: 3_600 })
  })
})

describe('a stream that cannot be drained', () => {
  it('is off', () => {
    expect(analyticsOn(whole, own)).toEqual([
      ...['calls', 'call-sessions', 'call-metrics', 'realtime-usage', 'realtime-quality'],
    ])
    expect(analyticsOn(whole, starter)).toEqual([])
    expect(analyticsOn(whole, keyless)).toEqual([])
  })

  it('is told of once, with the reason', () => {
    const all =
      'calls, call-sessions, call-metrics, usage-insight, quality-insight, realtime-usage, realtime-quality'
    expect(offTexts(whole)).toEqual([
      'cloud players are off: provider.players.url is not given',
      'app own: usage-insight, quality-insight are off: the plan standard has no access',
      `app starter: ${all} are off: the plan starter has no access`,
      `app keyless: ${all} are off: the app has no rest.key and rest.secret`,
    ])
  })

  it('is told of once for all apps that are alike', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => ({ ...starter, id: `app-${i}` }))
    expect(offTexts({ ...whole, apps: many })).toEqual([
      'cloud players are off: provider.players.url is not given',
      expect.stringMatching(
        /^10000 apps \(app-0, app-1, app-2, \.\.\.\): calls, .* the plan starter has no access$/,
      ),
    ])
  })

  it('is told of once where there is no service at all', () => {
    expect(offTexts({ ...whole, provider: { ...provider, analytics: undefined } })).toEqual([
      'call analytics is off: provider.analytics.url is not given',
      'cloud players are off: provider.players.url is not given',
    ])
  })

  it('is off together with the calls that it works on', () => {
    const details = {
      ...own,
      limits: { ...own.limits, 'call-search': { concurrency: 4 } },
      plan: 'starter',
    } as const
    const limits = {
      perSecond: 1,
      perDay: 9,
      availableData: 86_400_000,
      timeFrame: 3_600_000,
      dataDelay: 0,
      concurrency: 1,
    }
    const app = { ...details, limits: { ...details.limits, 'call-details': limits } }
    expect(analyticsOn(whole, app)).toEqual(['realtime-usage', 'realtime-quality'])
    expect(offTexts({ ...whole, apps: [app] })).toContain(
      'app own: call-sessions, call-metrics are off: the stream calls is off',
    )
  })

  it('is not told of where somebody has switched it off', () => {
    const app = {
      ...own,
      streams: { ...own.streams, 'usage-insight': 'off', 'quality-insight': 'off', 'cloud-players': 'off' },
    } as const
    expect(offTexts({ ...whole, apps: [app] })).toEqual([])
  })
})

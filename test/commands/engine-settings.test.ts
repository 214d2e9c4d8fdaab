import { describe, expect, it } from 'vitest'
import { restOf } from '../../src/commands/app-settings.ts'
import { deploymentOf, engineSettings } from '../../src/commands/engine-settings.ts'
import { clientApps } from '../../src/commands/wiring/client.ts'
import { mixedPlans } from '../../src/commands/wiring/counters.ts'
import { longestPauses, qualityAsked } from '../../src/commands/wiring/parts.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig, readConfig } from '../../src/config/load.ts'
import { appEvents } from '../../src/provider/classroom/index.ts'
import { configuredStreams, streams } from '../../src/streams/index.ts'
import { judge } from '../../src/telemetry/verdict.ts'
import { substreamNames, windowStreamNames } from '../support/streams.ts'

async function settingsOf(text: string) {
  const config = await readConfig(text, { name: 'text', env: {}, folder: '/' })
  return { config, settings: engineSettings(config) }
}

const file = (more: string, app = '', plan = 'premium') => `
provider:
  classroom: { url: https://x.example, deadline: 20s }
  analytics: { url: https://y.example, deadline: 45s }
${more}
apps:
  - { id: a, region: ap, plan: ${plan}, classroom: { uid: u, token: t }, rest: { key: k1, secret: s }${app} }
`
const app = (id: string, key: string) =>
  `  - { id: ${id}, region: ap, plan: premium, classroom: { uid: u, token: t }, rest: { key: ${key}, secret: s } }`

describe('endpoints with one table of limits', () => {
  it.each(['joint', 'split'] as const)('%s: each stream finds the limits of its counter', async limits => {
    const text = file('').replace('deadline: 45s', `limits: ${limits}`)
    const { config, settings } = await settingsOf(text)
    const [app] = settings.apps
    const groupOf = Object.fromEntries(
      configuredStreams(deploymentOf(config)).map(({ name, operation }) => [name, operation.limitGroup]),
    )
    for (const name of [...windowStreamNames, ...substreamNames]) {
      expect(app!.limits[groupOf[name]!]?.range, name).toBeDefined()
    }
    const pairs = [
      [groupOf['call-sessions'], groupOf['call-metrics']],
      [groupOf['realtime-usage'], groupOf['realtime-quality']],
    ]
    for (const [first, second] of pairs) {
      expect(first === second).toBe(limits === 'joint')
      expect(app!.limits[first!]!.range).toBe(app!.limits[second!]!.range)
      expect(app!.limits[first!]).toEqual(app!.limits[second!])
    }
  })
})

describe('what the engine is told of call analytics', () => {
  it('of live channels how many the budget has room for, and the questions about each', async () => {
    const text =
      'streams: { realtime-usage: { channels: live }, realtime-quality: { channels: live, uids: [7] } }'
    const { windows } = (await settingsOf(file(text, '', 'enterprise'))).settings.apps[0]!
    const { 'realtime-usage': usage, 'realtime-quality': quality } = windows
    expect([usage!.live!.most, quality!.live!.most]).toEqual([1, 1])
    expect(usage!.series.map(({ key }) => key)).toEqual(['Native/userCount', 'Native/channelCount'])
    expect(usage!.live!.of('a/b').map(({ key }) => key)).toEqual([
      'Native/userCount/a%2Fb',
      'Native/channelCount/a%2Fb',
    ])
    // Each metric of the channel, and of the user in it.
    expect(quality!.series).toHaveLength(5)
    expect(quality!.live!.of('math').map(({ ask }) => [ask.cname, ask.uids])).toEqual([
      ...Array.from({ length: 5 }, () => ['math', undefined]),
      ...Array.from({ length: 5 }, () => ['math', '7']),
    ])
    const { windows: fixed } = (await settingsOf(file(''))).settings.apps[0]!
    expect(fixed['realtime-usage']!.live).toBeUndefined()
  })

  it('names each group with the documented numbers of the plan, counted in the database', async () => {
    const { limits } = (await settingsOf(file(''))).settings.apps[0]!
    expect(Object.keys(limits)).toEqual([
      ...['classroom', 'classroom-feed', 'call-search', 'call-details'],
      ...['usage-insight', 'quality-insight', 'realtime'],
    ])
    expect(limits['call-search']).toEqual({
      scope: expect.stringMatching(/^key:[0-9a-f]{16}$/),
      range: { availableData: 604_800, timeFrame: 57_600, dataDelay: 60 },
      rates: [
        { requests: 3, window: 1 },
        { requests: 2_000, window: 86_400 },
      ],
      concurrency: 4,
      counted: 'ledger',
    })
    expect(limits.classroom).toMatchObject({ scope: 'a', counted: 'process' })
    expect(limits['classroom-feed']).toMatchObject({ scope: 'a', counted: 'ledger' })
  })

  it('counts by credential, so that two apps with one key share a counter and the key is not told', async () => {
    const text = file('')
    const { settings } = await settingsOf(`${text}${app('b', 'k1')}\n${app('c', 'k2')}\n`)
    const scopes = settings.apps.map(({ limits }) => limits.realtime!.scope)
    expect(scopes[0]).toBe(scopes[1])
    expect(scopes[2]).not.toBe(scopes[0])
    expect(scopes.join()).not.toContain('k1')
    // sha256 of "k1", computed by another program.
    expect(scopes[0]).toBe('key:6ab9f1eb8f7d3388')
  })

  it('counts by app where the operator says so', async () => {
    const text = file('').replace('deadline: 45s', 'counters: app')
    const { settings } = await settingsOf(`${text}${app('b', 'k1')}\n`)
    expect(settings.apps.map(({ limits }) => limits['call-search']!.scope)).toEqual(['a', 'b'])
  })

  it('asks one question for each metric, product, granularity and channel', async () => {
    const { windows } = (
      await settingsOf(
        file(`streams:
  quality-insight: { granularities: [minute, day], metrics: [networkDelay], products: [Native, WebRTC] }
  realtime-usage: { metrics: [userCount], channels: [math] }
  realtime-quality: { metrics: [networkDelay], channels: [math], uids: [7, 8] }`),
      )
    ).settings.apps[0]!
    const counts = Object.entries(windows).map(([name, { series }]) => [name, series.length])
    // 8 metrics by hour and day; 2 products by minute and day; whole project and channel; and the users of it.
    expect(Object.fromEntries(counts)).toEqual({
      calls: 1,
      'usage-insight': 16,
      'quality-insight': 4,
      'realtime-usage': 2,
      'realtime-quality': 3,
    })
    expect(windows['quality-insight']!.series.map(({ step }) => step).toSorted((a, b) => a - b)).toEqual([
      ...[60, 60, 86_400, 86_400],
    ])
  })

  it('gives times in the units of the engine', async () => {
    const { windows, details } = (await settingsOf(file(''))).settings.apps[0]!
    expect(windows.calls).toMatchObject({
      ...{ every: 60_000, allowedLateness: 3_600, revisitEvery: 600_000, frame: 'needed' },
    })
    expect(windows['usage-insight']).toMatchObject({
      every: 21_600_000,
      allowedLateness: 216_000,
      frame: 'full',
    })
    expect(windows['realtime-quality']).toMatchObject({ every: 300_000, allowedLateness: 0, frame: 'full' })
    expect(details).toEqual({
      'call-sessions': { every: 0, concurrency: 4 },
      'call-metrics': { every: 0, concurrency: 4 },
    })
  })

  it('leaves out what the plan has no access to, and what is off', async () => {
    const { settings } = await settingsOf(file('', ', streams: { call-metrics: off }', 'standard'))
    const { windows, details, limits } = settings.apps[0]!
    expect(Object.keys(windows)).toEqual(['calls'])
    expect(Object.keys(details)).toEqual(['call-sessions'])
    expect(Object.keys(limits)).not.toContain('realtime')
    expect(limits['call-details']!.rates).toEqual([
      { requests: 1, window: 1 },
      { requests: 1_000, window: 86_400 },
    ])
  })

  it('is nothing where there is no service', async () => {
    const path = new URL('../config/good/short.yaml', import.meta.url).pathname
    const [only] = engineSettings(await loadConfig(path, { env: {} })).apps
    expect(only).toMatchObject({ windows: {}, details: {} })
    expect(Object.keys(only!.limits)).toEqual(['classroom', 'classroom-feed'])
    expect(Object.keys(only!.streams)).toHaveLength(6)
  })

  it('waits for the slower of the two services', async () => {
    expect((await settingsOf(file(''))).settings.deadline).toBe(45_000)
  })

  it('asks for servers where the app wants them', async () => {
    const { config } = await settingsOf(file('streams: { call-sessions: { serverUsers: exclude } }'))
    const deployment = deploymentOf(config)
    const said = ['a', 'somebody else'].map(app => deployment.settingsOf(app, streams['call-sessions']))
    expect(said).toEqual([
      { every: 0, serverUsers: 'exclude' },
      { every: 0, serverUsers: 'include' },
    ])
    expect(deployment.words.granularities).toEqual({ minute: '1m', hour: '1h', day: '1d' })
  })
})

describe('the real-time values whose age is told', () => {
  it('are those of whole projects, of the apps that this process owns', async () => {
    const all = Object.values(streams)
    const asked = '{ products: [Native, WebRTC], metrics: [networkDelay], channels: [algebra] }'
    const { settings } = await settingsOf(file(`streams: { realtime-quality: ${asked} }`))
    expect(qualityAsked(all, settings.apps, [])).toEqual([])
    expect(qualityAsked(all, settings.apps, ['a', 'b'])).toEqual([
      { app: 'a', product: 'Native', metric: 'networkDelay' },
      { app: 'a', product: 'WebRTC', metric: 'networkDelay' },
    ])
    const standard = await settingsOf(file('', '', 'standard'))
    expect(qualityAsked(all, standard.settings.apps, ['a'])).toEqual([])
  })
})

it('the feed of an app is told how long the provider remembers a room, so that it may slow down', async () => {
  const { settings } = await settingsOf(file(''))
  expect(settings.apps[0]!.streams['app-events']).toMatchObject({
    ...{ activeEvery: 2_000, idleEvery: 30_000, memory: 45 * 60_000 },
  })
})

describe('what the engine is told of cloud players', () => {
  const path = new URL('../config/good/players.yaml', import.meta.url).pathname
  const load = () => loadConfig(path, { env: {} })

  it('reads the list one at a time, as often as the app says, where the app has a key', async () => {
    const { apps } = engineSettings(await load())
    expect(apps.map(({ streams }) => streams['cloud-players'])).toEqual([
      { activeEvery: 60_000, idleEvery: 60_000, memory: 0, concurrency: 1 },
      { activeEvery: 20_000, idleEvery: 20_000, memory: 0, concurrency: 1 },
      ...[undefined, undefined],
    ])
  })

  it('names each group with the documented numbers, whatever the plan, counted in the database', async () => {
    const [own, , keyless] = engineSettings(await load()).apps
    expect(own!.limits).toMatchObject({
      'players-create': { scope: 'own', rates: [{ requests: 2, window: 1 }], counted: 'ledger' },
      'players-create-unnamed': { rates: [{ requests: 50, window: 1 }] },
      'players-delete': { rates: [{ requests: 100, window: 1 }] },
      'players-list': {
        rates: [
          { requests: 2, window: 1 },
          { requests: 12, window: 60 },
        ],
      },
      'players-list-all': {
        rates: [
          { requests: 4, window: 1 },
          { requests: 20, window: 60 },
        ],
      },
    })
    expect(Object.keys(keyless!.limits)).toEqual(['classroom', 'classroom-feed'])
  })

  it('counts by credential unless the operator says otherwise', async () => {
    const { provider, ...config } = await load()
    const players = { ...provider.players!, counters: 'credential' as const }
    const { apps } = engineSettings({ ...config, provider: { ...provider, players } })
    const scopes = apps.flatMap(({ limits }) => limits['players-list']?.scope ?? [])
    expect(scopes).toEqual(Array(3).fill(expect.stringMatching(/^key:[0-9a-f]{16}$/)))
    expect(new Set(scopes).size).toBe(1)
  })

  it('holds apps of one credential to the strictest of their limits', async () => {
    const { provider, ...config } = await load()
    const countedBy = (counters: 'credential' | 'app'): Config => {
      return { ...config, provider: { ...provider, players: { ...provider.players!, counters } } }
    }
    const rates = (counters: 'credential' | 'app') => {
      const { apps } = engineSettings(countedBy(counters))
      return apps.flatMap(({ limits }) => [limits['players-list-all']?.rates[0]?.requests ?? []].flat())
    }
    expect(rates('app')).toEqual([4, 10, 10])
    expect(rates('credential')).toEqual([4, 4, 4])
    expect(mixedPlans(countedBy('app'))).toEqual([])
    expect(mixedPlans(countedBy('credential'))).toEqual([
      expect.stringMatching(
        /^3 apps .* players-list-all \(4 a second, 20 a minute\); .* provider\.players\.counters: app$/,
      ),
    ])
  })

  it('has the limits read as the operator says, and waits for the slowest service', async () => {
    const config = await load()
    expect(deploymentOf(config).playerLimits).toBe('split')
    const players = { ...config.provider.players!, deadline: 90_000 }
    expect(engineSettings({ ...config, provider: { ...config.provider, players } }).deadline).toBe(90_000)
  })
})

it('players that are listed every quarter of an hour are not called silent in between', async () => {
  const { settings } = await settingsOf(`
provider: { players: { url: https://z.example } }
apps: [{ id: a, region: ap, plan: premium, rest: { key: k, secret: s }, streams: { cloud-players: { every: 15m } } }]
`)
  const [app] = settings.apps
  const verdictAfter = (minutes: number) => {
    const streams = [
      {
        ...{ app: 'a', stream: 'cloud-players', open: 1, closed: 0, backlog: 0, oldestSeconds: 0 },
        lastCommit: '2026-03-02T05:00:00Z',
      },
    ]
    const at = new Date(Date.parse('2026-03-02T05:00:00Z') + minutes * 60_000).toISOString()
    const owners = [{ owner: 'other/8/y', shards: 64, expiresAt: at }]
    const told = { at, databaseAwaySince: null, streams, owners }
    return judge(told, (_, stream) => restOf(app!, stream)).state
  }
  expect([verdictAfter(14), verdictAfter(21)]).toEqual(['well', 'behind'])
})

it.each([
  ['15s', []],
  ['15m', [['cloud-players', 900]]],
] as const)('the alert on silence is told of players that are listed every %s: %o', async (every, told) => {
  const { config, settings } = await settingsOf(`
provider: { classroom: { url: https://x.example }, players: { url: https://z.example } }
apps:
  - id: a
    region: ap
    plan: premium
    classroom: { uid: u, token: t }
    rest: { key: k, secret: s }
    streams: { cloud-players: { every: ${every} } }
`)
  const pauses = longestPauses(configuredStreams(deploymentOf(config)), settings.apps)
  expect([...pauses]).toEqual(told)
})

describe('an app in several regions', () => {
  const inRegions = async (regions: string) =>
    (await settingsOf(file('').replace('region: ap', `region: ${regions}`))).config

  it.each([
    ['[eu, ap]', undefined, 'a/eu'],
    ['[eu, ap]', 'ap', 'a/ap'],
    ['eu', undefined, 'a'],
  ])('%s: what is asked by hand in %s is counted as the daemon does: %s', async (regions, region, scope) => {
    const [client] = clientApps(await inRegions(regions))
    const deployed = client!.deploy(appEvents, region === undefined ? {} : { region })
    expect(deployed).toMatchObject({ limit: { scope } })
  })
})

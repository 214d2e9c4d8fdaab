import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { liveTexts, type Outlook, outlooksOf } from '../../src/commands/forecast/outlook.ts'
import { forecastLines, forecastWarnings } from '../../src/commands/forecast.ts'
import { mixedPlans } from '../../src/commands/wiring/counters.ts'
import type { Config } from '../../src/config/config.ts'
import { readConfig } from '../../src/config/load.ts'
import { penstock } from './penstock.ts'

interface AppText {
  readonly id?: string
  readonly plan?: string
  readonly key?: string
  readonly more?: string
}

function fileOf(streams: string, apps: readonly AppText[], service = ''): string {
  const items = apps.map(
    ({ id = 'school', plan = 'premium', key = 'k', more = '' }) =>
      `  - { id: ${id}, region: ap, plan: ${plan}, classroom: { uid: u, token: t }, rest: { key: ${key}, secret: s }${more} }`,
  )
  return `
provider:
  classroom: { url: https://x.example }
  analytics: { url: https://y.example${service} }
streams: { ${streams} }
apps:
${items.join('\n')}
`
}

function configOf(...parts: Parameters<typeof fileOf>): Promise<Config> {
  return readConfig(fileOf(...parts), { name: 'text', env: {}, folder: '/' })
}

/** Two products: fourteen series of real-time values in one budget of 480 requests a day. */
const fourteen =
  'realtime-usage: { products: [Native, WebRTC] }, realtime-quality: { products: [Native, WebRTC] }'
const both = ['realtime-usage', 'realtime-quality']

describe('a forecast', () => {
  it('tells that fourteen real-time series of the plan premium lose 7 % and what would help', async () => {
    const [outlook] = outlooksOf(await configOf(fourteen, [{}]))
    expect(
      outlook!.losses.map(({ stream, share, accepted }) => [stream, Math.round(share * 100), accepted]),
    ).toEqual(both.map(stream => [stream, 7, false]))
    const text = forecastLines(outlook!).join('\n')
    expect(text).toMatch(/^realtime-quality +10 +2,880 +480 +42 minutes +43 minutes +7 %$/m)
    expect(text).toContain('asked every 42 minutes, of which 39 minutes can be had: 7 % would be lost.')
    expect(text).toContain('The cheapest change: ask for 12 series instead of 14.')
  })

  it('tells how many rows and how much room a day takes, and what retention keeps of it', async () => {
    const more = ', expect: { callsPerDay: 100, usersPerCall: 40, callMinutes: 30 }'
    const streams = 'call-metrics: { select: { mids: [20005, 20011] } }'
    const [outlook] = outlooksOf(await configOf(streams, [{ more }]))
    const text = forecastLines(outlook!).join('\n')
    expect(text).toMatch(/^call_session +4,000 +1.4 MB +400 days +560 MB$/m)
    for (const table of ['call_summary', 'session_summary', 'session_digest', 'call_minute'])
      expect(text).toMatch(new RegExp(`^${table} .* 400 days `, 'm'))
    expect(text).toMatch(/^call +100 +[\d.]+ MB +ever +\d+ MB a year$/m)
    expect(text).toMatch(/^session_series +8,000 +18 MB +90 days +1.6 GB$/m)
    expect(text).toMatch(/^quality_realtime +21,600 +4.5 MB +400 days +1.8 GB$/m)
    expect(text).toMatch(/^all +[\d,]+ +\d+ MB +\d.*GB, and .* a year$/m)
  })

  it('finds nothing lost with the defaults, in any plan that has access', async () => {
    for (const plan of ['starter', 'standard', 'premium', 'enterprise']) {
      const [outlook] = outlooksOf(await configOf('', [{ plan }]))
      expect(outlook!.losses, plan).toEqual([])
    }
  })

  it('says how many calls of the expected kind can be measured in full', async () => {
    const more = ', expect: { callsPerDay: 400, usersPerCall: 50, callMinutes: 30 }'
    const [outlook] = outlooksOf(await configOf('', [{ plan: 'standard', more }]))
    // 1 request for the sessions and 3 for their metrics, of 1,000 a day.
    expect(forecastLines(outlook!).join('\n')).toContain(
      '250 calls a day can be measured in full: a call of 50 users and 30 minutes costs 4 requests.',
    )
    expect(outlook!.losses.map(({ stream, share }) => [stream, share])).toEqual([
      ['call-sessions', 0.375],
      ['call-metrics', 0.375],
    ])
    // Where calls are lost, others wait until just before they are: none of them is there within minutes for certain.
    const table = forecastLines(outlook!).filter(line => /^call-(sessions|metrics) +-/.test(line))
    expect(table.map(line => /minutes|1 day/.exec(line)?.[0])).toEqual(['1 day', '1 day'])
    expect(forecastLines(outlook!).join('\n')).toContain(
      'most are measured from 5 minutes after their end on',
    )
  })

  it('counts the metrics of one call in four where the operator chooses so', async () => {
    const more = ', expect: { callsPerDay: 400, usersPerCall: 50, callMinutes: 30 }'
    const [outlook] = outlooksOf(
      await configOf('call-metrics: { select: { everyNth: 4 } }', [{ plan: 'standard', more }]),
    )
    // 1 request for the sessions and a quarter of 3 for their metrics, of 1,000 a day.
    expect(forecastLines(outlook!).join('\n')).toContain('571 calls a day can be measured in full')
    expect(outlook!.losses).toEqual([])
  })

  it('divides a budget among the apps that have one credential, unless the provider counts by app', async () => {
    const apps = [{ id: 'a' }, { id: 'b' }, { id: 'c', key: 'other' }]
    const allowed = (config: Config) =>
      outlooksOf(config).flatMap(({ apps, groups }) =>
        apps.map(({ id }) => [id, groups.find(({ group }) => group === 'realtime')!.allowed]),
      )
    expect(allowed(await configOf('', apps))).toEqual([
      ['a', 240],
      ['b', 240],
      ['c', 480],
    ])
    expect(allowed(await configOf('', apps, ', counters: app'))).toEqual([
      ['a', 480],
      ['b', 480],
      ['c', 480],
    ])
  })

  it('gives apps of two plans with one credential the numbers of the stricter one, and says so', async () => {
    const apps = [{ id: 'a' }, { id: 'b', plan: 'standard' }]
    const [large, small] = outlooksOf(await configOf('', apps))
    const searchable = (outlook: typeof large) =>
      outlook!.groups.find(({ group }) => group === 'call-search')!.allowed
    expect([searchable(large), searchable(small)]).toEqual([500, 500])
    const [said] = mixedPlans(await configOf('', apps))
    expect(said).toContain('2 apps (a, b) have one REST key and different limits')
    expect(said).toContain('call-search (1 a second, 1,000 a day)')
    expect(said).toContain('counters: app')
    expect(said).not.toContain('realtime')
    expect(mixedPlans(await configOf('', apps, ', counters: app'))).toEqual([])
    expect(mixedPlans(await configOf('', [{ id: 'a' }, { id: 'b' }]))).toEqual([])
  })

  it('tells of how many live channels real time can be asked', async () => {
    const live = 'realtime-usage: { channels: live }, realtime-quality: { channels: live }'
    const [outlook] = outlooksOf(await configOf(live, [{ plan: 'enterprise' }]))
    expect(outlook!.losses).toEqual([])
    const text = forecastLines(outlook!).join('\n')
    expect(text).toContain(
      'realtime: of the channels with a room or call going on 3 at a time at most are asked (7 questions each,',
    )
    expect(text).toMatch(/One that is not asked is no gap\.$/m)
    // The whole project is asked less often for them.
    const [alone] = outlooksOf(await configOf('', [{ plan: 'enterprise' }]))
    const every = (each: Outlook | undefined) =>
      each!.groups
        .find(({ group }) => group === 'realtime')!
        .streams.map(stream => stream.kind === 'windows' && stream.every)
    expect(every(outlook)[0]).toBeGreaterThan(every(alone)[0] as number)
  })

  it('says before anything is sent that a plan has room for no live channel', async () => {
    const config = await configOf('realtime-quality: { channels: live }', [{}])
    const text = 'realtime: of the channels with a room or call going on none is asked'
    expect(liveTexts(config)).toEqual([expect.stringContaining(`school: ${text}`)])
    expect(forecastWarnings(config)).toContainEqual(expect.stringContaining(text))
    expect(liveTexts(await configOf('', [{}]))).toEqual([])
  })

  it('has a budget for each endpoint where the provider counts each by itself', async () => {
    const allowed = async (service: string) => {
      const [{ groups }] = outlooksOf(await configOf('', [{}], service)) as [Outlook]
      return groups.map(({ group, allowed, streams }) => [group, allowed, streams.length])
    }
    const rest = [
      ['usage-insight', 40, 2],
      ['quality-insight', 40, 2],
    ]
    expect(await allowed('')).toEqual([
      ['call-search', 2_000, 1],
      ['call-details', 2_000, 2],
      ...rest,
      ['realtime', 480, 2],
    ])
    expect(await allowed(', limits: split')).toEqual([
      ['call-search', 2_000, 1],
      ['call-details', 2_000, 1],
      ['call-metrics', 2_000, 1],
      ...rest,
      ['realtime', 480, 1],
      ['realtime-quality', 480, 1],
    ])
  })

  it('counts only apps that draw on the same limit group', async () => {
    const idle = ', streams: { realtime-usage: off, realtime-quality: off }'
    const [, drained] = outlooksOf(await configOf('', [{ id: 'a', more: idle }, { id: 'b' }]))
    const sharers = drained!.groups.map(({ group, sharers }) => [group, sharers])
    expect(Object.fromEntries(sharers)).toMatchObject({ 'call-search': 2, realtime: 1 })
  })

  it('is reckoned once for ten thousand apps that are alike', async () => {
    const config = await configOf('', [{}], ', counters: app')
    const apps = Array.from({ length: 10_000 }, (_, i) => ({ ...config.apps[0]!, id: `app-${i}` }))
    const outlooks = outlooksOf({ ...config, apps })
    expect(outlooks.map(outlook => outlook.apps.length)).toEqual([10_000])
    expect(forecastLines(outlooks[0]!)[0]).toBe('10000 apps (app-0, app-1, app-2, ...), plan premium')
  })
})

describe('the warnings at the start of a daemon', () => {
  it('tell of what would be lost, with the app', async () => {
    const warnings = forecastWarnings(await configOf(fourteen, [{}]))
    expect(warnings[0]).toMatch(/^app school: realtime-usage: 14 series .* 7 % would be lost\.$/)
  })

  it('are none where all is well, or the operator accepts the loss', async () => {
    expect(forecastWarnings(await configOf('', [{}]))).toEqual([])
    const more = `, acceptLoss: [${both}]`
    expect(forecastWarnings(await configOf(fourteen, [{ more }]))).toEqual([])
  })

  it('are none where call analytics is not used', async () => {
    const text = `
provider: { classroom: { url: "https://x.example" } }
apps: [{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }]`
    expect(forecastWarnings(await readConfig(text, { name: 'text', env: {}, folder: '/' }))).toEqual([])
  })
})

describe('penstock forecast', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-forecast-'))
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function run(name: string, text: string, ...args: readonly string[]) {
    const path = join(folder, name)
    await writeFile(path, text, { mode: 0o600 })
    return await penstock(['forecast', '--config', path, ...args])
  }

  it('ends with 1 when data would be lost, and names the streams', async () => {
    const { code, stdout, stderr } = await run('lossy.yaml', fileOf(fourteen, [{}]))
    expect(code).toBe(1)
    expect(stdout).toContain('data would be lost')
    expect(stderr).toBe(
      'penstock: data would be lost: realtime-usage, realtime-quality of app school (acceptLoss of the app accepts that)\n',
    )
  })

  it('ends with 1 as long as one of the streams is not accepted, and with 0 when all are', async () => {
    const [one, all] = await Promise.all(
      [both.slice(1), both].map((accepted, i) =>
        run(`accepted-${i}.yaml`, fileOf(fourteen, [{ more: `, acceptLoss: [${accepted}]` }])),
      ),
    )
    expect(one!.stderr).toContain('data would be lost: realtime-usage of app school')
    expect(one!.code).toBe(1)
    expect(all).toMatchObject({ code: 0, stderr: '' })
    expect(all!.stdout).toContain('Accepted by acceptLoss: realtime-usage, realtime-quality.')
  })

  it('tells the same as JSON', async () => {
    const { code, stdout } = await run(
      'json.yaml',
      fileOf(fourteen, [{}, { id: 's', plan: 'standard' }]),
      '--json',
    )
    expect(code).toBe(1)
    const found = JSON.parse(stdout) as { readonly off: readonly string[] }
    expect(found).toMatchObject({
      ok: false,
      forecasts: [
        {
          apps: ['school'],
          plan: 'premium',
          losses: both.map(stream => ({ stream, accepted: false })),
        },
        { apps: ['s'], plan: 'standard', losses: [] },
      ],
    })
    expect(found.off).toContain(
      'app s: usage-insight, quality-insight, realtime-usage, realtime-quality are off: the plan standard has no access',
    )
  })

  it('and validate tell of two plans on one key', async () => {
    const text = fileOf('', [{ id: 'a' }, { id: 'b', plan: 'standard' }])
    expect((await run('mixed.yaml', text)).stdout).toContain('counters: app')
    const path = join(folder, 'mixed.yaml')
    expect((await penstock(['validate', '--config', path])).stdout).toContain('counters: app')
  })
})

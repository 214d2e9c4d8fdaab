// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the references that are tested
import { chmod, copyFile, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { offTexts } from '../../src/config/availability.ts'
import { loadConfig, readConfig } from '../../src/config/load.ts'

const good = (name: string): string => new URL(`good/${name}.yaml`, import.meta.url).pathname

const inEnvironment = {
  DB_PASSWORD: 'CANARY-password',
  POOL_SIZE: '16',
  REGION_HOST: 'classroom.example.com',
  APP_ID: '12',
  REST_SECRET: 'CANARY-secret',
  EMPTY: '',
  TOKEN: '${NOT_READ_AGAIN}',
}

const rates = ['joinSuccessRate', 'joinSuccessIn5sRate', 'audioFreezeRate', 'videoFreezeRate', 'networkDelay']

const analyticsDefaults = {
  calls: { every: 60_000, allowedLateness: 3_600_000, revisitEvery: 600_000 },
  'call-sessions': { every: 0, serverUsers: 'include' },
  'call-metrics': { every: 0, select: { channels: [], everyNth: 1, minUsers: 0, mids: [] } },
  'usage-insight': {
    every: 21_600_000,
    allowedLateness: 216_000_000,
    metrics: [
      ...['userCount', 'sessionCount', 'channelCount', 'peakCurrentChannels', 'peakCurrentUsers'],
      ...['totalDuration', 'totalVideoDuration', 'totalAudioDuration'],
    ],
    granularities: ['hour', 'day'],
  },
  'quality-insight': {
    every: 21_600_000,
    allowedLateness: 230_400_000,
    products: ['Native'],
    metrics: rates,
    granularities: ['hour', 'day'],
  },
  'realtime-usage': {
    every: 300_000,
    products: ['Native'],
    metrics: ['userCount', 'channelCount'],
    channels: [],
  },
  'realtime-quality': {
    every: 300_000,
    products: ['Native'],
    metrics: rates,
    channels: [],
    uids: [],
    usersOf: 'channels',
  },
}

describe('a good configuration', () => {
  it('of one address and one app is completed with the defaults', async () => {
    const { database, http, log, schedule, provider, apps } = await loadConfig(good('short'), { env: {} })
    expect(await database.url.reveal()).toBe('embedded')
    expect(database).toMatchObject({
      dataDir: '.penstock',
      poolSize: 8,
      statementTimeout: 30_000,
      lockTimeout: 5_000,
    })
    expect(database.role).toBe('penstock_runtime')
    expect(http.listen).toEqual({ host: '127.0.0.1', port: 9464 })
    expect(log.level).toBe('info')
    expect(String(schedule.housekeeping)).toBe('*/5 * * * *')
    expect(provider).toEqual({
      classroom: {
        url: 'https://classroom.example.com',
        tokenHeader: 'x-svc-token',
        uidHeader: 'x-svc-uid',
        widgetPath: 'without-region',
        submitter: 'operator',
        sequenceScope: 'room',
        roomMemory: 2_700_000,
        deadline: 30_000,
        maxBodyBytes: 8_388_608,
        insecure: false,
      },
      analytics: undefined,
      players: undefined,
    })
    expect(apps).toHaveLength(1)
    expect(apps[0]).toMatchObject({ id: '0a1b2c', region: 'ap', plan: 'premium', rooms: [] })
    expect(apps[0]?.rest).toBeUndefined()
    expect(apps[0]?.streams).toEqual({
      'app-events': { every: 2_000, idleEvery: 30_000 },
      'room-events': { activeEvery: 30_000, idleEvery: 3_600_000 },
      'popup-quiz': { activeEvery: 15_000, idleEvery: 3_600_000 },
      poll: { activeEvery: 15_000, idleEvery: 3_600_000 },
      recordings: { activeEvery: 60_000, idleEvery: 3_600_000 },
      resources: { activeEvery: 60_000, idleEvery: 3_600_000 },
      'cloud-players': { every: 15_000 },
      ...analyticsDefaults,
    })
    expect(apps[0]?.limits).toEqual({
      classroom: { perSecond: 50, concurrency: 8 },
      'classroom-feed': { perSecond: 20, concurrency: 1 },
      'call-search': { concurrency: 4 },
      'call-details': { concurrency: 4 },
      'usage-insight': { concurrency: 2 },
      'quality-insight': { concurrency: 2 },
      realtime: { concurrency: 2 },
      'players-create': { perSecond: 2, concurrency: 2 },
      'players-create-unnamed': { perSecond: 50, concurrency: 2 },
      'players-delete': { perSecond: 100, concurrency: 2 },
      'players-list': { perSecond: 2, perMinute: 15, concurrency: 2 },
      'players-list-all': { perSecond: 10, perMinute: 20, concurrency: 2 },
    })
  })

  it.each([
    [['analytics'], 'classrooms are off', 'cloud players are off'],
    [['players'], 'classrooms are off', 'call analytics is off'],
    [['analytics', 'players'], 'classrooms are off'],
  ])('may hold these services alone: %s', async (services, ...off) => {
    const provider = Object.fromEntries(services.map(name => [name, { url: 'https://x.example' }]))
    const app = { id: 'a', region: 'ap', plan: 'premium', rest: { key: 'k', secret: 's' } }
    const text = JSON.stringify({ provider, apps: [app] })
    const config = await readConfig(text, { name: 'text', env: {}, folder: '/' })
    const texts = offTexts(config)
    expect(texts.map(each => each.split(':')[0])).toEqual(off)
    expect(config.provider.classroom).toBeUndefined()
    expect(config.apps[0]!.classroom).toBeUndefined()
  })

  it.each([
    ['ap', 'ap', ['ap']],
    [['eu', 'ap'], 'eu', ['eu', 'ap']],
  ])('may have an app in one region or in several: %s', async (region, first, regions) => {
    const app = { id: 'a', region, plan: 'premium', rest: { key: 'k', secret: 's' } }
    const text = JSON.stringify({ provider: { players: { url: 'https://x.example' } }, apps: [app] })
    const config = await readConfig(text, { name: 'text', env: {}, folder: '/' })
    expect(config.apps[0]).toMatchObject({ region: first, regions })
  })

  it.each([[[]], [['ap', 'ap']], [['ap', 'moon']]])('has no app in these regions: %j', async region => {
    const app = { id: 'a', region, plan: 'premium', rest: { key: 'k', secret: 's' } }
    const text = JSON.stringify({ provider: { players: { url: 'https://x.example' } }, apps: [app] })
    const refused = readConfig(text, { name: 'text', env: {}, folder: '/' })
    await expect(refused).rejects.toThrow('or a list of some')
  })

  it('takes the database from DATABASE_URL when it names none', async () => {
    const env = { DATABASE_URL: 'postgres://penstock:CANARY@db/penstock' }
    const { database } = await loadConfig(good('short'), { env })
    expect(await database.url.reveal()).toBe(env.DATABASE_URL)
  })

  it('is refused, without the address, when DATABASE_URL is none', async () => {
    const refusal = loadConfig(good('short'), { env: { DATABASE_URL: 'CANARY' } })
    await expect(refusal).rejects.toThrow(/^.*: must be embedded, or an address .* not shown here$/)
    await expect(refusal).rejects.not.toThrow('CANARY')
  })

  it('lays the settings of an app over those of the file, and those over the defaults', async () => {
    const { apps } = await loadConfig(good('layers'), { env: {} })
    expect(apps[0]?.streams).toEqual({
      ...analyticsDefaults,
      'cloud-players': { every: 15_000 },
      'app-events': { every: 5_000, idleEvery: 30_000 },
      'room-events': { activeEvery: 30_000, idleEvery: 3_600_000 },
      'popup-quiz': 'off',
      poll: { activeEvery: 20_000, idleEvery: 7_200_000 },
      recordings: { activeEvery: 60_000, idleEvery: 3_600_000 },
      resources: 'off',
    })
    expect(apps[1]?.streams).toMatchObject({
      poll: { activeEvery: 20_000, idleEvery: 3_600_000 },
      recordings: 'off',
    })
    expect(apps[0]?.limits.classroom).toEqual({ perSecond: 10, concurrency: 2 })
    expect(apps[1]?.limits.classroom).toEqual({ perSecond: 10, concurrency: 8 })
  })

  it('may use anchors, aliases and merge keys', async () => {
    const { apps } = await loadConfig(good('layers'), { env: {} })
    expect(await apps[1]?.classroom?.token.reveal()).toBe('CANARY-token')
    expect(apps[2]).toMatchObject({ id: 'third', region: 'ap', plan: 'premium', rooms: ['math', '9'] })
    expect(apps[2]?.streams['popup-quiz']).toEqual({ activeEvery: 15_000, idleEvery: 3_600_000 })
  })

  it('keeps identifiers as they are written, zeros and all', async () => {
    const { apps } = await loadConfig(good('layers'), { env: {} })
    expect(apps[0]?.id).toBe('007')
    expect(await apps[0]?.classroom?.uid.reveal()).toBe('0042')
  })

  it('reads the environment in every scalar, also inside a longer one', async () => {
    const { database, http, provider, apps } = await loadConfig(good('environment'), { env: inEnvironment })
    expect(await database.url.reveal()).toBe('postgres://penstock:CANARY-password@db:5432/penstock')
    expect(database.poolSize).toBe(16)
    expect(database.role).toBe('')
    expect(http.listen).toEqual({ host: '0.0.0.0', port: 9464 })
    expect(provider.classroom?.url).toBe('https://classroom.example.com/v1')
    expect(apps[0]?.id).toBe('12')
    expect(await apps[0]?.classroom?.uid.reveal()).toBe('nobody')
  })

  it('takes neither an escaped reference nor what a variable holds for a reference', async () => {
    const { apps } = await loadConfig(good('environment'), { env: inEnvironment })
    expect(await apps[0]?.rest?.key.reveal()).toBe('${LITERAL}')
    expect(await apps[0]?.classroom?.token.reveal()).toBe('${NOT_READ_AGAIN}')
  })

  it('may be a text, whose name stands in the messages', async () => {
    const refusal = readConfig('apps: []', { name: 'built-in', env: {}, folder: '/' })
    await expect(refusal).rejects.toThrow('built-in:1:7  apps: must be a list with at least one item')
  })

  it('with a byte order mark is read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-'))
    const path = join(folder, 'penstock.yaml')
    await writeFile(path, `\ufeffprovider: { classroom: { url: "https://x.example" } }\napps: []\n`)
    await expect(loadConfig(path, { env: {} })).rejects.toThrow('penstock.yaml:2:7  apps: must be a list')
  })
})

describe('a configuration that others can read', () => {
  async function warningsOf(name: string, mode: number): Promise<readonly string[]> {
    const path = join(await mkdtemp(join(tmpdir(), 'penstock-')), 'penstock.yaml')
    await copyFile(good(name), path)
    await chmod(path, mode)
    const { warnings } = await loadConfig(path, { env: inEnvironment })
    return warnings.map(warning => warning.replace(path, 'penstock.yaml'))
  }

  it('is warned about when it holds a secret itself', async () => {
    expect(await warningsOf('short', 0o644)).toEqual([
      expect.stringMatching(/^penstock\.yaml {2}holds secrets, and every user/),
    ])
  })

  it('is not warned about when only its owner can read it', async () => {
    expect(await warningsOf('short', 0o600)).toEqual([])
  })

  it('is not warned about when its secrets come from the environment', async () => {
    const withoutLiteral = join(await mkdtemp(join(tmpdir(), 'penstock-')), 'penstock.yaml')
    await writeFile(
      withoutLiteral,
      `provider: { classroom: { url: "https://x.example" } }
apps: [{ id: a, region: ap, plan: starter, classroom: { uid: penstock, token: "\${TOKEN}" } }]`,
    )
    await chmod(withoutLiteral, 0o644)
    expect((await loadConfig(withoutLiteral, { env: inEnvironment })).warnings).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { deploymentOf } from '../../src/commands/engine-settings.ts'
import { clientApps } from '../../src/commands/wiring/client.ts'
import { isDrained, offTexts } from '../../src/config/availability.ts'
import { type Config, knownSecrets } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { pathOf } from '../../src/config/values.ts'
import { createPlayer, listPlayers } from '../../src/provider/players/index.ts'
import { configuredStreams } from '../../src/streams/index.ts'

const good = (name: string) => new URL(`good/${name}.yaml`, import.meta.url).pathname
const config = await loadConfig(good('players'), { env: {} })
const [own, plain, keyless, silent] = config.apps

describe('the cloud player service', () => {
  it('is completed with the defaults', () => {
    expect(config.provider.players).toEqual({
      url: 'https://players.example.com/base',
      deadline: 20_000,
      maxBodyBytes: 8_388_608,
      insecure: false,
      counters: 'app',
      limits: 'split',
      paths: {
        create: '/{region}/v1/projects/{appId}/cloud-player/players',
        delete: '/{region}/v1/projects/{appId}/cloud-player/players/{id}',
        list: '/v2/{appId}/players',
      },
      signatureHeader: 'x-sign',
      signatureHeaderV2: 'x-svc-signature-v2',
    })
  })

  it('has the documented limits where nobody says otherwise', () => {
    expect(plain!.limits).toMatchObject({
      'players-create': { perSecond: 2, concurrency: 2 },
      'players-create-unnamed': { perSecond: 50 },
      'players-delete': { perSecond: 100 },
      'players-list': { perSecond: 2, perMinute: 12 },
      'players-list-all': { perSecond: 10, perMinute: 20 },
    })
    expect(own!.limits['players-list-all']).toEqual({ perSecond: 4, perMinute: 20, concurrency: 2 })
    expect(own!.limits['players-create']).not.toHaveProperty('perMinute')
  })
})

describe('paths of the three operations', () => {
  const rest = { key: 'k', secret: 's' }
  const [app] = clientApps({ ...config, apps: [{ ...plain!, rest: own!.rest ?? rest }] } as Config)

  it('are those of the deployment, by hand and of the stream', () => {
    const paths = [createPlayer, listPlayers].map(operation => {
      const deployed = app!.deploy(operation, {})
      return 'off' in deployed ? deployed.off : deployed.operation.path
    })
    expect(paths).toEqual(['/{region}/v1/projects/{appId}/cloud-player/players', '/v2/{appId}/players'])
    const stream = configuredStreams(deploymentOf(config)).find(({ name }) => name === 'cloud-players')
    expect(stream?.operation.path).toBe('/v2/{appId}/players')
  })

  it.each(['/{appId}/{id}', '/{region}/a/{appId}/{id}'])('%s may be one', path => {
    expect(pathOf(['appId', 'id'], ['region']).safeParse(path).data).toBe(path)
  })

  it.each([
    '/{appId}',
    '{appId}/{id}',
    '/{appId}/{id}/{id}',
    '/{appId}/{id}/{name}',
    '/{appId}/{id}?a=b',
    '/{appId}/../{id}/',
  ])('%s is none', path => expect(pathOf(['appId', 'id'], ['region']).safeParse(path).success).toBe(false))
})

describe('the stream of players', () => {
  it('is read as often as the app says, else the file', () => {
    const every = config.apps.map(({ streams }) => streams['cloud-players'])
    expect(every).toEqual([{ every: 60_000 }, { every: 20_000 }, { every: 20_000 }, 'off'])
  })

  it('is off without a key, without a service, and where somebody says so', () => {
    const on = config.apps.map(app => isDrained(config, app, 'cloud-players'))
    expect(on).toEqual([true, true, false, false])
    const provider = { ...config.provider, players: undefined }
    expect(isDrained({ ...config, provider }, own!, 'cloud-players')).toBe(false)
  })

  it('is told of once when it is off though nobody says so', () => {
    expect(offTexts(config)).toEqual([
      'call analytics is off: provider.analytics.url is not given',
      'app keyless: cloud-players is off: the app has no rest.key and rest.secret',
    ])
    const provider = { ...config.provider, players: undefined }
    expect(offTexts({ ...config, provider, apps: [own!, plain!, silent!] })).toContain(
      'cloud players are off: provider.players.url is not given',
    )
    expect(offTexts({ ...config, provider, apps: [silent!] })).toEqual([
      'call analytics is off: provider.analytics.url is not given',
    ])
  })
})

describe('notifications', () => {
  it('are taken where the app has a secret for them', async () => {
    expect(await own!.notifications?.secret.reveal()).toBe('CANARY-notice')
    expect([plain, keyless].map(app => app!.notifications)).toEqual([undefined, undefined])
  })

  it('have a secret that is kept out of logs like any other', () => {
    expect(knownSecrets(config)).toContain('CANARY-notice')
  })
})

import { afterAll, beforeAll, describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { createSandbox, demoApp, type Listening, listen, type Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import {
  type Answer,
  type AppClient,
  type Arguments,
  CallError,
  type Client,
  ConfigError,
  type ConfigInput,
  type Operations,
  openClient,
  ParameterError,
  readBatch,
} from '../../src/index.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { execute } from '../support/databases.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
let sandbox: Sandbox
let provider: Listening
let client: Client

beforeAll(async () => {
  database = await cloneDatabase()
  sandbox = createSandbox({
    clock: systemClock,
    profile: { kind: 'idle', rooms: 1 },
    switches: { playerFailRate: 0 },
  })
  provider = await listen(sandbox)
  client = await openClient({ config: config() })
})

function config(): ConfigInput {
  const { id, uid, token, plan, rest } = demoApp
  const { url } = provider
  return {
    database: { url: database.url },
    provider: { classroom: { url }, analytics: { url }, players: { url } },
    apps: [
      { id, region: 'ap', plan, classroom: { uid, token }, rest },
      { id: 'bare', region: 'eu', plan: 'starter', classroom: { uid, token } },
    ],
  }
}

afterAll(async () => {
  await client.close()
  await provider.close()
  await database.drop()
})

const ofRoom = () => ({ roomUuid: [...sandbox.truth()].find(line => line.kind === 'room')!.roomUuid })

describe('the library', () => {
  test('sets the state of a room', async () => {
    const { code } = await client.app('demo').classroom.setRoomState({ ...ofRoom(), state: 2 })
    expect(code).toBe(0)
    expect(sandbox.room('demo', ofRoom().roomUuid)!.state).toBe(2)
  })

  test('hands on fields that the contract does not name, and reads items whichever way they come', async () => {
    const { roomUuid } = ofRoom()
    const answer = await client.app('demo').classroom.roomEvents({ roomUuid })
    const { items, nextId } = readBatch('roomEvents', answer)
    expect(items.length).toBeGreaterThan(0)
    expect(items[0]).toMatchObject({ cmd: expect.any(Number), sequence: expect.any(Number) })
    const event = { cmd: 1, sequence: 1, of: 'tomorrow' }
    const head = { code: 0, msg: 'ok', beside: true }
    expect(readBatch('roomEvents', { ...head, data: [event], nextId: 'n' })).toEqual({
      items: [event],
      nextId: 'n',
    })
    const nested = { list: [event], nextId: null }
    expect(readBatch('roomEvents', { ...head, data: nested })).toEqual({ items: [event] })
    expect(nextId === undefined || typeof nextId === 'string').toBe(true)
  })

  test('searches calls', async () => {
    const now = Math.floor(systemClock.now() / 1_000)
    const answer = await client
      .app('demo')
      .analytics.callSearch({ start_ts: now - 7_200, end_ts: now - 3_600 })
    expect(answer.call_lists).toEqual([])
  })

  test('makes a player once, tells what became of it, and destroys it', async () => {
    const { players } = client.app('demo')
    const wanted = { name: 'one', channelName: 'room', uid: 1, streamUrl: 'rtmp://media.example.com/live' }
    const { player } = await players.createPlayer(wanted)
    const again = await players.createPlayer({ ...wanted, uid: 2 }).catch((error: unknown) => error)
    expect(again).toBeInstanceOf(CallError)
    expect(again).toMatchObject({ kind: 'conflict', existing: { id: player.id } })
    expect(await players.deletePlayer({ id: player.id })).toBeUndefined()
    expect(sandbox.players('demo').map(({ id, destroyedAt }) => [id, destroyedAt === undefined])).toEqual([
      [player.id, false],
    ])
  })

  test('sends the ID that the caller gives, and none but a UUID', async () => {
    const { players, classroom } = client.app('demo')
    const requestId = '6F9619FF-8b86-d011-b42d-00c04fc964ff'
    const wanted = { name: 'two', channelName: 'room', uid: 3, streamUrl: 'rtmp://media.example.com/live' }
    await players.createPlayer(wanted)
    const error = await players
      .createPlayer({ ...wanted, uid: 4 }, { requestId })
      .catch((error: unknown) => error)
    // The provider answers with the ID that it was sent; another one would stand beside it.
    expect(error).toMatchObject({ kind: 'conflict', trace: { requestId } })
    expect((error as CallError).trace).not.toHaveProperty('answeredId')
    const before = sandbox.status().requests
    const wrong = classroom.setRoomState({ ...ofRoom(), state: 1 }, { requestId: 'seven\r\nx: y' })
    await expect(wrong).rejects.toThrow('requestId: must be a UUID')
    expect(sandbox.status().requests).toBe(before)
  })

  test('tells by which IDs a request that failed can be found', async () => {
    const error = await client
      .app('demo')
      .classroom.resources({ roomUuid: 'none' })
      .catch((error: unknown) => error)
    expect(error).toMatchObject({
      kind: 'not_found',
      status: 404,
      code: 20_404_100,
      operation: 'classroom.resources',
      trace: { requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    })
  })

  test('sends nothing that breaks a rule of the contract, nor what the app cannot ask', async () => {
    const before = sandbox.status().requests
    const wrong = client.app('demo').classroom.setRoomState({ roomUuid: '', state: 1 })
    await expect(wrong).rejects.toThrow(ParameterError)
    await expect(client.app('bare').players.listPlayers()).rejects.toMatchObject({ kind: 'off' })
    await expect(client.app('bare').analytics.callSearch({ start_ts: 1, end_ts: 2 })).rejects.toMatchObject({
      kind: 'off',
    })
    expect(sandbox.status().requests).toBe(before)
  })

  test('knows the apps of its configuration only', () => {
    expect(() => client.app('nobody')).toThrow('the configuration has no app nobody; it has demo, bare')
  })

  test('asks the database anew that was not prepared, or away, when it was asked first', async () => {
    const address = new URL(database.url)
    address.pathname = `${address.pathname}_later`
    const name = address.pathname.slice(1)
    await execute(database.url, `create database ${name}`)
    onTestFinished(() => execute(database.url, `drop database ${name} with (force)`))
    const later = await openClient({ config: { ...config(), database: { url: address.href } } })
    onTestFinished(() => later.close())
    const { players } = later.app('demo')
    await expect(players.listPlayers()).rejects.toThrow('the database lacks migrations')
    await migrateUp({ url: address.href })
    expect(await players.listPlayers()).toHaveProperty('players')
  })

  test('refuses a wrong configuration', async () => {
    const error = await openClient({ config: { provider: {}, apps: [] } }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as ConfigError).problems.map(({ path }) => path.join('.'))).toContain('apps')
    await expect(openClient({ config: '/no/such/file' })).rejects.toBeInstanceOf(ConfigError)
  })

  test('counts nothing that the provider would count otherwise', () => {
    const { violationsByKind } = sandbox.status()
    expect(Object.values(violationsByKind).reduce((sum, count) => sum + count, 0)).toBe(0)
  })
})

test('arguments and answers have the types of the contract', () => {
  expectTypeOf<Arguments<Operations['classroom']['setRoomState']>>().toEqualTypeOf<{
    readonly roomUuid: string
    readonly state: 0 | 1 | 2 | 3
    readonly region?: 'cn' | 'ap' | 'eu' | 'na'
  }>()
  expectTypeOf<AppClient['classroom']['appEvents']>().toBeCallableWith()
  // @ts-expect-error a room is required
  expectTypeOf<AppClient['classroom']['resources']>().toBeCallableWith()
  expectTypeOf<Arguments<Operations['analytics']['callSearch']>>().not.toHaveProperty('appid')
  expectTypeOf<Arguments<Operations['players']['createPlayer']>>().toHaveProperty('streamIp')
})

test('answers have the fields that the contract names, and no others', () => {
  type Analytics = Operations['analytics']
  type Players = Operations['players']
  type Item<T> = T extends (infer I)[] ? I : never
  type Call = Item<Answer<Analytics['callSearch']>['call_lists']>
  type Session = Item<Answer<Analytics['callMetrics']>['metrics']>
  expectTypeOf<Call['call_id']>().toEqualTypeOf<string>()
  expectTypeOf<Call>().not.toHaveProperty('foo')
  expectTypeOf<Answer<Analytics['callSearch']>>().toHaveProperty('total_size')
  expectTypeOf<Answer<Analytics['callSearch']>>().not.toHaveProperty('foo')
  expectTypeOf<Session['sid']>().toEqualTypeOf<string>()
  expectTypeOf<Item<Session['data']>['mid']>().toEqualTypeOf<number>()
  expectTypeOf<Item<Answer<Analytics['usageInsight']>['data']>>().toHaveProperty('userCount')
  type OfUser = Item<Answer<Analytics['realtimeQuality']>['data']>
  expectTypeOf<OfUser['audioFreezeRate']>().toEqualTypeOf<number | null | undefined>()
  expectTypeOf<OfUser['uid']>().toEqualTypeOf<number | string | undefined>()
  expectTypeOf<Item<NonNullable<OfUser['values']>>['ts']>().toEqualTypeOf<number>()
  expectTypeOf<Answer<Analytics['callMetrics']>>().not.toHaveProperty('total_size')
  expectTypeOf<Answer<Players['deletePlayer']>>().toEqualTypeOf<undefined>()
  expectTypeOf<Answer<Players['createPlayer']>['player']['id']>().toEqualTypeOf<string>()
  expectTypeOf<Answer<Players['createPlayer']>['player']>().not.toHaveProperty('foo')
  expectTypeOf<Item<Answer<Players['listPlayers']>['players']>['name']>().toEqualTypeOf<
    string | null | undefined
  >()
  expectTypeOf<Answer<Operations['classroom']['roomEvents']>>().not.toHaveProperty('foo')
})

test('items of classrooms have the types of the contract', () => {
  type Items<N extends Parameters<typeof readBatch>[0]> = ReturnType<typeof readBatch<N>>['items'][number]
  expectTypeOf<Items<'roomEvents'>['cmd']>().toEqualTypeOf<number>()
  expectTypeOf<Items<'recordings'>>().toHaveProperty('recordId')
  expectTypeOf<Items<'resources'>>().toHaveProperty('resourceUuid')
  expectTypeOf<Items<'poll'>>().toHaveProperty('operator')
  expectTypeOf<Items<'poll'>>().not.toHaveProperty('foo')
})

test('a configuration as an object is typed: its keys, its words and its lists', () => {
  const app = { id: 'a', region: 'ap', plan: 'premium', classroom: { uid: 'u', tokenFile: '/t' } } as const
  const right: ConfigInput = {
    database: { url: 'postgres://db/x', poolSize: 4, statementTimeout: '5s' },
    provider: { analytics: { url: 'https://a.example.com', counters: 'app' } },
    streams: { poll: 'off', 'realtime-quality': { channels: 'live' } },
    retention: { session_series: '30d' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own language
    log: { level: '${LEVEL:-info}' },
    apps: [app, { ...app, region: ['ap', 'eu'] }],
  }
  expect(right.apps).toHaveLength(2)
  const wrong: readonly ConfigInput[] = [
    // @ts-expect-error there is no such plan
    { provider: {}, apps: [{ ...app, plan: 'gold' }] },
    // @ts-expect-error there is no such key
    { provider: {}, apps: [], retentions: {} },
    // @ts-expect-error there is no such service
    { provider: { classrom: {} }, apps: [] },
    // @ts-expect-error there is no such stream
    { provider: {}, apps: [], streams: { callz: 'off' } },
    // @ts-expect-error the provider must be told
    { apps: [app] },
  ]
  expect(wrong).toHaveLength(5)
})

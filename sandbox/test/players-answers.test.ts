import { describe, expect, it } from 'vitest'
import { ConnectionLost, demoApp, type FaultRule } from '../src/index.ts'
import { basic, demoCredential, paths, playPlayers, stream } from './players-play.ts'

const sent = '7d1f1a52-4c07-4a1e-9d61-0e2a4c7d9b10'
const withId = { ...demoCredential, 'x-request-id': sent }

describe('whoever asks', () => {
  const requests = [
    ['POST', paths.create],
    ['DELETE', paths.remove('x')],
    ['GET', paths.list],
  ] as const

  it.each(requests)('%s %s must be known', async (method, target) => {
    const strangers = [
      {},
      basic('demo-key', 'wrong'),
      basic('demo-key', ''),
      { authorization: `Bearer ${btoa('demo-key:demo-secret')}` },
      { authorization: 'Basic' },
    ]
    const { send, violations } = playPlayers()
    for (const headers of strangers) {
      const answer = await send(method, target, { headers: { ...headers, 'x-request-id': sent } })
      expect([answer.status, answer.body]).toEqual([401, { message: 'Invalid authentication credentials.' }])
      expect(answer.headers.has('x-request-id')).toBe(false)
      expect(answer.headers.has('x-resource-id')).toBe(false)
    }
    expect(violations()).toEqual({ authentication: strangers.length })
  })

  it('may not ask for the project of somebody else', async () => {
    const apps = [demoApp, { ...demoApp, id: 'other', rest: { key: 'k', secret: 's' } }]
    const { send, sandbox } = playPlayers({ apps })
    for (const app of ['other', 'nobody']) {
      const target = `ap/v1/projects/${app}/cloud-player/players`
      const { status, headers } = await send('POST', target, { body: stream, headers: withId })
      expect([status, headers.get('x-request-id')]).toEqual([403, sent])
    }
    expect(sandbox.players('other')).toEqual([])
  })

  it('may ask for any project of the credential', async () => {
    const apps = [demoApp, { ...demoApp, id: 'other' }]
    const { send } = playPlayers({ apps })
    expect((await send('GET', 'v1/projects/other/cloud-player/players')).status).toBe(200)
  })
})

describe('X-Request-ID', () => {
  it('is the one that was sent, whatever the answer', async () => {
    const { send, make, clock } = playPlayers()
    const id = await make()
    await clock.advance(1_000)
    const answers = [
      await send('POST', paths.create, { body: { ...stream, uid: 8 }, headers: withId }),
      await send('POST', paths.create, { body: {}, headers: withId }),
      await send('POST', paths.create, { body: {}, headers: withId }),
      await send('DELETE', paths.remove(id), { headers: withId }),
      await send('DELETE', paths.remove(id), { headers: withId }),
      await send('GET', paths.list, { headers: withId }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 429, 200, 404, 200])
    for (const { headers } of answers) expect(headers.get('x-request-id')).toBe(sent)
  })

  it('is made by the service where none was sent, or one that is no UUID', async () => {
    const { list } = playPlayers()
    const first = (await list()).headers.get('x-request-id')
    const second = (await list({}, { ...demoCredential, 'x-request-id': 'seven' })).headers.get(
      'x-request-id',
    )
    for (const id of [first, second]) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
    expect(first).not.toBe(second)
  })
})

describe('X-Resource-ID', () => {
  it('is there only where a player has to do with it', async () => {
    const { create, list } = playPlayers()
    expect((await create({})).headers.get('x-resource-id')).toBeNull()
    expect((await list()).headers.get('x-resource-id')).toBeNull()
  })
})

describe('a fault', () => {
  const faulty = (rule: FaultRule) => playPlayers({ faults: [{ operation: 'createPlayer', ...rule }] })
  const living = (stage: ReturnType<typeof playPlayers>) => stage.sandbox.players('demo').length
  const timeout = 'Gateway timeout; query to check whether the player was created, or create another one.'

  it('may be a 504 though the server acted', async () => {
    const stage = faulty({ kind: 'status-after-acting', at: [1] })
    const { status, body, headers } = await stage.create(stream, { headers: withId })
    expect([status, body]).toEqual([504, { message: timeout }])
    expect([headers.get('x-request-id'), headers.get('x-resource-id')]).toEqual([sent, null])
    expect(living(stage)).toBe(1)
  })

  it('may be a 504 before the server acted', async () => {
    const stage = faulty({ kind: 'status', status: 504, at: [1] })
    const { status, body } = await stage.create(stream)
    expect([status, body, living(stage)]).toEqual([504, { message: timeout }, 0])
  })

  it('may hit a Delete that was done, or that was not', async () => {
    for (const [kind, status, left] of [
      ['status-after-acting', 504, 404],
      ['status', 504, 200],
    ] as const) {
      const stage = playPlayers({ faults: [{ kind, status, operation: 'deletePlayer', at: [1] }] })
      const id = await stage.make()
      expect((await stage.remove(id)).status).toBe(504)
      expect((await stage.remove(id)).status).toBe(left)
    }
  })

  it('may end the connection after the server acted, or before', async () => {
    const acted = faulty({ kind: 'lost-response', at: [1] })
    await expect(acted.create(stream)).rejects.toThrow(ConnectionLost)
    const reset = faulty({ kind: 'reset', at: [1] })
    await expect(reset.create(stream)).rejects.toThrow(ConnectionLost)
    expect([living(acted), living(reset)]).toEqual([1, 0])
  })

  it.each([
    [500, 'Some internal error happened. Contact the provider.'],
    [503, 'The service is not available.'],
    [403, 'injected'],
    [429, 'injected'],
  ])('may be a %s', async (status, message) => {
    const stage = faulty({ kind: 'status', status, retryAfter: '3', at: [1] })
    const answer = await stage.create(stream, { headers: withId })
    expect([answer.status, answer.body.message]).toEqual([status, message])
    expect([answer.headers.get('x-request-id'), answer.headers.get('retry-after')]).toEqual([sent, '3'])
    expect([living(stage), stage.violations()]).toEqual([0, {}])
  })

  it('may be a 401, which names no request', async () => {
    const { status, headers } = await faulty({ kind: 'status', status: 401, at: [1] }).create(stream, {
      headers: withId,
    })
    expect([status, headers.has('x-request-id')]).toEqual([401, false])
  })

  it('that comes again and again leaves as many players as Creates that acted', async () => {
    const stage = playPlayers({
      switches: { playerQuota: 1_000 },
      faults: [
        { kind: 'status-after-acting', rate: 0.3 },
        { kind: 'status', status: 504, rate: 0.3 },
      ],
    })
    for (let uid = 1; uid <= 200; uid++) await stage.create({ ...stream, uid })
    const { arrivals } = stage.sandbox
    const acted = arrivals.list(0, 1_000).filter(({ fault }) => fault !== 'status')
    expect(stage.sandbox.players('demo').length).toBe(acted.length)
    expect(new Set(arrivals.list(0, 1_000).map(({ fault }) => fault)).size).toBe(3)
  })
})

describe('the log of arrivals', () => {
  it('tells the operation, the app and why a request was refused', async () => {
    const { create, list, sandbox } = playPlayers()
    await create(stream)
    await create({ ...stream, name: '' })
    await list({ pageSize: '0' })
    const told = sandbox.arrivals.list(0, 9).map(({ operation, app, status, refusal }) => {
      return [operation, app, status, refusal]
    })
    expect(told).toEqual([
      ['createPlayer', 'demo', 200, undefined],
      ['createPlayer', 'demo', 400, 'invalid parameter: name'],
      ['listPlayers', 'demo', 400, 'invalid parameter: pageSize'],
    ])
  })
})

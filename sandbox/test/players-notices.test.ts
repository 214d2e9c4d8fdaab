import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Deliver, demoApp, type SandboxOptions } from '../src/index.ts'
import { playPlayers, stream } from './players-play.ts'

const seconds = 1_000
const minutes = 60 * seconds

interface Told {
  readonly noticeId: string
  readonly productId: number
  readonly eventType: number
  readonly notifyMs: number
  readonly payload: {
    readonly player: Readonly<Record<string, unknown>>
    readonly lts: number
    readonly destroyReason?: string
  }
}

/** A server that answers as it is told, and keeps what it was sent. */
function listenIn(
  options: Partial<SandboxOptions> = {},
  answer: (n: number) => Promise<number> = async () => 200,
) {
  const got: { readonly app: string; readonly headers: Readonly<Record<string, string>>; body: string }[] = []
  const deliver: Deliver = (app, { headers, body }) => {
    got.push({ app, headers, body })
    return answer(got.length)
  }
  const stage = playPlayers({ deliver, ...options })
  return {
    ...stage,
    got,
    told: () => got.map(({ body }) => JSON.parse(body) as Told),
    /** Lets time pass as a driver would: a look at the world every second. */
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += seconds) {
        await stage.clock.advance(seconds)
        stage.sandbox.universe.advance()
      }
      await stage.clock.advance(0)
    },
  }
}

describe('a notification', () => {
  it('comes of each creation, change of status and end, in order', async () => {
    const { make, pass, told, truth, remove } = listenIn()
    const id = await make({ name: 'n' })
    await pass(10 * seconds)
    await remove(id)
    await pass(2 * seconds)
    const { createdAt, changes, destroyedAt } = truth(id)
    expect(told().map(({ eventType, payload }) => [eventType, payload.player.status, payload.lts])).toEqual([
      [1, 'idle', createdAt],
      [4, 'connecting', changes[1]!.at],
      [4, 'running', changes[2]!.at],
      [3, 'running', destroyedAt],
    ])
    expect(told()[0]).toEqual({
      noticeId: expect.stringMatching(/^\w{20,}$/),
      productId: expect.any(Number),
      eventType: 1,
      notifyMs: createdAt + 500,
      payload: {
        player: {
          ...{ id, name: 'n', uid: 7, channelName: 'stage', streamUrl: stream.streamUrl },
          token: expect.stringMatching(/^player-secret-/),
          createTs: Math.floor(createdAt / 1_000),
          status: 'idle',
        },
        lts: createdAt,
      },
    })
    expect(new Set(told().map(({ noticeId }) => noticeId)).size).toBe(4)
  })

  it.each([
    ['a Delete', {}, {}, 'Delete Request'],
    ['the idle time-out', { streamUrl: 'http://unreachable.example/a', idleTimeout: 5 }, {}, 'Idle Timeout'],
    ['an error of the servers', {}, { playerDestroysPerHour: 200 }, 'Internal Error'],
  ])('of an end says that it was %s', async (cause, fields, switches, reason) => {
    const { make, pass, told, remove } = listenIn({ switches })
    const id = await make(fields)
    if (cause === 'a Delete') await remove(id)
    await pass(3 * minutes)
    const ends = told().filter(({ eventType }) => eventType === 3)
    expect(ends.map(({ payload }) => payload.destroyReason)).toEqual([reason])
  })

  it('carries the token with which the player was made', async () => {
    const { make, pass, told } = listenIn()
    await make({ token: 'canary' })
    await pass(2 * seconds)
    expect(told()[0]!.payload.player.token).toBe('canary')
  })

  it('is signed twice with the secret of its app, over the body as it is sent', async () => {
    const { make, pass, got } = listenIn({ signatureHeaderV2: 'x-other' })
    await make()
    await pass(10 * seconds)
    expect(got.length).toBe(3)
    for (const { app, headers, body } of got) {
      const sign = (kind: string) => createHmac(kind, 'demo-notification-secret').update(body).digest('hex')
      expect(app).toBe('demo')
      expect(headers).toEqual({
        'content-type': 'application/json',
        'x-svc-signature': sign('sha1'),
        'x-other': sign('sha256'),
      })
    }
  })

  it('may be in a shape that nobody can read, and is signed all the same', async () => {
    const { make, pass, got, sandbox } = listenIn({ quirks: { strangeNotice: 1 } })
    await make({ name: 'n' })
    await pass(10 * seconds)
    expect(got.length).toBeGreaterThan(1)
    expect(sandbox.notices('demo').flatMap(({ bodies }) => bodies)).toEqual(got.map(({ body }) => body))
    const secret = demoApp.notifications!.secret
    for (const { headers, body } of got)
      expect(Object.values(headers)).toContain(createHmac('sha256', secret).update(body).digest('hex'))
  })

  it('is not made for an app without a secret, and not without someone who delivers', async () => {
    const { notifications: _, ...silent } = demoApp
    const { make, pass, got, sandbox } = listenIn({ apps: [silent] })
    await make()
    await pass(10 * seconds)
    expect([got, sandbox.notices('demo')]).toEqual([[], []])
    const alone = playPlayers()
    await alone.make()
    await alone.clock.advance(10 * seconds)
    expect(alone.sandbox.notices('demo')).toEqual([])
  })

  it('does not need anyone to look at the world in between', async () => {
    const { make, clock, sandbox, told } = listenIn()
    await make()
    await clock.advance(60 * minutes)
    sandbox.universe.advance()
    await clock.advance(0)
    expect(told().map(({ eventType }) => eventType)).toEqual([1, 4, 4])
  })

  it('comes in order though its receiver looks at the world before anything else', async () => {
    const types: unknown[] = []
    const stage = playPlayers({
      deliver: async (_, { body }) => {
        stage.sandbox.universe.advance()
        types.push(JSON.parse(body).eventType, JSON.parse(body).payload.player.status)
        return 200
      },
    })
    await stage.make()
    await stage.clock.advance(60 * minutes)
    stage.sandbox.universe.advance()
    await stage.clock.advance(0)
    expect(types).toEqual([1, 'idle', 4, 'connecting', 4, 'running'])
  })

  it('may be answered with a question to the world', async () => {
    const listed: number[] = []
    const stage = listenIn({}, async () => {
      listed.push((await stage.send('GET', 'v1/projects/demo/cloud-player/players')).status)
      return 204
    })
    await stage.make()
    await stage.pass(10 * seconds)
    expect(listed).toEqual([200, 200, 200])
    expect(stage.sandbox.notices('demo').every(({ outcome }) => outcome === 'delivered')).toBe(true)
  })
})

describe('a delivery that is not accepted', () => {
  it.each([
    ['another status', async () => 500],
    ['a redirect', async () => 302],
    ['no connection', () => Promise.reject(new Error('refused'))],
    [
      'an error at once',
      () => {
        throw new Error('no such server')
      },
    ],
  ])('is tried three times: %s', async (_, answer) => {
    const { make, remove, pass, told, sandbox } = listenIn({}, answer)
    await remove(await make({ idleTimeout: 600 }))
    await pass(2 * minutes)
    const [notice] = sandbox.notices('demo')
    expect(notice).toMatchObject({ outcome: 'given-up', eventType: 1 })
    const tries = told().filter(({ noticeId }) => noticeId === notice!.noticeId)
    expect(tries.map(({ notifyMs }) => notifyMs - notice!.at)).toEqual([500, 5_500, 35_500])
    expect(notice!.sentAt).toEqual(tries.map(({ notifyMs }) => notifyMs))
    const { notifyMs: __, ...first } = tries[0]!
    for (const { notifyMs: ___, ...again } of tries) expect(again).toEqual(first)
  })

  it('ends when it is accepted', async () => {
    const { make, remove, pass, told } = listenIn({}, async n => (n < 3 ? 503 : 201))
    await remove(await make())
    await pass(2 * minutes)
    const [first, second] = [told()[0]!.noticeId, told()[1]!.noticeId]
    const counts = [first, second].map(id => told().filter(({ noticeId }) => noticeId === id).length)
    expect(counts).toEqual([2, 2])
  })
})

describe('the way of notifications', () => {
  const busy = async (switches: NonNullable<SandboxOptions['switches']>) => {
    const stage = listenIn({ switches: { playerQuota: 200, ...switches } })
    for (let uid = 1; uid <= 100; uid++) await stage.make({ uid })
    await stage.pass(3 * minutes)
    const times = stage.told().map(({ payload }) => payload.lts)
    return {
      ...stage,
      notices: stage.sandbox.notices('demo'),
      ids: stage.told().map(({ noticeId }) => noticeId),
      isInOrder: times.every((time, index) => index === 0 || times[index - 1]! <= time),
    }
  }

  it('loses, repeats and mixes up nothing unless told to', async () => {
    const { ids, notices, isInOrder } = await busy({})
    expect(ids).toEqual(notices.map(({ noticeId }) => noticeId))
    expect([ids.length, isInOrder]).toEqual([300, true])
  })

  it('loses a share', async () => {
    const { ids, notices } = await busy({ noticeLossRate: 0.3 })
    const lost = notices.filter(({ outcome }) => outcome === 'lost')
    expect(lost.length).toBeGreaterThan(60)
    expect(lost.length).toBeLessThan(120)
    expect(new Set(ids)).toEqual(
      new Set(notices.filter(({ outcome }) => outcome === 'delivered').map(({ noticeId }) => noticeId)),
    )
    expect(lost.every(({ sentAt }) => sentAt.length === 0)).toBe(true)
  })

  it('repeats a share once, with the same ID', async () => {
    const { ids, notices } = await busy({ noticeRepeatRate: 0.3 })
    const repeated = ids.length - new Set(ids).size
    expect(new Set(ids).size).toBe(notices.length)
    expect(repeated).toBeGreaterThan(60)
    expect(repeated).toBeLessThan(120)
    expect(notices.filter(({ sentAt }) => sentAt.length === 2).length).toBe(repeated)
  })

  it('delays a share behind newer ones', async () => {
    const { ids, notices, isInOrder } = await busy({ noticeDisorderRate: 0.3 })
    expect([new Set(ids).size, ids.length, isInOrder]).toEqual([notices.length, 300, false])
  })
})

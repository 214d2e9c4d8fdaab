import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { createPlayer, named } from '../../src/client/create-player.ts'
import { CallError } from '../../src/client/errors.ts'
import type { Created } from '../../src/client/types.ts'
import { errorOf, outcomeOf } from './harness.ts'
import { type Fate, fates, Killed, PlayerWorld } from './world.ts'

const wanted = { name: 'math', channelName: 'room-1', uid: 7, streamUrl: 'rtmp://a/b' }

const app = { id: 'app', region: 'ap' }

let world: PlayerWorld

beforeEach(() => {
  world = new PlayerWorld()
})

const creating = (given: typeof wanted & Readonly<Record<string, unknown>> = wanted) =>
  createPlayer(world.ports(), app, given)
const create = (given = wanted) => outcomeOf(world.clock, creating(given))
const failure = () => errorOf(world.clock, creating())
const intent = () => world.intents.rows.get('app math')

test('of a client that is closed meanwhile nobody waits: it says by which name to look', async () => {
  world.createFates = ['answer lost']
  const fate = creating().catch((error: unknown) => error)
  await world.clock.advance(1_000)
  world.closing.abort()
  await world.clock.advance(0)
  expect(await Promise.race([fate, Promise.resolve('waits')])).toMatchObject({
    kind: 'unsettled',
    message: expect.stringMatching(
      /^players\.createPlayer: the client was closed, and nobody knows .* look for math in channel room-1/,
    ),
  })
  expect(world.clock.monotonic()).toBe(1_000)
  expect(world.count('createPlayer')).toBe(1)
  expect(intent()).toMatchObject({ state: 'open', attempts: 1 })
})

describe('a Create that is answered', () => {
  test('is one request, and its intent was written down before', async () => {
    const ask = world.ports().ask
    const ports = {
      ...world.ports(),
      ask: (...all: Parameters<typeof ask>) => {
        expect(intent()).toMatchObject({ state: 'open', attempts: 1 })
        return ask(...all)
      },
    }
    const created = await outcomeOf(world.clock, createPlayer(ports, app, wanted))
    expect(created).toEqual({
      player: { id: 'player-1', uid: 7, createTs: 1_767_600_000, status: 'idle' },
      fields: 'uid,id,createTs,status',
      name: 'math',
      adopted: false,
    })
    expect(world.requests.map(({ operation }) => operation)).toEqual(['createPlayer'])
    expect(intent()).toMatchObject({ state: 'done', playerId: 'player-1' })
  })

  test.each([
    [undefined, 'ap'],
    ['eu', 'eu'],
  ])('in the region %s is noted to be made in %s', async (region, noted) => {
    await outcomeOf(world.clock, createPlayer(world.ports(), app, { ...wanted, region }))
    expect(intent()).toMatchObject({ region: noted })
  })

  test('without a name is given one that tells where it comes from', () => {
    const random = { next: () => 0, uuid: () => 'abc' }
    expect(named({ uid: 1 }, { random })).toEqual({ uid: 1, name: 'penstock-abc' })
    expect(named({ uid: 1, name: 'math' }, { random }).name).toBe('math')
  })
})

describe('a Create whose answer leaves it open whether there is a player', () => {
  test.each<[Fate, boolean]>([
    ['504 after acting', true],
    ['answer lost', true],
    ['fails after acting', true],
    ['acts late', true],
    ['504 before acting', false],
    ['broken before acting', false],
  ])('%s: adopted is %s, and there is one player', async (fate, adopted) => {
    world.createFates = [fate]
    const { player, ...rest } = await create()
    expect(rest).toMatchObject({ name: 'math', adopted })
    expect(world.made.map(({ id }) => id)).toEqual([player.id])
    expect(world.count('createPlayer')).toBe(adopted ? 1 : 2)
  })

  test('waits until a new player must show before it looks, and looks before it asks again', async () => {
    world.createFates = ['504 before acting']
    await create()
    const [first, look, again] = world.requests
    expect([first, look, again].map(each => each?.operation)).toEqual([
      'createPlayer',
      'listPlayers',
      'createPlayer',
    ])
    expect(look!.at - first!.at).toBeGreaterThan(10_000)
    expect(world.notes.join()).toMatch(
      /attempt 1: .*\(request r\); looking in 12 s whether player math was made/,
    )
  })

  test('finds its player on any page and by its name alone', async () => {
    for (let i = 0; i < 5; i++) world.add(`other-${i}`, 'room-1', 60_000)
    world.thin = true
    world.createFates = ['504 after acting']
    expect(await create()).toMatchObject({ player: { id: 'player-6' }, adopted: true })
    expect(world.count('createPlayer')).toBe(1)
  })

  test('is refused the name by its own player while the lists are down, and adopts it', async () => {
    world.createFates = ['504 after acting']
    world.listFates = ['unavailable', 'unavailable', 'unavailable']
    expect(await create()).toMatchObject({ player: { id: 'player-1' }, adopted: true })
    expect(world.made).toHaveLength(1)
  })

  test('adopts a player that is longer out of the lists than it should be', async () => {
    world.blind = [3_600_000]
    world.createFates = ['504 after acting']
    expect(await create()).toMatchObject({ player: { id: 'player-1' }, adopted: true })
  })

  test('is refused after one that was done, and adopts its player all the same', async () => {
    world.createFates = ['504 after acting', 'refused']
    world.listFates = ['unavailable']
    expect(await create()).toMatchObject({ player: { id: 'player-1' }, adopted: true })
  })

  test('is refused after one that was not done, and says so', async () => {
    world.createFates = ['504 before acting', 'refused']
    expect(await failure()).toMatchObject({ kind: 'forbidden' })
  })

  test('does not take a player that was there before for its own while the lists are down', async () => {
    world.add('math', 'room-1', 3_600_000, 7)
    world.createFates = ['504 before acting']
    world.listFates = ['unavailable', 'unavailable', 'unavailable']
    expect(await failure()).toMatchObject({ kind: 'conflict', existing: { id: 'player-1' } })
    expect(world.made).toHaveLength(1)
  })

  test('does not take a player that was there before for its own', async () => {
    world.add('math', 'room-1', 3_600_000, 7)
    world.createFates = ['504 before acting']
    expect(await failure()).toMatchObject({ kind: 'conflict', existing: { id: 'player-1' } })
    expect(intent()?.state).toBe('failed')
  })

  test.each([
    ['in another channel', 'room-2', 7, 0],
    ['with another user ID', 'room-1', 8, 0],
    ['in another channel, too new to be listed', 'room-2', 7, 10_000],
  ])('does not take a new player %s for its own', async (_what, channel, uid, blind) => {
    world.createFates = ['504 before acting']
    const fate = creating().catch((error: unknown) => error)
    await world.clock.advance(11_000)
    world.blind = [blind]
    world.add('math', channel, 0, uid)
    expect(await outcomeOf(world.clock, fate)).toMatchObject({
      kind: 'conflict',
      existing: { id: 'player-1', channelName: channel, uid },
    })
    expect(world.made).toHaveLength(1)
  })

  test('gives up after four attempts, says by which name to look, and leaves the intent open', async () => {
    world.createFates = Array<Fate>(9).fill('504 before acting')
    const error = await failure()
    expect(error).toBeInstanceOf(CallError)
    expect(error).toMatchObject({ kind: 'unsettled' })
    expect(error.message).toContain('look for math in channel room-1')
    expect({ attempts: world.count('createPlayer'), intent: intent()?.state }).toEqual({
      attempts: 4,
      intent: 'open',
    })
  })
})

describe('a Create that is refused', () => {
  test('because the name is taken shows who has it, and changes nothing', async () => {
    world.add('math', 'room-9', 1_000)
    expect(await failure()).toMatchObject({
      kind: 'conflict',
      status: 409,
      message: 'players.createPlayer: player player-1 has the name math already',
      existing: { id: 'player-1', channelName: 'room-9', status: 'running' },
    })
    expect({ creates: world.count('createPlayer'), intent: intent()?.state }).toEqual({
      creates: 1,
      intent: 'failed',
    })
  })

  test('shows the ID alone where no list can be had', async () => {
    world.add('math', 'room-9', 1_000)
    world.listFates = ['unavailable']
    expect(await failure()).toMatchObject({ kind: 'conflict', existing: { id: 'player-1' } })
  })
})

describe('a process that died', () => {
  test.each<Fate>(['killed after acting', 'killed before sending'])(
    '%s: the next one makes no second player',
    async fate => {
      world.createFates = [fate]
      expect(await failure()).toBeInstanceOf(Killed)
      await world.clock.advance(3_600_000)
      const { player } = await create()
      expect(world.living.map(({ id }) => id)).toEqual([player.id])
      expect(intent()).toMatchObject({ state: 'done', playerId: player.id })
    },
  )

  test('a player of another kind under the same name is another intent', async () => {
    world.createFates = ['killed after acting']
    await failure()
    const error = await errorOf(world.clock, creating({ ...wanted, channelName: 'room-2' }))
    expect(error).toMatchObject({ kind: 'conflict', existing: { id: 'player-1', channelName: 'room-1' } })
  })

  test('a new token does not make it another intent', async () => {
    world.createFates = ['killed after acting']
    await errorOf(world.clock, creating({ ...wanted, token: 'one' }))
    const { adopted } = await outcomeOf(world.clock, creating({ ...wanted, token: 'two' }))
    expect(adopted).toBe(true)
  })
})

describe('whatever becomes of requests and answers', () => {
  const plan = fc.record({
    fates: fc.array(fc.constantFrom(...fates.filter(fate => fate !== 'refused')), { maxLength: 9 }),
    lists: fc.array(
      fc.option(fc.constantFrom('unavailable', 'malformed', 'timeout'), { nil: undefined, freq: 2 }),
      { maxLength: 9 },
    ),
    blind: fc.array(fc.integer({ min: 0, max: 10_000 }), { maxLength: 9 }),
    thin: fc.boolean(),
    others: fc.integer({ min: 0, max: 5 }),
  })

  test('there is exactly one player for an intent, and the caller knows which', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ fates, lists, blind, thin, others }) => {
        world = new PlayerWorld()
        for (let i = 0; i < others; i++) world.add(`other-${i}`, i % 2 ? 'room-1' : 'room-2', 600_000)
        Object.assign(world, { createFates: [...fates], listFates: [...lists], blind: [...blind], thin })
        const created = await untilKnown()
        // What acts late has acted by then.
        await world.clock.advance(60_000)
        const ours = world.made.filter(({ name }) => name === 'math')
        expect(ours.map(({ id }) => id)).toEqual([created.player.id])
        expect(intent()).toMatchObject({ state: 'done', playerId: created.player.id })
      }),
      { numRuns: 400 },
    )
  })

  /** A caller that calls again, with the same name, until it is told. */
  async function untilKnown(): Promise<Created> {
    for (let call = 1; call <= 12; call++) {
      world.intents.isDead = false
      const ended = await outcomeOf(
        world.clock,
        creating().catch((error: unknown) => {
          if (error instanceof Killed) return undefined
          if (error instanceof CallError && error.kind === 'unsettled') return undefined
          throw error
        }),
      )
      if (ended) return ended
    }
    throw new Error('nobody ever knew')
  }
})

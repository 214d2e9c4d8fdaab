import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { CallError } from '../../src/client/errors.ts'
import { deletePlayer } from '../../src/client/players.ts'
import { errorOf, outcomeOf } from './harness.ts'
import { type Fate, fates, PlayerWorld } from './world.ts'

let world: PlayerWorld

beforeEach(() => {
  world = new PlayerWorld()
  world.add('math', 'room-1', 60_000)
})

const deleting = (id = 'player-1') => deletePlayer(world.ports(), 'app', { id })
const remove = (id?: string) => outcomeOf(world.clock, deleting(id))

describe('a Delete', () => {
  test('that is answered is one request', async () => {
    await remove()
    expect(world.living).toEqual([])
    expect(world.requests.map(({ operation }) => operation)).toEqual(['deletePlayer'])
  })

  test('of a player that is not there is as good, once two whole lists say so', async () => {
    await remove('player-9')
    expect(world.count('deletePlayer')).toBe(1)
    expect(world.requests.filter(({ at }) => at >= 10_000)).toMatchObject([
      { operation: 'listPlayers' },
      { operation: 'listPlayers' },
    ])
  })

  test('of a client that is closed meanwhile says at once that nobody knows', async () => {
    world.deleteFates = ['answer lost']
    const fate = deleting().catch((error: unknown) => error)
    await world.clock.advance(500)
    world.closing.abort()
    await world.clock.advance(0)
    expect(await Promise.race([fate, Promise.resolve('waits')])).toMatchObject({ kind: 'unsettled' })
    expect(world.requests).toHaveLength(1)
  })

  test('in another region than that of the player is not taken for done', async () => {
    const asked = { id: 'player-1', region: 'eu' }
    const error = await errorOf(world.clock, deletePlayer(world.ports(), 'app', asked))
    expect(error).toMatchObject({
      kind: 'not_found',
      status: 404,
      message: expect.stringContaining('region'),
    })
    expect(world.living).toHaveLength(1)
  })

  test('that was done without an answer is believed when two whole lists miss the player', async () => {
    world.deleteFates = ['504 after acting']
    await remove()
    const proof = world.requests.filter(({ at }) => at >= 10_000)
    expect(proof.map(({ operation }) => operation)).toEqual(['listPlayers', 'listPlayers'])
    expect(world.count('deletePlayer')).toBe(1)
  })

  test('that was not done is asked for again as long as the player is listed', async () => {
    world.deleteFates = ['504 before acting', 'broken before acting']
    await remove()
    expect(world.living).toEqual([])
    expect(world.count('deletePlayer')).toBe(3)
  })

  test('of a player that is too new to be listed is not taken for done', async () => {
    world.blind = [9_000]
    const { id } = world.add('new', 'room-1', 0)
    world.deleteFates = ['504 before acting']
    await remove(id)
    expect(world.living.map(({ name }) => name)).toEqual(['math'])
  })

  test('is asked for again while the lists are down, and 404 alone does not end it', async () => {
    world.deleteFates = ['answer lost']
    world.listFates = ['unavailable']
    await remove()
    expect(world.count('deletePlayer')).toBe(2)
    expect(world.count('listPlayers')).toBeGreaterThan(2)
  })

  test('that is refused is told at once', async () => {
    const ask = () =>
      Promise.reject(
        new CallError({ family: 'players', name: 'deletePlayer' } as never, {
          kind: 'forbidden',
          text: 'no',
        }),
      )
    const error = await errorOf(world.clock, deletePlayer({ ...world.ports(), ask }, 'app', { id: 'x' }))
    expect(error).toMatchObject({ kind: 'forbidden' })
    expect(world.clock.monotonic()).toBe(0)
  })

  test('that never succeeds ends, and says that nobody knows', async () => {
    world.deleteFates = Array<Fate>(20).fill('504 before acting')
    const error = await errorOf(world.clock, deleting())
    expect(error).toMatchObject({ kind: 'unsettled' })
    expect(world.count('deletePlayer')).toBeLessThanOrEqual(6)
  })

  test('that ends well leaves no such player, whatever became of requests and answers', async () => {
    const ends = fates.filter(fate => !fate.startsWith('killed') && fate !== 'refused')
    const plan = fc.record({
      deletes: fc.array(fc.constantFrom(...ends), { maxLength: 8 }),
      lists: fc.array(fc.option(fc.constantFrom('unavailable', 'malformed'), { nil: undefined }), {
        maxLength: 8,
      }),
      blind: fc.integer({ min: 0, max: 10_000 }),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ deletes, lists, blind }) => {
        world = new PlayerWorld()
        world.blind = [blind]
        const { id } = world.add('math', 'room-1', 0)
        Object.assign(world, { deleteFates: [...deletes], listFates: [...lists] })
        const isKnown = await outcomeOf(
          world.clock,
          deleting(id).then(
            () => true,
            () => false,
          ),
        )
        if (isKnown) expect(world.living).toEqual([])
      }),
      { numRuns: 400 },
    )
  })
})

import { describe, expect, it } from 'vitest'
import { playPlayers, stream } from './players-play.ts'

const seconds = 1_000
const minutes = 60 * seconds

type Stage = ReturnType<typeof playPlayers>

const statuses = (stage: Stage, id: string) => stage.truth(id).changes.map(({ status }) => status)

/** How long after its creation something happened to a player, seconds. */
function moments(stage: Stage, id: string) {
  const { createdAt, changes, destroyedAt } = stage.truth(id)
  const after = (time: number) => (time - createdAt) / seconds
  const at = (status: string) => after(changes.findLast(change => change.status === status)!.at)
  return { at, end: destroyedAt === undefined ? undefined : after(destroyedAt) }
}

/** A player, made and left alone for a while. */
async function live(fields: object, ms: number, options: Parameters<typeof playPlayers>[0] = {}) {
  const stage = playPlayers(options)
  const id = await stage.make({ ...fields })
  await stage.clock.advance(ms)
  return { stage, ...stage.truth(id) }
}

describe('a player', () => {
  it('is idle, connects, and plays a live stream without an end', async () => {
    const { stage, id, changes, createdAt, destroyedAt } = await live({}, 48 * 60 * minutes)
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running'])
    expect(changes[0]!.at).toBe(createdAt)
    expect(changes.map(({ at }) => at)).toEqual(changes.map(({ at }) => at).toSorted((a, b) => a - b))
    expect(changes[2]!.at - createdAt).toBeLessThan(10 * seconds)
    expect(destroyedAt).toBeUndefined()
  })

  it('is listed with the status that it has', async () => {
    const { make, list, clock } = playPlayers({ switches: { listBlindSeconds: 0 } })
    await make({ playTs: Math.floor(clock.now() / 1_000) + 60, idleTimeout: 120 })
    await clock.advance(40 * seconds)
    expect((await list()).body.players[0]!.status).toBe('idle')
    await clock.advance(30 * seconds)
    expect((await list()).body.players[0]!.status).toBe('running')
  })

  it('fails where its stream cannot be reached, and is destroyed after the idle time-out', async () => {
    const { stage, id, reason } = await live(
      { streamUrl: 'http://unreachable.example/a.flv', idleTimeout: 60 },
      5 * minutes,
    )
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'failed'])
    const { at, end } = moments(stage, id)
    expect(end! - at('failed')).toBe(60)
    expect(reason).toBe('idle-timeout')
  })

  it('fails by the share of the switch, alike for a seed', async () => {
    const failed = async (seed: number) => {
      const stage = playPlayers({ seed, switches: { playerFailRate: 0.3, playerQuota: 100 } })
      const ids: string[] = []
      for (let uid = 1; uid <= 60; uid++) ids.push(await stage.make({ uid }))
      await stage.clock.advance(20 * seconds)
      return ids.flatMap((id, index) => (statuses(stage, id).includes('failed') ? [index] : []))
    }
    const first = await failed(1)
    expect(first.length).toBeGreaterThan(8)
    expect(first.length).toBeLessThan(30)
    expect(await failed(1)).toEqual(first)
    expect(await failed(2)).not.toEqual(first)
  })

  it('ends when it is deleted, whatever it was doing, and nothing happens to it afterwards', async () => {
    const stage = playPlayers()
    const id = await stage.make()
    expect((await stage.remove(id)).status).toBe(200)
    await stage.clock.advance(20 * minutes)
    expect(stage.truth(id)).toMatchObject({ reason: 'deleted', destroyedAt: stage.truth(id).createdAt + 20 })
    expect(statuses(stage, id)).toEqual(['idle'])
  })

  it('is destroyed by errors of the servers at the rate of the switch', async () => {
    const stage = playPlayers({ switches: { playerDestroysPerHour: 2, playerQuota: 100 } })
    for (let uid = 1; uid <= 80; uid++) await stage.make({ uid })
    await stage.clock.advance(30 * minutes)
    const players = stage.sandbox.players('demo')
    const destroyed = players.filter(({ reason }) => reason === 'server-error')
    /** Half an hour at two an hour leaves 1/e of them. */
    expect(destroyed.length).toBeGreaterThan(38)
    expect(destroyed.length).toBeLessThan(62)
    expect(players.filter(({ destroyedAt }) => destroyedAt === undefined).length).toBe(80 - destroyed.length)
  })
})

describe('the idle time-out', () => {
  it.each([
    [undefined, 300],
    [null, 300],
    [5, 5],
    [600, 600],
    [4, 5],
    [0, 5],
    [-7, 5],
    [601, 600],
    [1e9, 600],
    [42.5, 42.5],
  ])('asked as %s is %s seconds', async (idleTimeout, expected) => {
    const { stage, id } = await live({ streamUrl: 'http://unreachable.example/a', idleTimeout }, 11 * minutes)
    const { at, end } = moments(stage, id)
    expect(end! - at('failed')).toBeCloseTo(expected, 3)
  })

  it('begins anew with each time of being idle', async () => {
    const { stage, id, reason } = await live(
      { streamUrl: 'https://media.example/film.mp4?seconds=100', idleTimeout: 30 },
      5 * minutes,
    )
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running', 'idle'])
    const { at, end } = moments(stage, id)
    expect(end! - at('idle')).toBe(30)
    expect(reason).toBe('idle-timeout')
  })
})

describe('playTs', () => {
  const inSeconds = (stage: Stage, s: number) => Math.floor((stage.clock.now() + 510) / 1_000) + s

  it('in the future keeps a player idle until then', async () => {
    const stage = playPlayers()
    const playTs = inSeconds(stage, 200)
    const id = await stage.make({ playTs })
    await stage.clock.advance(199 * seconds)
    expect(statuses(stage, id)).toEqual(['idle'])
    await stage.clock.advance(10 * seconds)
    expect(stage.truth(id).changes[1]).toEqual({ status: 'connecting', at: playTs * 1_000 })
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running'])
  })

  it('as far ahead as allowed is within the usual idle time-out', async () => {
    const stage = playPlayers()
    await stage.clock.advance(490)
    const id = await stage.make({ playTs: inSeconds(stage, 300) })
    await stage.clock.advance(310 * seconds)
    expect(stage.truth(id).createdAt % 1_000).toBe(0)
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running'])
  })

  it('behind the idle time-out is never reached', async () => {
    const stage = playPlayers()
    const id = await stage.make({ playTs: inSeconds(stage, 100), idleTimeout: 20 })
    await stage.clock.advance(200 * seconds)
    expect([statuses(stage, id), moments(stage, id).end]).toEqual([['idle'], 20])
  })

  it('in the past changes nothing for a live stream', async () => {
    const stage = playPlayers()
    const id = await stage.make({ playTs: inSeconds(stage, -3_600) })
    await stage.clock.advance(60 * minutes)
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running'])
  })

  it('in the past takes a file up where it would be by then', async () => {
    const stage = playPlayers()
    const file = 'https://media.example/film.mp4?seconds=100'
    const id = await stage.make({ streamUrl: file, playTs: inSeconds(stage, -60) })
    const over = await stage.make({ streamUrl: file, playTs: inSeconds(stage, -101), uid: 8 })
    await stage.clock.advance(2 * minutes)
    const { at } = moments(stage, id)
    expect(at('idle') - at('running')).toBeCloseTo(40, 2)
    expect(statuses(stage, over)).toEqual(['idle', 'connecting', 'idle'])
  })
})

describe('a file', () => {
  const file = 'https://media.example/film.mkv?seconds=60'
  const played = async (fields: object) => {
    const { stage, id } = await live({ streamUrl: file, ...fields }, 10 * minutes)
    const { at } = moments(stage, id)
    return statuses(stage, id).at(-1) === 'idle' ? at('idle') - at('running') : undefined
  }

  it('is played once, as often as was asked, or again and again', async () => {
    expect(await played({})).toBeCloseTo(60, 2)
    expect(await played({ repeatTime: 1 })).toBeCloseTo(60, 2)
    expect(await played({ repeatTime: 4 })).toBeCloseTo(240, 2)
    expect(await played({ repeatTime: -1 })).toBeUndefined()
  })

  it('starts where it is told to, which must lie before its end', async () => {
    expect(await played({ seekPosition: 45 })).toBeCloseTo(15, 2)
    expect(await played({ seekPosition: 45, repeatTime: 2 })).toBeCloseTo(75, 2)
    const { stage, id } = await live({ streamUrl: file, seekPosition: 60 }, 20 * seconds)
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'failed'])
  })

  it('is told from live streams and pictures by its address', async () => {
    for (const streamUrl of [
      'https://x.example/a.jpg?seconds=9',
      'https://x.example/a.PNG',
      stream.streamUrl,
    ]) {
      const { stage, id } = await live({ streamUrl, seekPosition: 1e6 }, 60 * minutes)
      expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running'])
    }
    const { stage, id } = await live({ streamUrl: 'rtmp://live.example/show?seconds=60' }, 3 * minutes)
    expect(statuses(stage, id)).toEqual(['idle', 'connecting', 'running', 'idle'])
  })
})

describe('Delete', () => {
  it('answers an empty body with the ID in the header', async () => {
    const { make, remove } = playPlayers()
    const id = await make()
    const { status, text, headers } = await remove(id)
    expect([status, text, headers.get('x-resource-id')]).toEqual([200, '', id])
  })

  it('does not find what was never there, is destroyed, or lives in another region', async () => {
    const { make, remove, list, clock, violations } = playPlayers()
    const id = await make({}, 'eu')
    await clock.advance(10_000)
    for (const [gone, region] of [
      ['00000000-0000-4000-8000-000000000000', 'eu'],
      [id, 'ap'],
    ] as const) {
      const { status, body, headers } = await remove(gone, { region })
      expect([status, body]).toEqual([404, { message: 'Resource is not found and destroyed.' }])
      expect(headers.get('x-resource-id')).toBe(gone)
    }
    expect((await list()).body.totalSize).toBe(1)
    expect((await remove(id, { region: 'eu' })).status).toBe(200)
    expect((await remove(id, { region: 'eu' })).status).toBe(404)
    expect(violations()).toEqual({})
    const { status, body } = await remove(id, { region: 'us' })
    expect([status, body.message]).toEqual([400, 'invalid parameter: region'])
  })

  it('finds a player that lists do not show yet', async () => {
    const { make, remove, list } = playPlayers()
    const id = await make()
    expect((await list()).body.totalSize).toBe(0)
    expect((await remove(id)).status).toBe(200)
  })
})

describe('the truth', () => {
  it('is every player with its changes and its end, for other processes as well', async () => {
    const stage = playPlayers()
    const id = await stage.make({ name: 'n', account: 'tv' })
    await stage.clock.advance(10_000)
    await stage.remove(id)
    await stage.make({ uid: 8 })
    const { body } = await stage.send('GET', 'control/players', { headers: {} })
    const told = body as unknown as { readonly players: readonly object[] }
    expect(told.players).toEqual(JSON.parse(JSON.stringify(stage.sandbox.players('demo'))))
    expect(told.players[0]).toEqual({
      ...{ id, region: 'ap', name: 'n', uid: 7, account: 'tv' },
      ...{ channelName: 'stage', streamUrl: stream.streamUrl, createdAt: expect.any(Number) },
      changes: [
        { status: 'idle', at: expect.any(Number) },
        { status: 'connecting', at: expect.any(Number) },
        { status: 'running', at: expect.any(Number) },
      ],
      ...{ destroyedAt: stage.clock.now() - 510, reason: 'deleted' },
    })
    expect((await stage.send('GET', 'control/players?app=other')).status).toBe(404)
    expect(() => stage.sandbox.players('other')).toThrow('the sandbox has no app other')
  })
})

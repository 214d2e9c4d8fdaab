import { describe, expect, it } from 'vitest'
import { demoApp, type Switches } from '../src/index.ts'
import { paths, playPlayers, stream } from './players-play.ts'

type Kind = 'named' | 'unnamed' | 'delete' | 'list' | 'filtered'

let made = 0

/** Sends requests at the given milliseconds after a whole minute; says which were answered with 429, from 1. */
async function send(
  kinds: readonly (Kind | `${Kind} ${string}`)[] | Kind,
  times: readonly number[],
  options: { readonly switches?: Partial<Switches>; readonly apps?: readonly string[] } = {},
) {
  const { switches, apps = ['demo'] } = options
  const stage = playPlayers({
    switches: { playerQuota: 1_000, ...switches },
    apps: apps.map(id => ({ ...demoApp, id })),
  })
  await stage.clock.advance(60_000 - (stage.clock.now() % 60_000))
  const start = stage.clock.now()
  const refused: number[] = []
  for (const [index, time] of times.entries()) {
    await stage.clock.advance(start + time - stage.clock.now())
    const [kind, filter = 'a'] = (typeof kinds === 'string' ? kinds : kinds[index % kinds.length]!).split(' ')
    const root = paths.list.replace('demo', apps[index % apps.length]!)
    const { status } = await request(stage, kind as Kind, { root, filter })
    if (status === 429) refused.push(index + 1)
  }
  return { refused, violations: stage.violations() }
}

function request(
  { send }: ReturnType<typeof playPlayers>,
  kind: Kind,
  { root, filter }: { readonly root: string; readonly filter: string },
) {
  switch (kind) {
    case 'named':
      return send('POST', `ap/${root}`, { body: { ...stream, uid: 0, name: `n${made++}` } })
    case 'unnamed':
      return send('POST', `ap/${root}`, { body: { ...stream, uid: 0 } })
    case 'delete':
      return send('DELETE', `ap/${root}/x`)
    case 'list':
      return send('GET', root)
    case 'filtered':
      return send('GET', `${root}?filter=channelName%20eq%20${filter}`)
  }
}

const every = (count: number, ms: number) => Array.from({ length: count }, (_, n) => n * ms)
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)
const split = { switches: { playerLimits: 'split' } } as const

describe('in a second', () => {
  it('two players with names may be made', async () => {
    for (const options of [{}, split]) {
      const { refused, violations } = await send('named', [0, 500, 999, 1_999, 2_000, 2_999], options)
      expect(refused).toEqual([3])
      expect(violations).toEqual({ 'players-second-sliding': 1, 'players-second-fixed': 1 })
    }
  })

  it('two without a name, where all share a limit, and fifty where they have their own', async () => {
    expect((await send('unnamed', every(3, 10))).refused).toEqual([3])
    expect((await send('unnamed', every(51, 10), split)).refused).toEqual([51])
    expect((await send('unnamed', every(100, 20), split)).refused).toEqual([])
  })

  it('players with and without a name are counted together, or each by themselves', async () => {
    const kinds = ['named', 'unnamed', 'unnamed'] as const
    expect((await send(kinds, every(3, 10))).refused).toEqual([3])
    expect((await send(kinds, every(6, 10), split)).refused).toEqual([])
    expect((await send(kinds, every(9, 10), split)).refused).toEqual([7])
  })

  it('a hundred may be destroyed', async () => {
    for (const options of [{}, split]) {
      expect((await send('delete', every(101, 5), options)).refused).toEqual([101])
      expect((await send('delete', every(150, 10), options)).refused).toEqual([])
    }
  })

  it('two lists of a channel may be asked for', async () => {
    for (const options of [{}, split]) {
      const { refused } = await send('filtered', [0, 400, 800, 1_800], options)
      expect(refused).toEqual([3])
    }
  })

  it('two lists of everything, where all share a limit, and ten where they have their own', async () => {
    expect((await send('list', every(3, 50))).refused).toEqual([3])
    expect((await send('list', every(11, 50), split)).refused).toEqual([11])
  })
})

describe('in a minute', () => {
  it('fifteen lists of a channel may be asked for', async () => {
    for (const options of [{}, split]) {
      const { refused, violations } = await send('filtered', [...every(16, 3_900), 60_000], options)
      expect(refused).toEqual([16, 17])
      expect(violations).toEqual({ 'players-minute-sliding': 2, 'players-minute-fixed': 1 })
    }
  })

  it('fifteen lists of everything, where all share a limit, and twenty where they have their own', async () => {
    expect((await send('list', every(16, 3_000))).refused).toEqual([16])
    expect((await send('list', every(21, 2_000), split)).refused).toEqual([21])
  })

  it('the lists of each channel are counted by themselves only where limits are split', async () => {
    const kinds = ['filtered a', 'filtered b', 'list'] as const
    expect((await send(kinds, every(45, 1_000), split)).refused).toEqual([])
    expect((await send(kinds, every(45, 1_000))).refused).toEqual(numbers(16, 45))
  })

  it('as many players may be made as the seconds allow', async () => {
    expect((await send('named', every(100, 501))).refused).toEqual([])
  })
})

describe('whoever counts', () => {
  it('counts seconds of the clock or any second, refuses by one and sees violations of both', async () => {
    const times = [0, 999, 1_000, 1_998, 1_999]
    const sliding = await send('named', times)
    expect(sliding.refused).toEqual([4, 5])
    const fixed = await send('named', times, { switches: { limiter: 'fixed' } })
    expect(fixed.refused).toEqual([5])
    const violations = { 'players-second-sliding': 2, 'players-second-fixed': 1 }
    expect([sliding.violations, fixed.violations]).toEqual([violations, violations])
  })

  it('counts refused requests as well', async () => {
    expect((await send('named', every(10, 300))).refused).toEqual(numbers(3, 10))
  })

  it('counts for each project, or for a credential with all of its projects', async () => {
    const apps = ['one', 'two']
    expect((await send('named', every(4, 10), { apps })).refused).toEqual([])
    const switches = { countersPer: 'credential' } as const
    expect((await send('named', every(4, 10), { apps, switches })).refused).toEqual([3, 4])
  })

  it('counts a request that breaks another rule, and none of whoever is not known', async () => {
    const { create, send: ask, violations } = playPlayers()
    await create({})
    const { status } = await ask('POST', paths.create, { body: {} })
    expect(status).toBe(400)
    expect((await ask('POST', paths.create, { body: {} })).status).toBe(429)
    expect(violations()).toEqual({
      parameters: 2,
      'players-second-sliding': 1,
      'players-second-fixed': 1,
    })
    const stranger = playPlayers()
    for (let n = 0; n < 5; n++) await stranger.send('POST', paths.create, { body: stream, headers: {} })
    expect((await stranger.send('POST', paths.create, { body: stream })).status).toBe(200)
  })

  it('counts a request that never reached the world', async () => {
    const faults = [{ kind: 'status', status: 503, at: [1, 2] }] as const
    const { send: ask, violations } = playPlayers({ faults })
    const stati: number[] = []
    for (let n = 0; n < 3; n++) stati.push((await ask('POST', paths.create, { body: stream })).status)
    expect(stati).toEqual([503, 503, 429])
    expect(violations()).toEqual({ 'players-second-sliding': 1, 'players-second-fixed': 1 })
  })

  it('keeps the limits in the seconds of the clock, however fast the world runs', async () => {
    const { send: ask, clock } = playPlayers({ speed: 60 })
    const stati: number[] = []
    for (let n = 0; n < 3; n++) {
      stati.push((await ask('DELETE', paths.remove('x'))).status, (await ask('GET', paths.list)).status)
      await clock.advance(300)
    }
    expect(stati).toEqual([404, 200, 404, 200, 404, 429])
  })
})

describe('the quota', () => {
  const full = async (switches: Partial<Switches>) => {
    const stage = playPlayers({ switches })
    const { playerQuota } = stage.sandbox.settings.switches
    for (let uid = 1; uid <= playerQuota; uid++) await stage.make({ uid, name: `n${uid}` })
    return stage
  }

  it('is fifty living players, whatever they do', async () => {
    const { create, remove, sandbox, violations } = await full({})
    const { status, body, headers } = await create({ ...stream, uid: 99 })
    expect([status, body.message]).toEqual([429, 'resources quota exceeded'])
    expect(headers.get('x-resource-id')).toBeNull()
    const [first] = sandbox.players('demo')
    await remove(first!.id)
    expect((await create({ ...stream, uid: 99 })).status).toBe(200)
    expect((await create({ ...stream, uid: 100 })).status).toBe(429)
    expect(sandbox.players('demo').filter(({ destroyedAt }) => destroyedAt === undefined).length).toBe(50)
    expect(violations()).toEqual({})
  })

  it('may be another one, and be told with another status', async () => {
    const { create } = await full({ playerQuota: 2, playerQuotaStatus: '403' })
    const { status, body } = await create({ ...stream, uid: 99 })
    expect([status, body.message]).toEqual([403, 'resources quota exceeded'])
  })

  it('is not looked at before the name: a namesake is found even then', async () => {
    const { create, sandbox } = await full({ playerQuota: 2 })
    const { status, headers } = await create({ ...stream, uid: 99, name: 'n1' })
    expect([status, headers.get('x-resource-id')]).toEqual([409, sandbox.players('demo')[0]!.id])
  })
})

import { describe, expect, it } from 'vitest'
import { defaultSchool, type SandboxOptions, type TruePlayer } from '../src/index.ts'
import { lively, minutes, play } from './play.ts'

/** As large as the usual one, with little else going on. */
const quiet = { ...defaultSchool, students: 1, eventsPerMinute: 0.1 }

/** A school in which some time has passed, and its players. */
async function school(options: Partial<SandboxOptions> = {}, ms = 6 * 60 * minutes) {
  const stage = play({ profile: quiet, ...options })
  await stage.clock.advance(ms)
  return { ...stage, players: stage.sandbox.players('demo') }
}

/** Most players that lived at the same time. */
function most(players: readonly TruePlayer[]): number {
  const steps = players.flatMap(({ createdAt, destroyedAt = Number.POSITIVE_INFINITY }) => [
    [createdAt, 1] as const,
    [destroyedAt, -1] as const,
  ])
  let living = 0
  return Math.max(0, ...steps.sort(([a], [b]) => a - b).map(([, step]) => (living += step)))
}

describe('a school', () => {
  it('shows something in the channels of some lessons, from the first request on', async () => {
    const { players, linesOf } = await school({}, 0)
    const rooms = new Map(linesOf('room').map(room => [room.roomUuid, room]))
    expect(players.length).toBeGreaterThan(3)
    for (const { channelName, createdAt } of players) {
      expect(createdAt).toBeGreaterThan(rooms.get(channelName)!.openedAt)
    }
  })

  it('stays far from the quota', async () => {
    for (const seed of [1, 2, 3]) {
      const { players } = await school({ seed }, 24 * 60 * minutes)
      expect(players.length).toBeGreaterThan(100)
      expect(most(players)).toBeLessThan(30)
    }
  })

  it('ends most of its players with the lesson, and forgets some for a while', async () => {
    const { players, linesOf } = await school({}, 8 * 60 * minutes)
    const ends = new Map(linesOf('room').map(({ roomUuid, endedAt }) => [roomUuid, endedAt]))
    const over = players.filter(({ reason }) => reason === 'deleted')
    const late = over.filter(({ channelName, destroyedAt }) => destroyedAt! > ends.get(channelName)!)
    const punctual = over.filter(({ channelName, destroyedAt }) => destroyedAt === ends.get(channelName)!)
    expect(late.length).toBeGreaterThan(3)
    expect(punctual.length).toBeGreaterThan(late.length)
    expect(late.length + punctual.length).toBe(over.length)
  })

  it('plays films, pictures and live streams, some with a name, some in vain', async () => {
    const { players } = await school()
    const reasons = new Set(players.map(({ reason }) => reason))
    expect(reasons).toEqual(new Set([undefined, 'deleted', 'idle-timeout']))
    expect(new Set(players.map(({ name }) => name !== undefined))).toEqual(new Set([true, false]))
    const statuses = new Set(players.flatMap(({ changes }) => changes.map(({ status }) => status)))
    expect(statuses).toEqual(new Set(['idle', 'connecting', 'running', 'failed']))
  })

  it('does not end again what has ended', async () => {
    const { players } = await school({}, 12 * 60 * minutes)
    const timedOut = players.filter(({ reason }) => reason === 'idle-timeout')
    expect(timedOut.length).toBeGreaterThan(10)
    for (const { changes, destroyedAt, reason } of players) {
      const { status, at } = changes.at(-1)!
      if (status === 'running' || status === 'connecting' || destroyedAt === undefined) continue
      if (reason === 'idle-timeout') expect(destroyedAt - at).toBe(5 * minutes)
      else expect(destroyedAt - at).toBeLessThanOrEqual(5 * minutes)
    }
  })

  it('names channels as the document allows, and gives each player a user of its own', async () => {
    const { players } = await school({}, 24 * 60 * minutes)
    for (const { channelName, uid, name } of players) {
      expect(channelName).toMatch(/^[A-Za-z0-9 !#$%&()+\-:;<=.>?@[\]^_|~,]{1,64}$/)
      expect(uid).toBeGreaterThan(0)
      if (name !== undefined) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    }
    const names = players.flatMap(({ name }) => name ?? [])
    expect(new Set(names).size).toBe(names.length)
  })

  it('is the same for the same seed, and another one for another', async () => {
    const first = await school({ seed: 5 })
    const second = await school({ seed: 5 })
    expect(first.players).toEqual(second.players)
    expect((await school({ seed: 6 })).players).not.toEqual(first.players)
  })

  it('tells nobody of what happened before it was looked at', async () => {
    const bodies: string[] = []
    const deliver = async (_: string, { body }: { readonly body: string }) => bodies.push(body) && 200
    const { clock, sandbox } = play({ profile: lively, deliver })
    const start = clock.now()
    for (let n = 0; n < 60; n++) {
      await clock.advance(minutes / 2)
      sandbox.universe.advance()
    }
    await clock.advance(0)
    expect(bodies.length).toBeGreaterThan(0)
    for (const body of bodies) expect(JSON.parse(body).payload.lts).toBeGreaterThanOrEqual(start)
  })
})

describe.each(['backlog', 'idle'] as const)('a %s', kind => {
  it('has no players', async () => {
    const profile = kind === 'idle' ? { kind, rooms: 20 } : { kind, rooms: 5, eventsPerRoom: 50 }
    const { players } = await school({ profile })
    expect(players).toEqual([])
  })
})

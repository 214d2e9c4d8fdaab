import { describe, expect, it } from 'vitest'
import { at, fed, feedPath, key, listing, lively, minutes, play } from './play.ts'

type Stage = ReturnType<typeof play>

/** Asks the feed every ten seconds for some minutes. */
async function listen({ clock, get }: Stage, rounds = 60) {
  const answers: (readonly Record<string, unknown>[])[] = []
  for (let round = 0; round < rounds; round++) {
    answers.push(fed(await get(feedPath)))
    await clock.advance(10_000)
  }
  return answers
}

function made({ linesOf, clock }: Stage, withinMs: number): string[] {
  const since = clock.now() - withinMs
  return linesOf('event')
    .filter(event => event.at > since)
    .map(event => key({ ...event }))
}

function keys(answers: readonly (readonly Record<string, unknown>[])[]): string[] {
  return answers.flat().map(key)
}

describe('a sliding window', () => {
  it('holds all events of the last seconds of all rooms, each time', async () => {
    const stage = play({ switches: { feedWindowSeconds: 60 } })
    await stage.clock.advance(5 * minutes)
    const first = fed(await stage.get(feedPath)).map(key)
    expect(new Set(first)).toEqual(new Set(made(stage, 60_000)))
    expect(first.length).toBeGreaterThan(20)
    expect(fed(await stage.get(feedPath)).map(key)).toEqual(first)
  })

  it('is empty when nothing happened for longer than its length', async () => {
    const stage = play()
    stage.sandbox.universe.pause()
    await stage.clock.advance(31_000)
    expect(fed(await stage.get(feedPath))).toEqual([])
  })
})

describe('a consuming feed', () => {
  it('serves each event exactly once', async () => {
    const stage = play({ switches: { appFeed: 'consuming' } })
    const served = keys(await listen(stage))
    expect(new Set(served).size).toBe(served.length)
    expect(new Set([...served, ...fed(await stage.get(feedPath)).map(key)])).toEqual(
      new Set(stage.linesOf('event').map(event => key({ ...event }))),
    )
  })

  it('has spent an event once the answer is made, even when nobody reads it', async () => {
    const stage = play({
      switches: { appFeed: 'consuming' },
      faults: [{ kind: 'lost-response', operation: 'appEvents', at: [1] }],
    })
    const before = stage.linesOf('event').length
    await expect(stage.get(feedPath)).rejects.toThrow('connection was lost')
    expect(before).toBeGreaterThan(0)
    expect(fed(await stage.get(feedPath))).toEqual([])
  })

  it('keeps nothing of a room destroyed longer ago than its memory', async () => {
    const switches = { appFeed: 'consuming', roomMemorySeconds: 60, feedMemorySeconds: 120 } as const
    const stage = play({ switches })
    await stage.clock.advance(60 * minutes)
    const served = new Set(fed(await stage.get(feedPath)).map(event => event.roomUuid))
    const now = stage.clock.now()
    for (const { roomUuid, destroyedAt } of stage.linesOf('room')) {
      expect([roomUuid, served.has(roomUuid)]).toEqual([
        roomUuid,
        destroyedAt === undefined || destroyedAt + 120_000 > now,
      ])
    }
  })
})

describe('a redelivering feed', () => {
  it('serves every event and some of them again, later and among others', async () => {
    const stage = play({ switches: { appFeed: 'redelivering' } })
    const answers = await listen(stage)
    const served = keys(answers)
    const distinct = new Set(served)
    expect(served.length - distinct.size).toBeGreaterThan(50)
    for (const answer of answers) expect(new Set(answer.map(key)).size).toBe(answer.length)
    expect(distinct.size).toBeGreaterThan(stage.linesOf('event').length * 0.95)
  })
})

describe('the shape of the feed', () => {
  it('is an array by default', async () => {
    expect(fed(await play().get(feedPath))).toBeInstanceOf(Array)
  })

  it('may be a list', async () => {
    const { get } = play({ switches: { feedShape: 'list', feedWindowSeconds: 600 } })
    const data = listing(await get(feedPath))
    expect(data).toEqual({ total: data.list.length, count: data.list.length, nextId: null, list: data.list })
    expect(data.list.length).toBeGreaterThan(0)
  })

  it('may be one event with a nextId among its fields, or a nextId alone', async () => {
    const { get } = play({
      profile: { kind: 'idle', rooms: 1 },
      switches: { feedShape: 'object-with-next-id', appFeed: 'consuming' },
    })
    const first = (await get(feedPath)).body.data
    expect(first).toMatchObject({ cmd: expect.any(Number), nextId: expect.any(String) })
    for (let left = 0; left < 20; left++) await get(feedPath)
    expect(Object.keys((await get(feedPath)).body.data!)).toEqual(['nextId'])
  })

  it('may be one event an answer, and null when there is none', async () => {
    const { get, linesOf, sandbox } = play({
      profile: { kind: 'idle', rooms: 2 },
      switches: { feedShape: 'object', appFeed: 'consuming' },
    })
    const answers = [await get(feedPath), await get(feedPath), await get(feedPath)].map(
      answer => answer.body.data,
    )
    expect(answers).toEqual([
      expect.objectContaining({ roomUuid: linesOf('room')[0]!.roomUuid, sequence: 1 }),
      expect.objectContaining({ roomUuid: linesOf('room')[1]!.roomUuid, sequence: 1 }),
      null,
    ])
    expect(sandbox.status().apps[0]!.events.fed).toBe(2)
  })

  it('goes round a sliding window when it serves one event an answer', async () => {
    const { get } = play({ profile: { kind: 'idle', rooms: 3 }, switches: { feedShape: 'object' } })
    const rooms: unknown[] = []
    for (let n = 0; n < 6; n++)
      rooms.push((fed(await get(feedPath)) as unknown as { roomUuid: string }).roomUuid)
    expect(new Set(rooms).size).toBe(3)
  })
})

it('an event is the same in the feed and in the log of its room', async () => {
  const stage = play({ profile: lively, switches: { feedWindowSeconds: 300 } })
  const { roomUuid } = stage.running()
  const log = new Map((await stage.drain(at(roomUuid).events)).items.map(event => [key(event), event]))
  const ofRoom = fed(await stage.get(feedPath)).filter(event => event.roomUuid === roomUuid)
  expect(ofRoom.length).toBeGreaterThan(0)
  for (const event of ofRoom) expect(event).toEqual(log.get(key(event)))
})

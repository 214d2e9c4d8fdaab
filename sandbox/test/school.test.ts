import { describe, expect, it } from 'vitest'
import { at, listing, lively, minutes, play } from './play.ts'

describe('a school', () => {
  it('has classes that go on and classes that ended lately, from the first request on', () => {
    const states = play({ profile: { ...lively, classes: 12 } })
      .linesOf('room')
      .map(room => room.state)
    expect(states).toContain(1)
    expect(states).toContain(3)
  })

  it('is the same for the same seed and clock, however often it is asked', async () => {
    const asked = play({ seed: 'nine' })
    const left = play({ seed: 'nine' })
    for (let n = 0; n < 40; n++) {
      await asked.clock.advance(30_000)
      await asked.get(at(asked.running().roomUuid).events)
    }
    await left.clock.advance(20 * minutes)
    expect([...asked.sandbox.truth()]).toEqual([...left.sandbox.truth()])
  })

  it('is another one for another seed', () => {
    expect([...play({ seed: 1 }).sandbox.truth()]).not.toEqual([...play({ seed: 2 }).sandbox.truth()])
  })

  it('runs as many times faster as it is told', async () => {
    const { clock, sandbox } = play({ speed: 60 })
    const before = sandbox.status().now
    await clock.advance(1_000)
    expect(sandbox.status().now - before).toBe(60_000)
  })

  it('does not notice when someone sets the wall clock', async () => {
    const { clock, sandbox } = play()
    const before = sandbox.status()
    clock.jump(-2 * 86_400_000)
    expect(sandbox.status()).toEqual(before)
  })
})

describe('a class', () => {
  it('starts, ends, closes, is remembered about an hour, and then is gone', async () => {
    const { clock, get, roomIn, linesOf } = play()
    const { roomUuid, endedAt } = roomIn(room => room.state === 3)
    const states = linesOf('event', roomUuid)
      .filter(event => event.cmd === 1)
      .map(event => (event.data as { state: number }).state)
    expect(states).toEqual([1, 2, 3])
    const untilForgotten = endedAt! + 60 * minutes - clock.now()
    await clock.advance(untilForgotten - 4 * minutes)
    expect((await get(at(roomUuid).events)).status).toBe(200)
    await clock.advance(8 * minutes)
    for (const path of Object.values(at(roomUuid))) expect((await get(path)).body.code).toBe(20404100)
    expect(roomIn(room => room.roomUuid === roomUuid).destroyedAt).toBeGreaterThan(endedAt!)
  })

  it('is empty at its end: whoever entered has left', () => {
    const { roomIn, linesOf } = play()
    const { roomUuid } = roomIn(room => room.state === 3)
    const present = new Map<string, number>()
    for (const { data } of linesOf('event', roomUuid).filter(event => event.cmd === 20)) {
      const { onlineUsers, offlineUsers } = data as Record<string, { userUuid: string }[]>
      for (const { userUuid } of onlineUsers!) present.set(userUuid, (present.get(userUuid) ?? 0) + 1)
      for (const { userUuid } of offlineUsers!) present.set(userUuid, (present.get(userUuid) ?? 0) - 1)
    }
    expect(present.size).toBeGreaterThan(2)
    expect([...present.values()].every(balance => balance === 0)).toBe(true)
  })

  it('has a call in the channel of its name, with a session for each stay', () => {
    const { roomIn, linesOf } = play()
    const { roomUuid } = roomIn(room => room.state === 3)
    const { call } = linesOf('call', roomUuid)[0]!
    const entries = linesOf('event', roomUuid).filter(event => {
      return event.cmd === 20 && (event.data as { onlineUsers: unknown[] }).onlineUsers.length > 0
    })
    expect(call.cname).toBe(roomUuid)
    const people = call.sessions.filter(({ user }) => user === 'person')
    expect(people.map(session => session.joinedAt)).toEqual(entries.map(event => event.at))
    expect(call.sessions.every(({ joinedAt, leftAt }) => leftAt !== undefined && leftAt >= joinedAt)).toBe(
      true,
    )
  })

  it('has its events in the order of their times and its sequences', () => {
    const { linesOf, running } = play()
    const times = linesOf('event', running().roomUuid).map(event => event.at)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.every(Number.isInteger)).toBe(true)
  })
})

describe('a pause', () => {
  it('keeps the world as it is while time goes on, and resuming loses nothing', async () => {
    const { clock, sandbox } = play()
    const undisturbed = play()
    sandbox.universe.pause()
    const quiet = [...sandbox.truth()]
    await clock.advance(90 * minutes)
    expect([...sandbox.truth()]).toEqual(quiet)
    sandbox.universe.resume()
    await clock.advance(5 * minutes)
    await undisturbed.clock.advance(5 * minutes)
    const told = (lines: Iterable<object>) => [...lines].length
    expect(told(sandbox.truth())).toBe(told(undisturbed.sandbox.truth()))
  })
})

describe('a backlog', () => {
  it('has exactly as many events in each room as it is told, and composes them alike each time', async () => {
    const { get, linesOf, sandbox } = play({ profile: { kind: 'backlog', rooms: 150, eventsPerRoom: 120 } })
    const rooms = linesOf('room')
    expect(rooms.map(room => room.events)).toEqual(Array.from({ length: 150 }, () => 120))
    expect(sandbox.status().apps[0]).toMatchObject({
      rooms: { started: 150 },
      events: { made: 150 * 120 },
    })
    const [first] = rooms
    expect(linesOf('event', first!.roomUuid)).toEqual(linesOf('event', first!.roomUuid))
    expect(listing(await get(at(first!.roomUuid).events)).list.length).toBe(100)
  })

  it('is told by the feed: the first event of each room', async () => {
    const { get, linesOf } = play({ profile: { kind: 'backlog', rooms: 150, eventsPerRoom: 12 } })
    const { body } = await get('/ap/edu/polling/apps/demo/v2/rooms/sequences')
    const firsts = linesOf('event').filter(event => event.sequence === 1)
    expect(body.data).toEqual(
      firsts.map(({ roomUuid, cmd, data }) => ({ roomUuid, cmd, sequence: 1, version: 1, data })),
    )
  })

  it('and idle rooms stay silent', async () => {
    const { clock, sandbox } = play({ profile: { kind: 'idle', rooms: 50 } })
    const before = [...sandbox.truth()]
    await clock.advance(24 * 60 * minutes)
    expect([...sandbox.truth()]).toEqual(before)
  })
})

describe('a class that ended', () => {
  it('is started once more while its room is known, where the world is made so', async () => {
    const { clock, sandbox, linesOf } = play({ switches: { classRestart: 'on' } })
    await clock.advance(3 * 60 * minutes)
    const lives = [...sandbox.truth()]
      .filter(line => line.kind === 'room')
      .map(({ roomUuid }) =>
        linesOf('event', roomUuid)
          .filter(({ cmd }) => cmd === 1)
          .map(({ data }) => (data as { state: number }).state)
          .join(''),
      )
    expect(lives).toContain('123123')
    expect(lives).toContain('123')
  })

  it('is followed by one whose first events tell no time and say something else, where the world is made so', async () => {
    const { clock, linesOf } = play({ switches: { eventTimes: 'absent', roomReuse: 'on' } })
    await clock.advance(150 * minutes)
    const events = linesOf('event', linesOf('room')[0]?.roomUuid)
    const [former, latter] = [1, 2].map(one =>
      events.filter(({ incarnation }) => incarnation === one).slice(0, 10),
    )
    expect(JSON.stringify([former, latter])).not.toMatch(/Time"/)
    expect(former?.map(({ sequence, cmd }) => [sequence, cmd])).toEqual(
      latter?.map(({ sequence, cmd }) => [sequence, cmd]),
    )
    const changed = former?.filter(
      ({ data }, n) => JSON.stringify(data) !== JSON.stringify(latter?.[n]?.data),
    )
    expect(changed?.length).toBeGreaterThan(5)
  })
})

describe('a room that is muted', () => {
  const crowd = { ...lively, classes: 12 }

  it.each([
    ['for-good', (refused: number) => refused === 0 || refused === 20],
    ['for-a-while', (refused: number) => refused < 10],
  ] as const)('%s: some are, whatever is asked about them', async (mutedRooms, isRight) => {
    const { clock, get, linesOf } = play({ profile: crowd, switches: { mutedRooms } })
    const refusals = new Map(linesOf('room').map(({ roomUuid }) => [roomUuid, 0]))
    for (let n = 0; n < 20; n++) {
      for (const [uuid, before] of refusals) {
        const answers = await Promise.all(Object.values(at(uuid)).map(path => get(path)))
        const codes = new Set(answers.map(({ status, body }) => `${status} ${body.code}`))
        if (codes.has('403 30403200')) refusals.set(uuid, before + 1)
        expect(codes.size).toBe(1)
      }
      await clock.advance(minutes)
    }
    const muted = linesOf('room')
      .filter(room => room.muted)
      .map(({ roomUuid }) => refusals.get(roomUuid) ?? 20)
    expect([...refusals.values()].filter(count => count > 0).length).toBeGreaterThan(1)
    expect([...refusals.values()].filter(count => count === 0).length).toBeGreaterThan(1)
    expect([...refusals.values()].every(isRight)).toBe(true)
    expect(muted.every(count => count === 20)).toBe(true)
  })
})

describe('those who come and go', () => {
  it('are told now and then with a time days ahead, where the world is made so', () => {
    const { linesOf } = play({ switches: { eventTimes: 'far' } })
    const ahead = linesOf('event').flatMap(({ at: happened, data }) => {
      const { onlineUsers = [] } = data as { onlineUsers?: { updateTime: number }[] }
      return onlineUsers.map(({ updateTime }) => (updateTime - happened) / 86_400_000)
    })
    expect(new Set(ahead)).toEqual(new Set([0, 3]))
    expect(ahead.filter(days => days === 3).length).toBeLessThan(ahead.length / 2)
  })
})

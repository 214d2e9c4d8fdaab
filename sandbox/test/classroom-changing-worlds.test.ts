import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { createSandbox, truthJson } from '../src/index.ts'
import { noRoom, paths, sender, shown, stageRoom, success, uploaded, verdict } from './changing-play.ts'
import { listing, lively, minutes, play, at as reading } from './play.ts'

const idle = { kind: 'idle', rooms: 12 } as const

describe('an idle room', () => {
  it('can be started, recorded and given resources, and its log shows it all', async () => {
    const { send, at, told, roomUuid, linesOf, get } = stageRoom({ profile: idle })
    const before = linesOf('event', roomUuid).length
    await send('PUT', at.state(0))
    await send('PUT', at.state(1))
    await send('PUT', at.recording(1), {})
    await send('PUT', at.resource('plan'), uploaded)
    expect(told().map(({ cmd }) => cmd)).toEqual([1, 1, 1001, 1003])
    const { list } = listing(await get(reading(roomUuid).events))
    expect(list.map(({ sequence }) => sequence)).toEqual(Array.from({ length: before + 4 }, (_, n) => n + 1))
    expect(list.slice(before).map(({ cmd, data }) => [cmd, data])).toEqual(shown(told()))
  })

  it('leaves the others as they were', async () => {
    const { send, at, roomUuid, linesOf, sandbox } = stageRoom({ profile: idle })
    const others = () => linesOf('event').filter(event => event.roomUuid !== roomUuid)
    const before = others()
    const { made } = sandbox.status().apps[0]!.events
    await send('PUT', at.state(2))
    expect(others()).toEqual(before)
    expect(sandbox.status().apps[0]).toMatchObject({
      rooms: { started: 11, ended: 1 },
      events: { made: linesOf('event').length },
    })
    expect(linesOf('event').length).toBeGreaterThan(made)
  })

  it('does not come alive: whoever is put out stays out, and nothing else happens', async () => {
    const { send, at, told, students, clock } = stageRoom({ profile: idle })
    await send('POST', at.exit(students()[0]!), {})
    await clock.advance(60 * minutes)
    expect(told().length).toBe(1)
  })

  it('stays as it was set, whatever is read of it afterwards', async () => {
    const { send, at, view, get, roomUuid } = stageRoom({ profile: idle })
    await send('PUT', at.state(2))
    await get('/ap/edu/polling/apps/demo/v2/rooms/sequences')
    await get(reading(roomUuid).events)
    expect(view()).toMatchObject({ state: 2 })
  })
})

describe('a backlog', () => {
  const backlog = { kind: 'backlog', rooms: 90, eventsPerRoom: 40 } as const

  it('keeps what was set in a room among many that are read', async () => {
    const { send, at, told, linesOf, roomUuid, view } = stageRoom({ profile: backlog })
    await send('PUT', at.properties, { properties: { a: 1 } })
    await send('PUT', at.resource('plan'), uploaded)
    expect(linesOf('event').length).toBe(90 * 40 + 1)
    expect(told().length).toBe(1)
    expect(view().properties).toEqual({ a: 1 })
    expect(linesOf('resource', roomUuid).map(({ item }) => item.resourceUuid)).toContain('plan')
  })

  it.each(['contiguous', 'holes'] as const)(
    'numbers on: no two events share a number (%s)',
    async sequence => {
      const { sandbox, linesOf } = play({ profile: backlog, switches: { sequence, sequenceScope: 'app' } })
      const send = sender(sandbox)
      for (const { roomUuid } of linesOf('room'))
        await send('PUT', paths(roomUuid).resource('plan'), uploaded)
      const all = linesOf('event')
      expect(all.length).toBe(90 * 41)
      expect(new Set(all.map(event => event.sequence)).size).toBe(all.length)
      for (const { roomUuid } of linesOf('room')) {
        const numbers = linesOf('event', roomUuid).map(event => Number(event.sequence))
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
      }
    },
  )

  it('numbers on where the log of the room ends', async () => {
    const { send, at, roomUuid, linesOf } = stageRoom({ profile: backlog, switches: { sequence: 'holes' } })
    const last = linesOf('event', roomUuid).at(-1)!.sequence
    await send('PUT', at.resource('plan'), uploaded)
    const next = Number(linesOf('event', roomUuid).at(-1)!.sequence) - Number(last)
    expect([1, 2, 3, 4]).toContain(next)
  })

  it('numbers on above 2^53', async () => {
    const stage = stageRoom({ profile: backlog, quirks: { bigSequence: 1 } })
    await stage.send('PUT', stage.at.resource('plan'), uploaded)
    const numbers = stage.linesOf('event', stage.roomUuid).map(event => event.sequence)
    expect(numbers.at(-1)).toBe(2n ** 53n + 41n)
  })
})

it('in a world of calls alone there is no room to change', async () => {
  const { sandbox, get } = play({
    profile: { kind: 'calls', callsPerDay: 50, users: 3, minutes: 10, days: 1 },
  })
  const answer = await sender(sandbox)('PUT', paths('room').state(1))
  expect(verdict(answer)).toEqual(noRoom)
  expect((await get('/control/room?app=demo&roomUuid=room', {})).status).toBe(404)
})

it('equal requests make equal worlds', async () => {
  const run = async () => {
    const clock = new VirtualClock()
    const sandbox = createSandbox({ clock, profile: lively })
    const send = sender(sandbox)
    const lines = [...sandbox.truth()].filter(line => line.kind === 'room' && line.state === 1)
    for (const [index, { roomUuid }] of lines.entries()) {
      const at = paths(roomUuid)
      await send('POST', at.exit(sandbox.room('demo', roomUuid)!.present[0]!), { dirty: {} })
      await send('PUT', at.resource('plan'), { ...uploaded, conversion: {} })
      await clock.advance(minutes)
      await send('PUT', at.state(2 + (index % 2)))
    }
    await clock.advance(30 * minutes)
    return [...sandbox.truth()].map(truthJson)
  }
  expect(await run()).toEqual(await run())
})

describe('GET /control/room', () => {
  it('shows a room as it stands, with what no event tells of', async () => {
    const { get, send, at, roomUuid, students, view, clock } = stageRoom()
    const [student] = students()
    await send('POST', at.exit(student!), { dirty: { state: 1, duration: 60 } })
    await send('PUT', at.properties, { properties: { a: 1 }, cause: { by: 'hand' } })
    const path = `/control/room?app=demo&roomUuid=${encodeURIComponent(roomUuid)}`
    const { status, body } = await get(path, {})
    expect([status, body]).toEqual([200, JSON.parse(JSON.stringify(view()))])
    expect(body).toMatchObject({
      ...{ app: 'demo', roomUuid, incarnation: 1, state: 1, properties: { a: 1 } },
      kicks: { [student!]: { at: clock.now(), until: clock.now() + 60_000 } },
      causes: [{ by: 'hand' }],
    })
  })

  it('says 404 with a sentence where the app or the room never was', async () => {
    const { get } = stageRoom()
    for (const path of ['app=demo&roomUuid=nowhere', 'app=other&roomUuid=algebra-7b-0', '']) {
      const { status, body } = await get(`/control/room?${path}`, {})
      expect([status, body]).toEqual([404, { error: expect.stringContaining('never had this room') }])
    }
  })

  it('still shows a room that was forgotten', async () => {
    const { send, at, view, clock } = stageRoom()
    await send('PUT', at.properties, { properties: { a: 1 } })
    expect(verdict(await send('PUT', at.state(2)))).toEqual(success)
    await clock.advance(70 * minutes)
    expect(view()).toMatchObject({ state: 3, properties: { a: 1 }, destroyedAt: expect.any(Number) })
  })
})

import { describe, expect, it } from 'vitest'
import { movements, paths, stageRoom, success, verdict } from './changing-play.ts'
import { lively, minutes } from './play.ts'

const school = { ...lively, classes: 1 }

/** A class is going on in one room when the next one is open already, its bell not rung yet. */
async function waiting() {
  const profile = { ...school, historyMinutes: 5, earlyMinutes: 10 }
  const stage = stageRoom({ profile })
  const next = () => stage.linesOf('room').find(({ roomUuid }) => roomUuid !== stage.roomUuid)
  while (!next()) await stage.clock.advance(30_000)
  const { roomUuid, openedAt } = next()!
  return { ...stage, at: paths(roomUuid), roomUuid, bell: openedAt + 10 * minutes, room: () => next()! }
}

function statesOf({ linesOf }: ReturnType<typeof stageRoom>, roomUuid: string) {
  const changes = linesOf('event', roomUuid).filter(({ cmd }) => cmd === 1)
  return changes.map(({ data, at }) => [(data as { state: number }).state, at])
}

describe('a school goes on around what is set by hand', () => {
  it('a class that was ended by hand does not end a second time, and the next one comes', async () => {
    const stage = stageRoom({ profile: school })
    const ended = stage.clock.now()
    await stage.send('PUT', stage.at.state(2))
    await stage.clock.advance(40 * minutes)
    expect(statesOf(stage, stage.roomUuid).slice(1)).toEqual([
      [2, ended],
      [3, ended + 15_000],
    ])
    expect(stage.linesOf('room').length).toBeGreaterThan(2)
  })

  it('a room opens before its bell where the school says so, and is empty until it rings', async () => {
    const stage = await waiting()
    await stage.clock.advance(5 * minutes)
    expect(stage.room()).toMatchObject({ state: 0, events: 0, startedAt: undefined })
    expect(stage.sandbox.status().apps[0]!.rooms.notStarted).toBe(1)
    await stage.clock.advance(10 * minutes)
    expect(statesOf(stage, stage.roomUuid)).toEqual([[1, stage.bell]])
    expect(stage.linesOf('call', stage.roomUuid)).toMatchObject([{ call: { createdAt: stage.bell } }])
  })

  it('a class that was started by hand before the bell does not start twice', async () => {
    const stage = await waiting()
    const started = stage.clock.now()
    expect(verdict(await stage.send('PUT', stage.at.state(1)))).toEqual(success)
    await stage.clock.advance(15 * minutes)
    expect(statesOf(stage, stage.roomUuid)).toEqual([[1, started]])
    expect(stage.linesOf('event', stage.roomUuid).length).toBeGreaterThan(50)
    await stage.clock.advance(15 * minutes)
    expect(statesOf(stage, stage.roomUuid).map(([state]) => state)).toEqual([1, 2, 3])
  })

  it.each([2, 3])('a class that was set to %i before the bell does not start', async state => {
    const stage = await waiting()
    await stage.send('PUT', stage.at.state(state))
    await stage.clock.advance(30 * minutes)
    expect(statesOf(stage, stage.roomUuid).map(([each]) => each)).toEqual(state === 2 ? [2, 3] : [3])
    expect(stage.linesOf('room').length).toBeGreaterThan(2)
  })

  it('a class that is started again goes on for a lesson, in another call, and is forgotten later', async () => {
    const stage = stageRoom({ profile: { ...school, historyMinutes: 5 } })
    const { send, at, clock, roomUuid } = stage
    await send('PUT', at.state(2))
    await clock.advance(minutes)
    const again = clock.now()
    expect(verdict(await send('PUT', at.state(1)))).toEqual(success)
    await clock.advance(10 * minutes)
    expect(stage.view().present.length).toBeGreaterThan(3)
    const calls = stage.linesOf('call', roomUuid).map(({ call }) => call)
    expect(calls).toMatchObject([
      { destroyedAt: again - 55_000 },
      { createdAt: again, destroyedAt: undefined },
    ])
    expect(calls[0]!.sessions.every(({ leftAt }) => leftAt !== undefined)).toBe(true)
    await clock.advance(20 * minutes)
    const states = statesOf(stage, roomUuid)
    expect(states.map(([state]) => state)).toEqual([1, 2, 3, 1, 2, 3])
    const lasted = (states[4]![1]! - again) / minutes
    expect(lasted).toBeGreaterThanOrEqual(0.9 * school.lessonMinutes)
    expect(lasted).toBeLessThanOrEqual(1.1 * school.lessonMinutes)
    await clock.advance(35 * minutes)
    expect(stage.view().destroyedAt).toBeUndefined()
    await clock.advance(25 * minutes)
    expect(stage.view().destroyedAt).toBeGreaterThan(again)
  })

  it('a class that is started again within seconds of its end keeps its people and its call', async () => {
    const stage = stageRoom({ profile: { ...school, historyMinutes: 5 } })
    const { send, at, clock } = stage
    const people = stage.view().present
    await send('PUT', at.state(2))
    await clock.advance(3_000)
    const from = stage.told().length
    await send('PUT', at.state(1))
    await clock.advance(3_000)
    expect(stage.view().present).toEqual(expect.arrayContaining([...people]))
    expect(movements(stage, from).filter(({ did }) => did === 'leave').length).toBeLessThan(people.length)
    expect(stage.linesOf('call', stage.roomUuid)).toMatchObject([{ call: { destroyedAt: undefined } }])
    await clock.advance(minutes)
    expect(stage.view().state).toBe(1)
  })

  it('a class that is interrupted and goes on at once is as lively as before, not twice as lively', async () => {
    const profile = { ...school, lessonMinutes: 60, historyMinutes: 5 }
    const inTenMinutes = async (...states: readonly number[]) => {
      const { send, at, told, clock } = stageRoom({ profile })
      for (const state of states) await send('PUT', at.state(state))
      const before = told().length
      await clock.advance(10 * minutes)
      return told().length - before
    }
    const share = (await inTenMinutes(0, 1)) / (await inTenMinutes())
    expect(share).toBeGreaterThan(0.7)
    expect(share).toBeLessThan(1.4)
  })

  it('where rooms are used again, the next class begins after the one ended by hand is forgotten', async () => {
    const stage = stageRoom({
      profile: { ...school, classes: 1 },
      switches: { roomReuse: 'on', roomMemorySeconds: 300 },
    })
    const { incarnation } = stage.view()
    await stage.send('PUT', stage.at.state(2))
    await stage.clock.advance(10 * minutes)
    expect(stage.view()).toMatchObject({ incarnation: incarnation + 1, state: 1, kicks: {} })
  })
})

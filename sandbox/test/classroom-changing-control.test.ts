import { describe, expect, it } from 'vitest'
import { movements, noUser, shown, stageRoom, success, verdict, wrong } from './changing-play.ts'
import { lively, minutes } from './play.ts'

const school = { ...lively, classes: 1 }
const text = expect.any(String)
const number = expect.any(Number)

describe('kicking a user', () => {
  it('lets the server tell that the user left, and nothing else', async () => {
    const stage = stageRoom()
    const [student] = stage.students()
    expect(verdict(await stage.send('POST', stage.at.exit(student!), {}))).toEqual(success)
    const user = { userUuid: student, userName: text, role: 2, streamUuid: text, type: 2 }
    expect(shown(stage.told())).toEqual([
      [20, { total: 1, onlineUsers: [], offlineUsers: [{ ...user, updateTime: stage.clock.now() }] }],
    ])
    expect(stage.view().present).not.toContain(student)
  })

  it('ends the stay in the call', async () => {
    const stage = stageRoom({ profile: school })
    const [student] = stage.students()
    const open = () => {
      const [line] = stage.linesOf('call', stage.roomUuid)
      return line!.call.sessions.filter(({ leftAt }) => leftAt === undefined).length
    }
    const before = open()
    await stage.send('POST', stage.at.exit(student!), {})
    expect(open()).toBe(before - 1)
  })

  it('says 404 and 20404200 to a user who never came, and to one who is gone', async () => {
    const stage = stageRoom()
    const [student] = stage.students()
    expect(verdict(await stage.send('POST', stage.at.exit('nobody'), {}))).toEqual(noUser)
    await stage.send('POST', stage.at.exit(student!), {})
    expect(verdict(await stage.send('POST', stage.at.exit(student!), {}))).toEqual(noUser)
    expect(stage.told().length).toBe(1)
    expect(stage.sandbox.status().violations).toBe(0)
  })

  it('says 400 to a userUuid of 64 bytes', async () => {
    const { send, at } = stageRoom()
    for (const uuid of ['x'.repeat(64), '陈'.repeat(22)]) {
      expect(verdict(await send('POST', at.exit(uuid), {}))).toEqual(wrong)
    }
    expect(verdict(await send('POST', at.exit('x'.repeat(63)), {}))).toEqual(noUser)
  })

  it.each([
    { dirty: 1 },
    { dirty: 'state' },
    { dirty: [] },
    { dirty: null },
    { dirty: { state: '1' } },
    { dirty: { state: 2 } },
    { dirty: { state: 0.5 } },
    { dirty: { state: 1, duration: '600' } },
    { dirty: { state: 1, duration: -1 } },
  ])('says 400 to %j, and the user stays', async body => {
    const stage = stageRoom()
    const [student] = stage.students()
    expect(verdict(await stage.send('POST', stage.at.exit(student!), body))).toEqual(wrong)
    expect(stage.view().present).toContain(student)
    expect(stage.view().kicks).toEqual({})
  })

  it.each([
    [undefined, 0],
    [{}, 0],
    [{ dirty: {} }, 0],
    [{ dirty: { state: 0, duration: 600 } }, 0],
    [{ dirty: { state: 1, duration: 600 } }, 600_000],
    [{ dirty: { state: 1, duration: 0 } }, 0],
    [{ dirty: { state: 1 } }, null],
    [{ dirty: { novelty: [] } }, 0],
  ])('with %j keeps the user out for %s ms', async (body, length) => {
    const stage = stageRoom()
    const [student] = stage.students()
    expect(verdict(await stage.send('POST', stage.at.exit(student!), body))).toEqual(success)
    const now = stage.clock.now()
    expect(stage.view().kicks).toEqual({
      [student!]: { at: now, until: length === null ? null : now + length },
    })
  })

  it('with dirty: in a school the user is away for the duration, and comes back afterwards', async () => {
    const stage = stageRoom({ profile: { ...school, lessonMinutes: 60, historyMinutes: 5 } })
    const [student] = stage.students()
    const from = stage.told().length
    const now = stage.clock.now()
    await stage.send('POST', stage.at.exit(student!), { dirty: { state: 1, duration: 600 } })
    await stage.clock.advance(30 * minutes)
    const moves = movements(stage, from).filter(({ userUuid }) => userUuid === student)
    expect(moves[0]).toEqual({ userUuid: student, did: 'leave', at: now })
    expect(moves[1]).toMatchObject({ did: 'enter' })
    expect(moves[1]!.at).toBeGreaterThanOrEqual(now + 600_000)
  })

  it('without dirty: in a school the user is soon back', async () => {
    const stage = stageRoom({ profile: { ...school, lessonMinutes: 60, historyMinutes: 5 } })
    const [student] = stage.students()
    const from = stage.told().length
    await stage.send('POST', stage.at.exit(student!), {})
    await stage.clock.advance(9 * minutes)
    const moves = movements(stage, from).filter(({ userUuid }) => userUuid === student)
    expect(moves.map(({ did }) => did).slice(0, 2)).toEqual(['leave', 'enter'])
  })

  it('for good: nobody sees the user again, even when the class begins anew', async () => {
    const stage = stageRoom({ profile: { ...school, lessonMinutes: 60, historyMinutes: 5 } })
    const { send, at, clock, students } = stage
    const [student] = students()
    const from = stage.told().length
    await send('POST', at.exit(student!), { dirty: { state: 1 } })
    await clock.advance(5 * minutes)
    await send('PUT', at.state(2))
    await clock.advance(minutes)
    await send('PUT', at.state(1))
    await clock.advance(30 * minutes)
    const after = movements(stage, from)
    expect(after.filter(({ userUuid }) => userUuid === student)).toMatchObject([{ did: 'leave' }])
    expect(after.filter(({ did }) => did === 'enter').length).toBeGreaterThan(3)
  })

  it('all of a class leaves a silent room in which nobody does anything, until they come back', async () => {
    const stage = stageRoom({ profile: { ...school, lessonMinutes: 60, historyMinutes: 5 } })
    const out = { dirty: { state: 1, duration: 1_200 } }
    // Those who had just lost their connection come back during the first minutes.
    for (let n = 0; n < 30; n++) {
      for (const user of stage.view().present) await stage.send('POST', stage.at.exit(user), out)
      await stage.clock.advance(10_000)
    }
    const from = stage.told().length
    await stage.clock.advance(10 * minutes)
    expect(stage.told().slice(from)).toEqual([])
    await stage.clock.advance(20 * minutes)
    const cmds = stage
      .told()
      .slice(from)
      .map(({ cmd }) => cmd)
    expect(cmds[0]).toBe(20)
    expect(cmds).toContain(3)
  })
})

/** A class in which a quiz or a poll is going on. */
async function asking(widget: 'popupQuiz' | 'poll') {
  const stage = stageRoom({ profile: { ...school, lessonMinutes: 60, eventsPerMinute: 60 } })
  const log = () => stage.linesOf('widget', stage.roomUuid).filter(line => line.widget === widget)
  const isRunning = () => log().length > 0 && log().at(-1)!.step !== 'end'
  for (let n = 0; n < 100 && !isRunning(); n++) await stage.clock.advance(10_000)
  expect(isRunning()).toBe(true)
  return { stage, log }
}

describe('setting the state of a room', () => {
  it.each(['4', '-1', '1.0', '01', 'started', '1e0', '%20'])('says 400 to the state %s', async state => {
    const { send, at, told } = stageRoom()
    expect(verdict(await send('PUT', at.state(state)))).toEqual(wrong)
    expect(told()).toEqual([])
  })

  it.each([
    [[0], { state: 0 }],
    [[2], { state: 2, startTime: number }],
    [[3], { state: 3, startTime: number }],
    [[0, 2], { state: 2 }],
    [[0, 0], { state: 0 }],
    [[3, 3], { state: 3, startTime: number }],
  ])('to %j gives cmd 1 with the state, and startTime once the class was started', async (states, data) => {
    const { send, at, told, view } = stageRoom()
    for (const state of states) expect(verdict(await send('PUT', at.state(state)))).toEqual(success)
    const changes = shown(told()).filter(([cmd]) => cmd === 1)
    expect(changes.length).toBe(states.length)
    expect(changes.at(-1)).toEqual([1, data])
    expect(view().state).toBe(data.state)
  })

  it('to 1 gives the time of the start', async () => {
    const { send, at, told, view, clock } = stageRoom()
    await send('PUT', at.state(0))
    await clock.advance(1_234)
    await send('PUT', at.state(1))
    expect(shown(told()).at(-1)).toEqual([1, { startTime: clock.now(), state: 1 }])
    expect(view()).toMatchObject({ state: 1, startedAt: clock.now() })
  })

  it('to 1 twice says 409 and 30409100', async () => {
    const { send, at, told, sandbox } = stageRoom()
    expect(verdict(await send('PUT', at.state(1)))).toEqual([409, 30_409_100])
    await send('PUT', at.state(0))
    expect(verdict(await send('PUT', at.state(1)))).toEqual(success)
    expect(verdict(await send('PUT', at.state(1)))).toEqual([409, 30_409_100])
    expect(told().length).toBe(2)
    expect(sandbox.status().violations).toBe(0)
  })

  it('to 2 twice says 409 and 30409101, also once the door is closed', async () => {
    const { send, at, view, clock, sandbox } = stageRoom()
    expect(verdict(await send('PUT', at.state(2)))).toEqual(success)
    expect(verdict(await send('PUT', at.state(2)))).toEqual([409, 30_409_101])
    await clock.advance(minutes)
    expect(view().state).toBe(3)
    expect(verdict(await send('PUT', at.state(2)))).toEqual([409, 30_409_101])
    expect(sandbox.status().violations).toBe(0)
  })

  it('to 2 ends the class: the recording stops, everyone leaves, the door closes', async () => {
    const stage = stageRoom()
    const { send, at, told, view, clock, linesOf, roomUuid } = stage
    const ended = clock.now()
    const people = [...view().present].sort()
    const isRecording = linesOf('recording').some(({ item }) => item.status === 1)
    expect(isRecording).toBe(true)
    await send('PUT', at.state(2))
    await clock.advance(minutes)
    expect(told().map(({ cmd, at }) => [cmd, at - ended])).toEqual([
      [1001, 0],
      [1, 0],
      [20, 5_000],
      [1, 15_000],
    ])
    expect(
      movements(stage)
        .map(({ userUuid }) => userUuid)
        .sort(),
    ).toEqual(people)
    expect(shown(told()).at(-1)).toEqual([1, { startTime: number, state: 3 }])
    expect(view().present).toEqual([])
    expect(linesOf('recording', roomUuid).every(({ item }) => item.status === 2)).toBe(true)
  })

  it.each(['popupQuiz', 'poll'] as const)('to 2 ends the %s that runs', async widget => {
    const { stage, log } = await asking(widget)
    const { id } = log().at(-1)!
    await stage.send('PUT', stage.at.state(2))
    const length = log().length
    expect(log().at(-1)).toMatchObject({ step: 'end', id, at: stage.clock.now() })
    await stage.clock.advance(3 * minutes)
    expect(log().length).toBe(length)
  })

  it.each(['popupQuiz', 'poll'] as const)(
    'to 0 and 1 leaves a %s behind, and others follow',
    async widget => {
      const { stage, log } = await asking(widget)
      const length = log().length
      await stage.send('PUT', stage.at.state(0))
      await stage.send('PUT', stage.at.state(1))
      await stage.clock.advance(10 * minutes)
      expect(log()[length]).toMatchObject({ step: 'start' })
    },
  )

  it('to 3 closes the room at once: the class is over and nobody joins', async () => {
    const stage = stageRoom({ profile: school })
    const from = stage.told().length
    await stage.send('PUT', stage.at.state(3))
    const closed = stage.clock.now()
    await stage.clock.advance(30 * minutes)
    const states = stage
      .told()
      .slice(from)
      .filter(({ cmd }) => cmd === 1)
    expect(states.map(({ data, at }) => [(data as { state: number }).state, at])).toEqual([[3, closed]])
    expect(movements(stage, from).every(({ did }) => did === 'leave')).toBe(true)
    expect(stage.view().present).toEqual([])
  })

  it('to 3 after 2 closes the door earlier, and only once', async () => {
    const { send, at, told, clock } = stageRoom()
    await send('PUT', at.state(2))
    await clock.advance(2_000)
    expect(verdict(await send('PUT', at.state(3)))).toEqual(success)
    await clock.advance(minutes)
    const states = told().filter(({ cmd }) => cmd === 1)
    expect(states.map(({ data }) => (data as { state: number }).state)).toEqual([2, 3])
    expect(told().at(-1)).toMatchObject({ cmd: 20 })
  })

  it('to 0 interrupts the class: people stay, and nothing happens', async () => {
    const stage = stageRoom({ profile: school })
    const people = stage.view().present
    await stage.send('PUT', stage.at.state(0))
    const length = stage.told().length
    await stage.clock.advance(30 * minutes)
    expect(stage.told().length).toBe(length)
    expect(stage.view()).toMatchObject({ state: 0, present: people, startedAt: undefined })
  })

  it('an hour after the end the room is forgotten', async () => {
    const { send, at, clock, get, roomUuid, view } = stageRoom()
    await send('PUT', at.state(2))
    const ended = clock.now()
    await clock.advance(56 * minutes)
    expect(verdict(await get(`${at.resources}`))[0]).toBe(200)
    await clock.advance(8 * minutes)
    expect(verdict(await get(`${at.resources}`))).toEqual([404, 20_404_100])
    expect(view().destroyedAt! - ended).toBeGreaterThan(50 * minutes)
    expect(view().roomUuid).toBe(roomUuid)
  })
})

describe('stateMoves', () => {
  const back = [
    [1, 0],
    [2, 0],
    [2, 1],
    [3, 0],
    [3, 1],
  ] as const

  it.each(back)('any: a room goes back from %i to %i', async (from, to) => {
    const { send, at, view } = stageRoom()
    if (from > 1) await send('PUT', at.state(from))
    expect(verdict(await send('PUT', at.state(to)))).toEqual(success)
    expect(view().state).toBe(to)
  })

  it.each(back)('strict: says 400 to a way back from %i to %i, which breaks no rule', async (from, to) => {
    const { send, at, view, told, sandbox } = stageRoom({ switches: { stateMoves: 'strict' } })
    if (from > 1) await send('PUT', at.state(from))
    const length = told().length
    expect(verdict(await send('PUT', at.state(to)))).toEqual(wrong)
    expect([view().state, told().length]).toEqual([from, length])
    expect(sandbox.status().violations).toBe(0)
  })

  it.each([
    [2, 3],
    [3, 3],
  ])('strict: goes on from 1 to %i and to %i', async (first, second) => {
    const { send, at, view } = stageRoom({ switches: { stateMoves: 'strict' } })
    expect(verdict(await send('PUT', at.state(first)))).toEqual(success)
    expect(verdict(await send('PUT', at.state(second)))).toEqual(success)
    expect(view().state).toBe(second)
  })

  it('strict: the documented conflicts stay what they are', async () => {
    const { send, at, clock } = stageRoom({ switches: { stateMoves: 'strict' } })
    expect(verdict(await send('PUT', at.state(1)))).toEqual([409, 30_409_100])
    await send('PUT', at.state(2))
    await clock.advance(minutes)
    expect(verdict(await send('PUT', at.state(2)))).toEqual([409, 30_409_101])
  })
})

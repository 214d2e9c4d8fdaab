import { describe, expect, it } from 'vitest'
import { shown, stageRoom, success, verdict, wrong } from './changing-play.ts'
import { listing, lively, minutes, at as reading } from './play.ts'

const text = expect.any(String)

/** A silent room in which no recording runs. */
async function quiet(options: Parameters<typeof stageRoom>[0] = {}) {
  const stage = stageRoom(options)
  const running = () => stage.linesOf('recording', stage.roomUuid).filter(({ item }) => item.status === 1)
  if (running().length > 0) await stage.send('PUT', stage.at.recording(0))
  const before = stage.told().length
  const list = async () => listing(await stage.get(reading(stage.roomUuid).recordings)).list
  return { ...stage, running, list, told: () => stage.told().slice(before) }
}

describe('starting and stopping a recording', () => {
  it('a start gives cmd 1001 with the IDs, and the recording is listed', async () => {
    const { send, at, told, list, clock } = await quiet()
    expect(verdict(await send('PUT', at.recording(1), {}))).toEqual(success)
    const item = (await list()).at(-1)!
    const { recordId, sid, resourceId } = item
    expect(shown(told())).toEqual([[1001, { recordId, sid, resourceId, state: 1, startTime: clock.now() }]])
    expect(item).toMatchObject({
      ...{ recordId: text, sid: text, resourceId: text, boardToken: text },
      ...{ startTime: clock.now(), endTime: null, status: 1, url: null, recordDetails: [] },
    })
  })

  it.each(['2', '0'] as const)(
    'a stop gives cmd 1001 without IDs; its state is %s',
    async recordingEndState => {
      const { send, at, told, clock } = await quiet({ switches: { recordingEndState } })
      await send('PUT', at.recording(1), {})
      const startTime = clock.now()
      await clock.advance(5 * minutes)
      expect(verdict(await send('PUT', at.recording(0), {}))).toEqual(success)
      expect(shown(told())[1]).toEqual([1001, { state: Number(recordingEndState), startTime }])
    },
  )

  it('a stopped recording has ended in the list, and has its files some minutes later', async () => {
    const { send, at, list, clock } = await quiet()
    await send('PUT', at.recording(1), {})
    await clock.advance(5 * minutes)
    await send('PUT', at.recording(0), {})
    const item = async () => (await list()).at(-1)!
    expect(await item()).toMatchObject({ status: 2, endTime: clock.now(), url: null, recordDetails: [] })
    await clock.advance(11 * minutes)
    const { url, recordDetails } = await item()
    expect(url).toMatch(/\.mp4$/)
    expect(recordDetails).toContainEqual({ url })
  })

  it('a recording that goes on has its first file where the quirk says so, and no address of its own', async () => {
    const { send, at, list, clock } = await quiet({ quirks: { earlyFiles: 1 } })
    await send('PUT', at.recording(1), {})
    const item = async () => (await list()).at(-1)!
    expect(await item()).toMatchObject({ status: 1, url: null, recordDetails: [] })
    await clock.advance(minutes)
    const file = { url: expect.stringMatching(/0\.mp4$/) }
    expect(await item()).toMatchObject({ status: 1, url: null, recordDetails: [file] })
    await send('PUT', at.recording(0), {})
    const { status, url, recordDetails } = await item()
    expect(status).toBe(2)
    expect(recordDetails).toContainEqual({ url })
  })

  it('a start while one runs says 409 and 30409411, and the one that runs goes on', async () => {
    const { send, at, told, running, sandbox } = await quiet()
    await send('PUT', at.recording(1), {})
    const before = running()
    for (const body of [{}, { mode: 'web' }, undefined]) {
      expect(verdict(await send('PUT', at.recording(1), body))).toEqual([409, 30_409_411])
    }
    expect([told().length, running()]).toEqual([1, before])
    expect(sandbox.status().violations).toBe(0)
  })

  it('a stop while none runs says 409 and 30409410', async () => {
    const { send, at, told, sandbox } = await quiet()
    expect(verdict(await send('PUT', at.recording(0), {}))).toEqual([409, 30_409_410])
    await send('PUT', at.recording(1), {})
    await send('PUT', at.recording(0), {})
    expect(verdict(await send('PUT', at.recording(0), {}))).toEqual([409, 30_409_410])
    expect(told().length).toBe(2)
    expect(sandbox.status().violations).toBe(0)
  })

  it('one after the other are two recordings', async () => {
    const { send, at, list } = await quiet()
    const before = (await list()).length
    for (const state of [1, 0, 1, 0]) await send('PUT', at.recording(state), {})
    const items = (await list()).slice(before)
    expect(items.length).toBe(2)
    for (const name of ['recordId', 'sid', 'resourceId']) {
      expect(new Set(items.map(item => item[name])).size, name).toBe(2)
    }
  })

  it.each(['2', '-1', 'start', '1.0', '01'])('the state %s says 400', async state => {
    const { send, at, told } = await quiet()
    for (const body of [{}, { webRecordConfig: {} }]) {
      expect(verdict(await send('PUT', at.recording(state), body))).toEqual(wrong)
    }
    expect(told()).toEqual([])
  })

  it.each([
    [{ mode: 'web' }, 3],
    [{ mode: 'web', webRecordConfig: { url: 'https://page.example' }, retryTimeout: 60 }, 3],
    [{ mode: 'composite' }, 2],
    [{ retryTimeout: 0.5 }, 2],
    [{}, 2],
  ])('%j starts a recording of type %i and is kept as it was asked', async (body, type) => {
    const { send, at, running, view } = await quiet()
    expect(verdict(await send('PUT', at.recording(1), body))).toEqual(success)
    expect(running()).toMatchObject([{ item: { type } }])
    expect(view().recording).toEqual({
      mode: undefined,
      retryTimeout: undefined,
      webRecordConfig: undefined,
      ...body,
    })
  })

  it.each([
    { mode: 1 },
    { mode: null },
    { mode: ['web'] },
    { retryTimeout: '60' },
    { retryTimeout: null },
    { mode: 'web', webRecordConfig: 'none' },
    { mode: 'web', webRecordConfig: [] },
    { mode: 'web', webRecordConfig: null },
    { webRecordConfig: 7 },
  ])('%j says 400, whether it starts or stops', async body => {
    const { send, at, told } = await quiet()
    expect(verdict(await send('PUT', at.recording(1), body))).toEqual(wrong)
    expect(verdict(await send('PUT', at.recording(0), body))).toEqual(wrong)
    expect(told()).toEqual([])
  })
})

describe('updating the configuration of a recording', () => {
  const started = { mode: 'web', webRecordConfig: { url: 'https://page.example', fps: 15 }, retryTimeout: 5 }

  it('overwrites the whole former one, each time, and no event tells of it', async () => {
    const { send, at, told, view, sandbox } = await quiet()
    await send('PUT', at.recording(1), started)
    for (const webRecordConfig of [{ onhold: true }, { fps: 30 }, {}]) {
      expect(verdict(await send('PUT', at.recording(1), { webRecordConfig }))).toEqual(success)
      expect(view().recording).toEqual({ ...started, webRecordConfig })
    }
    expect(told().length).toBe(1)
    expect(sandbox.arrivals.list(0, 9).at(-1)!.operation).toBe('updateRecordingConfig')
  })

  it('while none runs says 409 and 30409410, and starts none', async () => {
    const { send, at, told, running } = await quiet()
    const answer = await send('PUT', at.recording(1), { webRecordConfig: {} })
    expect([verdict(answer), told(), running()]).toEqual([[409, 30_409_410], [], []])
  })

  it('is told from a start by its body: a configuration without mode and retryTimeout', async () => {
    const { send, at, running, sandbox } = await quiet()
    await send('PUT', at.recording(1), { webRecordConfig: {}, retryTimeout: 1 })
    await send('PUT', at.recording(1), { webRecordConfig: {}, mode: 'web' })
    await send('PUT', at.recording(1), { webRecordConfig: {} })
    await send('PUT', at.recording(0), { webRecordConfig: {} })
    const asked = sandbox.arrivals.list(0, 20).slice(-4)
    expect(asked.map(({ operation, status }) => [operation, status])).toEqual([
      ['setRecordingState', 200],
      ['setRecordingState', 409],
      ['updateRecordingConfig', 200],
      ['setRecordingState', 200],
    ])
    expect(running()).toEqual([])
  })

  it('belongs to the recording that runs: the next one begins without it', async () => {
    const { send, at, view } = await quiet()
    await send('PUT', at.recording(1), started)
    await send('PUT', at.recording(0), {})
    await send('PUT', at.recording(1), {})
    expect(view().recording?.webRecordConfig).toBeUndefined()
  })
})

describe('in a school', () => {
  const school = { ...lively, classes: 1 }

  it('a recording started by hand is the only one, and ends with its class', async () => {
    const { send, at, clock, linesOf, roomUuid } = await quiet({
      profile: { ...school, historyMinutes: 0.1 },
    })
    await send('PUT', at.recording(1), { mode: 'web' })
    await clock.advance(30 * minutes)
    const [recording, ...others] = linesOf('recording', roomUuid)
    const { endedAt } = linesOf('room').find(room => room.roomUuid === roomUuid)!
    expect(others).toEqual([])
    expect(recording).toMatchObject({ item: { type: 3, status: 2, endTime: endedAt } })
  })

  it('a recording that its people start has nothing of what was asked for the one before', async () => {
    const { send, at, clock, linesOf, roomUuid, view } = await quiet({
      profile: { ...school, historyMinutes: 0.1 },
    })
    await send('PUT', at.recording(1), { mode: 'web' })
    await send('PUT', at.recording(0), {})
    await clock.advance(10 * minutes)
    expect(linesOf('recording', roomUuid)).toMatchObject([{ item: { status: 2 } }, { item: { status: 1 } }])
    expect(view().recording).toBeUndefined()
  })

  it('nobody is left in the call when it ends, a recorder that came last included', async () => {
    const { send, at, clock, linesOf, roomUuid } = await quiet({ profile: school })
    await send('PUT', at.state(2))
    await clock.advance(2_000)
    await send('PUT', at.recording(1), {})
    await clock.advance(10_000)
    const { call } = linesOf('call', roomUuid)[0]!
    expect(call.sessions.at(-1)).toMatchObject({ user: 'recorder', leftAt: call.destroyedAt })
    expect(call.destroyedAt).toBeDefined()
  })

  it('its recorder is in the call for as long as it runs', async () => {
    const { send, at, clock, linesOf, roomUuid } = await quiet({ profile: school })
    await send('PUT', at.recording(1), {})
    const joinedAt = clock.now()
    await clock.advance(minutes)
    await send('PUT', at.recording(0), {})
    const [line] = linesOf('call', roomUuid)
    const recorders = line!.call.sessions.filter(({ user }) => user === 'recorder')
    expect(recorders.at(-1)).toMatchObject({ joinedAt, leftAt: joinedAt + minutes })
  })
})

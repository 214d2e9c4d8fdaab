import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { allOperations } from '../../src/provider/index.ts'
import { called } from '../../src/provider/operation.ts'
import { type ApiStage, openApiStage } from './api-stage.ts'

/** Each of the 28 operations once through the command, against what the provider holds for true. */

const done = new Set<string>()

/** Runs an operation that must succeed. */
async function run(stage: ApiStage, operation: string, parameters: Readonly<Record<string, string>> = {}) {
  const words = Object.entries(parameters).map(([name, value]) => `--${name}=${value}`)
  const { code, stdout, stderr } = await stage.api([operation, ...words, '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  done.add(operation)
  return JSON.parse(stdout)
}

describe('classroom', () => {
  let stage: ApiStage
  let room: string

  beforeAll(async () => {
    stage = await openApiStage({ profile: { kind: 'backlog', rooms: 3, eventsPerRoom: 150 } })
    room = [...stage.sandbox.truth({ app: 'demo' })].find(line => line.kind === 'room')!.roomUuid
  })

  afterAll(() => stage.close())

  const truth = <Kind extends string>(kind: Kind) =>
    [...stage.sandbox.truth({ app: 'demo', roomUuid: room })].filter(
      (line): line is Extract<typeof line, { kind: Kind }> => line.kind === kind,
    )
  const view = () => stage.sandbox.room('demo', room)!
  const lastEvent = () => {
    const { cmd, data } = truth('event').at(-1)! as unknown as { cmd: number; data: Record<string, unknown> }
    return { cmd, data }
  }
  const inRoom = (operation: string, parameters = {}) =>
    run(stage, `classroom.${operation}`, { roomUuid: room, ...parameters })

  test('5 recordings', async () => {
    const { data } = await inRoom('recordings')
    const ids = data.list.map((item: { recordId: string }) => item.recordId)
    expect(ids).toEqual(truth('recording').map(({ item }) => item.recordId))
  })

  test('8 resources, whose tokens are replaced', async () => {
    const { data } = await inRoom('resources')
    const wanted = truth('resource').map(({ item }) => ({
      resourceUuid: item.resourceUuid,
      ...('taskToken' in item && item.taskToken ? { taskToken: '[redacted]' } : {}),
    }))
    expect(data).toMatchObject(wanted)
    expect(data).toHaveLength(wanted.length)
  })

  test('9 roomEvents, batch after batch', async () => {
    const first = await inRoom('roomEvents')
    const second = await inRoom('roomEvents', { nextId: first.data.nextId })
    const sequences = [...first.data.list, ...second.data.list].map(
      (event: { sequence: number }) => event.sequence,
    )
    expect(sequences).toEqual(truth('event').map(({ sequence }) => Number(sequence)))
  })

  test('10 appEvents', async () => {
    const { data } = await run(stage, 'classroom.appEvents')
    expect(data.map((event: { roomUuid: string }) => event.roomUuid)).toContain(room)
  })

  test('17 popupQuiz and 18 poll', async () => {
    const widgets = truth('widget')
    for (const widget of ['popupQuiz', 'poll']) {
      const { data } = await inRoom(widget, { count: '100' })
      const made = widgets.filter(each => each.widget === widget)
      expect(data.list).toHaveLength(Math.min(100, made.length))
    }
  })

  test('1 kickUser: the user is put out, and an event says so', async () => {
    const [user] = view().present
    await inRoom('kickUser', { userUuid: user!, dirty: '{"state":1,"duration":600}' })
    expect(view().present).not.toContain(user)
    expect(view().kicks[user!]).toMatchObject({ until: expect.any(Number) })
    expect(lastEvent()).toMatchObject({ cmd: 20, data: { offlineUsers: [{ userUuid: user }] } })
  })

  test('3 setRecordingState and 4 updateRecordingConfig', async () => {
    // Its lesson left one running.
    await inRoom('setRecordingState', { state: '0' })
    expect(lastEvent()).toMatchObject({ cmd: 1001, data: { state: 2 } })
    await inRoom('setRecordingState', {
      state: '1',
      mode: 'web',
      webRecordConfig: '{"url":"https://a"}',
      retryTimeout: '30',
    })
    expect(view().recording).toEqual({ mode: 'web', retryTimeout: 30, webRecordConfig: { url: 'https://a' } })
    expect(lastEvent()).toMatchObject({ cmd: 1001, data: { state: 1 } })
    await inRoom('updateRecordingConfig', { state: '1', webRecordConfig: '{"url":"https://b"}' })
    expect(view().recording?.webRecordConfig).toEqual({ url: 'https://b' })
    await inRoom('setRecordingState', { state: '0' })
    expect(lastEvent()).toMatchObject({ cmd: 1001, data: { state: 2 } })
  })

  test('6 uploadResource and 7 deleteResources', async () => {
    const file = {
      resourceUuid: 'by-hand',
      resourceName: 'by hand',
      size: '12',
      ext: 'pdf',
      url: 'https://files.example/x',
    }
    await inRoom('uploadResource', file)
    expect(truth('resource').map(({ item }) => item)).toContainEqual(
      expect.objectContaining({ ...file, size: 12 }),
    )
    expect(lastEvent()).toMatchObject({ cmd: 1003, data: { action: 1 } })
    await inRoom('deleteResources', { resourceUuids: '["by-hand"]' })
    expect(truth('resource').map(({ item }) => item.resourceUuid)).not.toContain('by-hand')
    expect(lastEvent()).toMatchObject({ cmd: 1003, data: { action: 2 } })
  })

  test('11 updateRoomProperties and 12 deleteRoomProperties', async () => {
    await inRoom('updateRoomProperties', { properties: '{"a":1,"b":{"c":[2]}}', cause: '{"why":"test"}' })
    expect(view().properties).toEqual({ a: 1, b: { c: [2] } })
    expect(view().causes).toEqual([{ why: 'test' }])
    await inRoom('deleteRoomProperties', { properties: '["a"]' })
    expect(view().properties).toEqual({ b: { c: [2] } })
  })

  test('13 updateUserProperties and 14 deleteUserProperties', async () => {
    const userUuid = view().present[0]!
    await inRoom('updateUserProperties', { userUuid, properties: '{"a":1,"b":2}' })
    expect(view().userProperties).toEqual({ [userUuid]: { a: 1, b: 2 } })
    await inRoom('deleteUserProperties', { userUuid, properties: '["b"]' })
    expect(view().userProperties).toEqual({ [userUuid]: { a: 1 } })
  })

  test('15 updateExtAppProperties and 16 deleteExtAppProperties', async () => {
    const extAppUuid = 'board/1'
    await inRoom('updateExtAppProperties', { extAppUuid, properties: '{"a":1}', common: '{"state":1}' })
    expect(view().extApps).toEqual({ [extAppUuid]: { properties: { a: 1 }, state: 1 } })
    await inRoom('deleteExtAppProperties', { extAppUuid, properties: '["a"]' })
    expect(view().extApps).toEqual({ [extAppUuid]: { properties: {}, state: 1 } })
  })

  test('2 setRoomState: the class ends, and an event says so', async () => {
    await inRoom('setRoomState', { state: '2' })
    expect(view()).toMatchObject({ state: 2, endedAt: expect.any(Number) })
    expect(truth('event').map(({ cmd }) => cmd)).toContain(1)
  })
})

describe('analytics and players', () => {
  let stage: ApiStage
  const now = Math.floor(systemClock.now() / 1_000)

  beforeAll(async () => {
    stage = await openApiStage({
      profile: { kind: 'calls', callsPerDay: 480, users: 3, minutes: 20, days: 2 },
      switches: { restatement: 'off', playerFailRate: 0, listBlindSeconds: 0 },
    })
  })

  afterAll(() => stage.close())

  const truth = () => stage.sandbox.analytics('demo')
  const calls = () => [...truth().calls()]

  test('callSearch', async () => {
    const [start, end] = [now - 4 * 3_600, now - 3 * 3_600]
    const { call_lists } = await run(stage, 'analytics.callSearch', {
      start_ts: `${start}`,
      end_ts: `${end}`,
      page_size: '100',
    })
    const wanted = calls().filter(({ createdAt, destroyedAt = Number.POSITIVE_INFINITY }) => {
      return createdAt < end * 1_000 && destroyedAt >= start * 1_000
    })
    const ids = call_lists.map((call: { call_id: string }) => call.call_id)
    expect(ids.toSorted()).toEqual(wanted.map(({ callId }) => callId).toSorted())
    expect(ids.length).toBeGreaterThan(0)
  })

  test('callSessions and callMetrics', async () => {
    const { callId, createdAt, destroyedAt, sessions } = calls().find(
      call => call.createdAt > (now - 6 * 3_600) * 1_000,
    )!
    const range = {
      start_ts: `${Math.floor(createdAt / 1_000)}`,
      end_ts: `${Math.ceil(destroyedAt! / 1_000)}`,
      call_id: callId,
    }
    const { call_info } = await run(stage, 'analytics.callSessions', {
      ...range,
      exclude_server_user: 'false',
    })
    const sids = call_info.map(({ sid }: { sid: string }) => sid)
    expect(sids.toSorted()).toEqual(sessions.map(({ sid }) => sid).toSorted())
    const { metrics } = await run(stage, 'analytics.callMetrics', {
      ...range,
      sids: sids.slice(0, 2).join(','),
    })
    expect(metrics.map(({ sid }: { sid: string }) => sid).toSorted()).toEqual(sids.slice(0, 2).toSorted())
  })

  test('usageInsight and qualityInsight', async () => {
    const hour = Math.floor((now - 20 * 3_600) / 3_600) * 3_600
    const range = { startTs: `${hour}`, endTs: `${hour + 3_600}`, aggregateGranularity: '1h' }
    const usage = await run(stage, 'analytics.usageInsight', { ...range, metric: 'userCount' })
    expect(usage.data[0]).toEqual({ ts: hour, userCount: truth().usage('userCount', 'hour', hour) })
    expect(usage.data[0].userCount).toBeGreaterThan(0)
    const quality = await run(stage, 'analytics.qualityInsight', {
      ...range,
      metric: 'joinSuccessRate',
      productType: 'Native',
    })
    expect(quality.data[0]).toEqual({ ts: hour, joinSuccessRate: expect.any(Number) })
  })

  test('realtimeUsage and realtimeQuality', async () => {
    const start = Math.floor((systemClock.now() / 1_000 - 900) / 20) * 20
    const range = { startTs: `${start}`, endTs: `${start + 100}`, productType: 'Native' }
    const usage = await run(stage, 'analytics.realtimeUsage', { ...range, metric: 'userCount' })
    expect(usage.data).toHaveLength(5)
    expect(usage.data[0]).toMatchObject({ ts: start, userCount: expect.any(Number) })
    const quality = await run(stage, 'analytics.realtimeQuality', { ...range, metric: 'audioFreezeRate' })
    expect(quality.data.map(({ ts }: { ts: number }) => ts)).toEqual(
      usage.data.map(({ ts }: { ts: number }) => ts),
    )
  })

  test('createPlayer, listPlayers and deletePlayer', async () => {
    const parameters = { channelName: 'class 7b', uid: '77', streamUrl: 'rtmp://media.example.com/live' }
    const { player, name, adopted } = await run(stage, 'players.createPlayer', parameters)
    expect({ name, adopted }).toEqual({ name: expect.stringMatching(/^penstock-/), adopted: false })
    expect(stage.sandbox.players('demo')).toMatchObject([
      { id: player.id, name, region: 'ap', channelName: 'class 7b', uid: 77, destroyedAt: undefined },
    ])
    const { players: listed } = await run(stage, 'players.listPlayers', { filter: 'channelName eq class 7b' })
    expect(listed).toMatchObject([{ id: player.id, name }])
    expect(await run(stage, 'players.deletePlayer', { id: player.id })).toEqual({ deleted: player.id })
    expect(stage.sandbox.players('demo')[0]!.destroyedAt).toEqual(expect.any(Number))
  })

  test('no request broke a rule of the documents', () => {
    expect(stage.sandbox.status().violationsByKind).toEqual(
      Object.fromEntries(Object.keys(stage.sandbox.status().violationsByKind).map(kind => [kind, 0])),
    )
  })
})

test('each of the 28 was performed', () => {
  expect([...done].toSorted()).toEqual(allOperations.map(called).toSorted())
})

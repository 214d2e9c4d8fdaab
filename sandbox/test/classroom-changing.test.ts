import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { ConnectionLost, createSandbox, type Listening, listen } from '../src/index.ts'
import {
  type Case,
  cases,
  noRoom,
  notFound,
  paths,
  sender,
  shown,
  silent,
  stageRoom,
  success,
  verdict,
  wrong,
} from './changing-play.ts'
import { credentials, listing, lively, minutes, play, at as reading } from './play.ts'

const each = cases.map(one => [one.name, one] as const)
const withBody = each.filter(([, { body }]) => body !== undefined)

/** Whatever the case changes, its room is ready for it. */
async function ready(options: Parameters<typeof stageRoom>[0] = {}) {
  const stage = stageRoom(options)
  const student = stage.students()[0]!
  const isRecording = stage.linesOf('recording', stage.roomUuid).some(({ item }) => item.status === 1)
  if (!isRecording) await stage.send('PUT', stage.at.recording(1), {})
  const ask = ({ method, path, body }: Case, sent: unknown = body, headers?: Record<string, string>) =>
    stage.send(method, path(stage.at, student), sent, headers)
  return { ...stage, student, ask }
}

describe('each of the twelve', () => {
  it.each(each)(
    '%s succeeds with code, msg and ts, and data where the document says so',
    async (name, one) => {
      const { ask, clock, sandbox } = await ready()
      const { status, body, headers } = await ask(one)
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(body).toEqual({
        code: 0,
        msg: expect.any(String),
        ts: clock.now(),
        ...(name === 'uploadResource' && { data: [expect.objectContaining({ resourceUuid: 'plan' })] }),
      })
      expect(sandbox.status().violations).toBe(0)
      expect(sandbox.arrivals.list(0, 9).at(-1)).toMatchObject({ operation: name, app: 'demo', status: 200 })
    },
  )

  it.each(each)('%s answers 401 to headers that are missing or wrong, and does nothing', async (_, one) => {
    const { ask, sandbox } = await ready()
    const before = [...sandbox.truth()]
    const content = { 'content-type': 'application/json' }
    const many = [
      content,
      { ...content, 'x-svc-uid': 'penstock' },
      { ...content, 'x-svc-token': 'demo-token' },
      { ...content, ...credentials, 'x-svc-token': 'other' },
      { ...content, ...credentials, 'x-svc-uid': 'other' },
    ]
    for (const headers of many) expect(verdict(await ask(one, one.body, headers))).toEqual([401, undefined])
    expect([...sandbox.truth()]).toEqual(before)
    expect(sandbox.status().violationsByKind).toMatchObject({ authentication: many.length, parameters: 0 })
  })

  it.each(each)('%s says 401 before it looks at the body', async (_, one) => {
    const { ask } = await ready()
    expect(verdict(await ask(one, '{', {}))).toEqual([401, undefined])
  })

  it.each(each)('%s says 404 and 20404100 where the room is unknown, and breaks no rule', async (_, one) => {
    const { send, sandbox } = await ready()
    const answer = await send(one.method, one.path(paths('nowhere'), 'someone'), one.body)
    expect(verdict(answer)).toEqual(noRoom)
    expect(sandbox.status().violations).toBe(0)
  })

  it.each(each)('%s says 400 for a region that the document does not list', async (_, one) => {
    const { send, roomUuid, student } = await ready()
    for (const region of ['cn', 'ap', 'eu', 'na']) {
      const answer = await send(one.method, one.path(paths('nowhere', region), student), one.body)
      expect(verdict(answer)).toEqual(noRoom)
    }
    expect(verdict(await send(one.method, one.path(paths(roomUuid, 'us'), student), one.body))).toEqual(wrong)
  })

  it.each(each)('%s says 400 for a roomUuid of 64 bytes or more', async (_, one) => {
    const { send } = await ready()
    for (const uuid of ['x'.repeat(64), 'é'.repeat(32)]) {
      expect(verdict(await send(one.method, one.path(paths(uuid), 'u'), one.body))).toEqual(wrong)
    }
    expect(verdict(await send(one.method, one.path(paths('é'.repeat(31)), 'u'), one.body))).toEqual(noRoom)
  })

  it.each(each)('%s is found under its method and version alone', async (name, one) => {
    const { send, at, student, sandbox } = await ready()
    const path = one.path(at, student)
    const other = path.includes('/v1/') ? path.replace('/v1/', '/v2/') : path.replace('/v2/', '/v1/')
    expect(verdict(await send(one.method, other, one.body))).toEqual(notFound)
    expect(verdict(await send('PATCH', path, one.body))).toEqual(notFound)
    expect(verdict(await send(one.method, `${path}/more`, one.body)), name).toEqual(notFound)
    expect(sandbox.status().violationsByKind).toMatchObject({ path: 3 })
  })
})

describe('a body', () => {
  it.each(withBody)('of %s that is no JSON object is answered 400 and 400', async (_, one) => {
    const { ask, sandbox } = await ready()
    const before = [...sandbox.truth()]
    const bodies = ['{', 'properties', '{"a":1,}', '[]', '[{}]', 'null', '7', '"text"', 'true']
    for (const body of bodies) expect(verdict(await ask(one, body)), body).toEqual(wrong)
    expect([...sandbox.truth()]).toEqual(before)
    expect(sandbox.status().violationsByKind).toMatchObject({ parameters: bodies.length })
  })

  it.each(withBody)('of %s must be called application/json', async (_, one) => {
    const { ask } = await ready()
    expect(verdict(await ask(one, one.body, { ...credentials, 'content-type': 'text/plain' }))).toEqual(wrong)
    const named = { ...credentials, 'content-type': 'Application/JSON; charset=utf-8' }
    expect(verdict(await ask(one, one.body, named))).toEqual(success)
  })

  it.each(withBody)('of %s may hold fields that the document does not name', async (_, one) => {
    const { ask } = await ready()
    expect(verdict(await ask(one, { ...one.body, novelty: 1 }))).toEqual(success)
  })

  it('of setRoomState is not looked at: the document gives it none', async () => {
    const { send, at } = await ready()
    expect(verdict(await send('PUT', at.state(2), '{'))).toEqual(success)
  })

  it.each(cases.filter(({ name }) => ['kickUser', 'setRecordingState'].includes(name)))(
    'may be left out where nothing in it is required: $name',
    async one => {
      const { ask } = await ready()
      expect(verdict(await ask({ ...one, body: undefined as never }))).toEqual(success)
    },
  )
})

describe('a room that the provider has forgotten', () => {
  it.each(each)('is answered 404 and 20404100 by %s', async (_, one) => {
    const { clock, roomIn, sandbox } = play()
    const { roomUuid } = roomIn(room => room.state === 3)
    const { present } = sandbox.room('demo', roomUuid)!
    await clock.advance(90 * minutes)
    const user = present[0] ?? 'someone'
    expect(verdict(await sender(sandbox)(one.method, one.path(paths(roomUuid), user), one.body))).toEqual(
      noRoom,
    )
  })
})

/** Codes of the document's table that no operation causes, and those of a failing server. */
const injected = [
  [403, 30_403_200],
  [500, 500],
  [503, undefined],
] as const

describe('an error that is injected', () => {
  it.each(
    each.flatMap(([name, one]) => injected.map(([status, code]) => [name, status, code, one] as const)),
  )('strikes %s as %i with code %s, and nothing happens', async (operation, status, code, one) => {
    const { ask, sandbox } = await ready()
    const before = [...sandbox.truth()]
    const room = sandbox.room('demo', before[0]!.roomUuid)
    sandbox.faults.set([{ kind: 'status', status, every: 1, operation, ...(code !== undefined && { code }) }])
    expect(verdict(await ask(one))).toEqual([status, code])
    expect([...sandbox.truth()]).toEqual(before)
    expect(sandbox.room('demo', before[0]!.roomUuid)).toEqual(room)
    expect(sandbox.status().violations).toBe(0)
  })

  it.each(each)('concerns %s and none of the others', async (operation, one) => {
    const { ask, sandbox } = await ready()
    sandbox.faults.set([{ kind: 'status', status: 503, every: 1, operation }])
    for (const other of cases.filter(({ name }) => name !== operation && name !== 'kickUser')) {
      expect((await ask(other)).status, other.name).not.toBe(503)
    }
    expect((await ask(one)).status).toBe(503)
  })

  it('lost-response acts before the connection ends', async () => {
    const { ask, sandbox, told } = await ready()
    sandbox.faults.set([{ kind: 'lost-response', at: [1], operation: 'setRoomState' }])
    const before = told().length
    await expect(ask(cases[1]!)).rejects.toThrow(ConnectionLost)
    expect(shown(told()).slice(before).at(-1)).toEqual([1, expect.objectContaining({ state: 2 })])
    expect(verdict(await ask(cases[1]!))).toEqual([409, 30_409_101])
  })
})

describe('over HTTP', () => {
  const open: Listening[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map(server => server.close()))
  })

  it('every operation takes its body, those that delete included', async () => {
    const sandbox = createSandbox({ clock: systemClock, profile: silent })
    const server = await listen(sandbox)
    open.push(server)
    const [room] = [...sandbox.truth()]
    const at = paths(room!.roomUuid)
    const [, student] = sandbox.room('demo', room!.roomUuid)!.present
    const headers = { ...credentials, 'content-type': 'application/json' }
    await fetch(server.url + at.recording(1), { method: 'PUT', headers })
    // The last to be asked is the one that puts the student out.
    for (const { name, method, path, body } of cases.toReversed()) {
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
      const response = await fetch(server.url + path(at, student!), init)
      expect([name, response.status, await response.json()]).toEqual([
        name,
        200,
        expect.objectContaining({ code: 0 }),
      ])
    }
    expect(sandbox.room('demo', room!.roomUuid)).toMatchObject({ properties: { a: 1 }, state: 2 })
  })
})

it('events made by hand are in the log, in the feed and in the truth, as one and the same', async () => {
  const stage = await ready({ profile: lively, switches: { appFeed: 'consuming' } })
  const { get, send, at, roomUuid, student, told } = stage
  await get('/ap/edu/polling/apps/demo/v2/rooms/sequences')
  const before = told().length
  const made = stage.sandbox.status().apps[0]!.events.made
  await send('PUT', at.resource('plan'), { size: 1, ext: 'pdf', url: 'u' })
  await send('POST', at.exit(student), {})
  await send('PUT', at.state(2))
  const events = told()
    .slice(before)
    .map(({ cmd, data, sequence }) => ({ roomUuid, cmd, sequence, version: 1, data }))
  expect(events.map(({ cmd }) => cmd)).toEqual([1003, 20, 1001, 1])
  expect(stage.sandbox.status().apps[0]!.events.made).toBe(made + 4)
  const fed = (await get('/ap/edu/polling/apps/demo/v2/rooms/sequences')).body.data
  expect(fed).toEqual(events)
  const first = listing(await get(`${reading(roomUuid).events}?cmd=1`))
  expect(first.list.at(-1)).toEqual(events.at(-1))
})

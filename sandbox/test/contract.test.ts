import { describe, expect, it } from 'vitest'
import { at, credentials, feedPath, listing, lively, play } from './play.ts'

const reading = ['recordings', 'resources', 'events', 'popupQuiz', 'poll'] as const

describe('authentication', () => {
  it.each([
    ['no headers', {}],
    ['no token', { 'x-svc-uid': 'penstock' }],
    ['no uid', { 'x-svc-token': 'demo-token' }],
    ['a wrong token', { ...credentials, 'x-svc-token': 'other' }],
    ['a wrong uid', { ...credentials, 'x-svc-uid': 'other' }],
  ])('answers 401 to %s', async (_, headers) => {
    const { get, running } = play()
    for (const path of [feedPath, ...reading.map(name => at(running().roomUuid)[name])]) {
      const { status, body } = await get(path, headers)
      expect([status, body.code]).toEqual([401, undefined])
    }
  })

  it('keeps the apps apart', async () => {
    const demo = { id: 'demo', uid: 'penstock', token: 'demo-token' }
    const { get, linesOf } = play({ apps: [demo, { id: 'other', uid: 'o', token: 't' }] })
    const rooms = (app: string) => linesOf('room').filter(room => room.app === app)
    expect(rooms('demo')).not.toEqual(rooms('other').map(room => ({ ...room, app: 'demo' })))
    expect((await get(feedPath.replace('demo', 'other'))).status).toBe(401)
    expect(
      (await get(feedPath.replace('demo', 'other'), { 'x-svc-uid': 'o', 'x-svc-token': 't' })).status,
    ).toBe(200)
    expect((await get(feedPath.replace('demo', 'third'))).status).toBe(401)
  })

  it('reads the headers that a deployment names', async () => {
    const { get } = play({ tokenHeader: 'x-token', uidHeader: 'x-uid' })
    expect((await get(feedPath)).status).toBe(401)
    expect((await get(feedPath, { 'x-token': 'demo-token', 'x-uid': 'penstock' })).status).toBe(200)
  })
})

describe('every answer', () => {
  it('has code, msg and the server time in milliseconds, and says the same time in its Date', async () => {
    const { get, clock } = play()
    await clock.advance(1_234)
    const { body, headers } = await get(feedPath)
    expect(body).toMatchObject({ code: 0, msg: expect.any(String), ts: clock.now() })
    expect(headers.get('date')).toBe(new Date(clock.now()).toUTCString())
    expect(headers.get('content-type')).toBe('application/json')
  })

  it('of a refusal has msg and ts too', async () => {
    const { get, clock } = play()
    expect((await get(at('nowhere').events)).body).toEqual({
      code: 20404100,
      msg: expect.any(String),
      ts: clock.now(),
    })
  })
})

describe('errors', () => {
  it.each(reading)('say 404 and 20404100 where the room of %s does not exist', async name => {
    const { status, body } = await play().get(at('nowhere')[name])
    expect([status, body.code]).toEqual([404, 20404100])
  })

  it.each(reading)('say 400 and 400 where the roomUuid of %s has 64 bytes', async name => {
    const { get } = play()
    for (const uuid of ['x'.repeat(64), 'é'.repeat(32)]) {
      const { status, body } = await get(at(uuid)[name])
      expect([status, body.code]).toEqual([400, 400])
    }
    expect((await get(at('é'.repeat(31))[name])).status).toBe(404)
  })

  it('say 400 for a region that the document does not list', async () => {
    const { get, running } = play()
    const { events, recordings, resources } = at(running().roomUuid)
    for (const path of [events, recordings, resources, feedPath]) {
      expect((await get(path.replace('/ap/', '/us/'))).body.code).toBe(400)
      for (const region of ['cn', 'ap', 'eu', 'na']) {
        expect((await get(path.replace('/ap/', `/${region}/`))).status).toBe(200)
      }
    }
  })

  it.each(['cmd=chat', 'cmd=1.5', 'cmd=', 'nextId=made-up'])('say 400 for %s', async query => {
    const { get, running } = play()
    const { status, body } = await get(`${at(running().roomUuid).events}?${query}`)
    expect([status, body.code]).toEqual([400, 400])
  })

  it.each(['count=0', 'count=-1', 'count=many'])('say 400 for %s of widget data', async query => {
    const { get, running } = play()
    expect((await get(`${at(running().roomUuid).poll}?${query}`)).body.code).toBe(400)
  })

  it.each([
    '/',
    '/ap/edu/apps/demo/v3/rooms/r/sequences',
    '/ap/edu/apps/demo/v2/rooms/r/resources',
    '/ap/edu/apps/demo/v1/rooms/r/records',
    '/ap/edu/apps/demo/v2/rooms//sequences',
    '/edu/apps/demo/v2/rooms/r/widgets/whiteboard/sequences',
  ])('say 404 without a code for the unknown path %s', async path => {
    const { status, body } = await play().get(path)
    expect([status, body.code]).toEqual([404, undefined])
  })

  it('say 404 without a code to a method that the path does not have', async () => {
    const { sandbox, running } = play()
    const url = `http://sandbox/ap/edu/apps/demo/v2/rooms/${encodeURIComponent(running().roomUuid)}/states/2`
    const post = await sandbox.fetch(new Request(url, { method: 'POST', headers: credentials }))
    expect([post.status, Object.keys((await post.json()) as object)]).toEqual([404, ['msg', 'ts']])
    expect(running().state).toBe(1)
  })

  it('count as violations where a rule was broken, and only there', async () => {
    const { sandbox, get, running } = play()
    await get(at(running().roomUuid).events)
    await get(at('nowhere').events)
    expect(sandbox.status().violations).toBe(0)
    await get(at('x'.repeat(64)).events)
    await get(feedPath, {})
    expect(sandbox.status().violations).toBe(2)
  })
})

describe('batches', () => {
  it('hold at most 100 items, and the next one begins where the last ended', async () => {
    const { get, running, linesOf } = play()
    const { roomUuid } = running()
    const first = listing(await get(at(roomUuid).events))
    const second = listing(await get(`${at(roomUuid).events}?nextId=${first.nextId}`))
    expect([first.list.length, first.count]).toEqual([100, 100])
    expect(first.total).toBe(linesOf('event', roomUuid).length)
    expect(first.list.at(-1)).toMatchObject({ sequence: 100 })
    expect(second.list[0]).toMatchObject({ sequence: 101 })
  })

  it.each(['', 'nextId=', 'nextId=null'])(
    'begin at the start with an empty or null nextId: "%s"',
    async query => {
      const { get, running } = play()
      const { list } = listing(await get(`${at(running().roomUuid).events}?${query}`))
      expect(list[0]).toMatchObject({ sequence: 1 })
    },
  )

  it('end with a null nextId, and all of them together are the whole log in order', async () => {
    const { drain, running, linesOf } = play()
    const { roomUuid } = running()
    const { items, tickets } = await drain(at(roomUuid).events)
    expect(tickets.at(-1)).toBeNull()
    expect(items.map(item => item.sequence)).toEqual(linesOf('event', roomUuid).map(event => event.sequence))
  })

  it('of one cmd hold that cmd alone, up to 100 of it', async () => {
    const { get, running, linesOf } = play()
    const { roomUuid } = running()
    const chats = linesOf('event', roomUuid).filter(event => event.cmd === 3)
    const page = listing(await get(`${at(roomUuid).events}?cmd=3`))
    expect(page.total).toBe(chats.length)
    expect(page.list.map(item => item.sequence)).toEqual(chats.slice(0, 100).map(event => event.sequence))
    expect(listing(await get(`${at(roomUuid).events}?cmd=4242`))).toMatchObject({
      total: 0,
      list: [],
      nextId: null,
    })
  })

  it('of widget data hold as many as count asks, 100 by default and at most', async () => {
    const { get, linesOf, running } = play({ profile: { ...lively, students: 20, lessonMinutes: 120 } })
    const { roomUuid } = running()
    expect(linesOf('widget', roomUuid).filter(line => line.widget === 'poll').length).toBeGreaterThan(100)
    const { poll } = at(roomUuid)
    expect(listing(await get(`${poll}?count=7`))).toMatchObject({ count: 7, list: { length: 7 } })
    expect(listing(await get(poll)).count).toBe(100)
    expect(listing(await get(`${poll}?count=500`)).count).toBe(100)
  })
})

it('a roomUuid may hold characters that a path must encode', async () => {
  const { linesOf, get } = play({ profile: { kind: 'idle', rooms: 12 } })
  const uuids = linesOf('room').map(room => room.roomUuid)
  expect(uuids).toEqual(
    expect.arrayContaining(['c#-club-2', '100%-geometry-3', 'why?-philosophy-4', 'reading/writing-5']),
  )
  for (const uuid of uuids)
    expect(listing(await get(at(uuid).events)).list[0]).toMatchObject({ roomUuid: uuid })
})

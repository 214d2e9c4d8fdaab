import { describe, expect, it } from 'vitest'
import { truthJson, violationKinds } from '../src/index.ts'
import { at, feedPath, play } from './play.ts'

async function send(stage: ReturnType<typeof play>, method: string, path: string, body?: string) {
  const init = body === undefined ? { method } : { method, body }
  const response = await stage.sandbox.fetch(new Request(`http://sandbox/control/${path}`, init))
  const json: unknown = await response.json()
  return { status: response.status, body: json as never as Record<string, unknown> & { list: unknown[] } }
}

describe('the truth', () => {
  it('is every line of the world as NDJSON, without credentials', async () => {
    const { get, sandbox } = play({ quirks: { bigSequence: 0.5 } })
    const { text, headers } = await get('/control/truth', {})
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    expect(text.trimEnd().split('\n')).toEqual([...sandbox.truth()].map(truthJson))
  })

  it('may be asked of one room or one app', async () => {
    const { get, running } = play()
    const { roomUuid } = running()
    const { text } = await get(`/control/truth?roomUuid=${encodeURIComponent(roomUuid)}`)
    const rooms = text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).roomUuid)
    expect(new Set(rooms)).toEqual(new Set([roomUuid]))
    expect((await get('/control/truth?app=other')).text).toBe('')
  })
})

describe('the arrivals', () => {
  it('tell of each request when it came, what it asked and how it was answered', async () => {
    const stage = play()
    const { events } = at(stage.running().roomUuid)
    await stage.get(feedPath)
    await stage.clock.advance(1_500)
    await stage.get(`${events}?cmd=3`)
    await stage.get('/elsewhere')
    const time = stage.clock.now()
    const { body } = await send(stage, 'GET', 'arrivals')
    expect(body).toEqual({
      total: 3,
      list: [
        {
          n: 1,
          time: time - 1_500,
          operation: 'appEvents',
          app: 'demo',
          method: 'GET',
          target: feedPath,
          host: 'sandbox',
          status: 200,
          broken: [],
        },
        {
          n: 2,
          time,
          operation: 'roomEvents',
          app: 'demo',
          method: 'GET',
          target: `${events}?cmd=3`,
          host: 'sandbox',
          status: 200,
          broken: [],
        },
        {
          n: 3,
          time,
          method: 'GET',
          target: '/elsewhere',
          host: 'sandbox',
          status: 404,
          broken: ['path'],
        },
      ],
    })
    expect((await send(stage, 'GET', 'arrivals?after=2')).body.list).toEqual([body.list[2]])
  })

  it('do not list requests to the control routes', async () => {
    const stage = play()
    await send(stage, 'GET', 'status')
    expect(stage.sandbox.arrivals.count).toBe(0)
  })
})

describe('the faults', () => {
  it('are read, replaced, and refused with a sentence', async () => {
    const stage = play()
    expect((await send(stage, 'GET', 'faults')).body).toEqual([])
    const rules = [{ kind: 'status', status: 503, every: 1 }]
    expect((await send(stage, 'PUT', 'faults', JSON.stringify(rules))).body).toEqual(rules)
    expect((await stage.get(feedPath)).status).toBe(503)
    const refused = await send(stage, 'PUT', 'faults', '[{"kind":"quake"}]')
    expect(refused).toEqual({ status: 400, body: { error: expect.stringContaining('rule 0') } })
    expect((await send(stage, 'PUT', 'faults', '[')).status).toBe(400)
    expect((await send(stage, 'GET', 'faults')).body).toEqual(rules)
  })
})

describe('the status', () => {
  it('counts rooms by state, events made and served, and requests', async () => {
    const stage = play()
    const served = (await stage.get(feedPath)).body.data as unknown as unknown[]
    const { body } = await send(stage, 'GET', 'status')
    const rooms = stage.linesOf('room')
    expect(body).toEqual({
      now: stage.clock.now(),
      speed: 1,
      paused: false,
      requests: 1,
      violations: 0,
      violationsByKind: Object.fromEntries(violationKinds.map(kind => [kind, 0])),
      apps: [
        {
          id: 'demo',
          rooms: {
            notStarted: 0,
            started: rooms.filter(room => room.state === 1).length,
            ended: 0,
            closed: rooms.filter(room => room.state === 3).length,
            destroyed: 0,
          },
          events: { made: stage.linesOf('event').length, fed: served.length },
          calls: rooms.length,
        },
      ],
    })
  })

  it('says whether the world is paused', async () => {
    const stage = play()
    expect((await send(stage, 'POST', 'pause')).body.paused).toBe(true)
    expect((await send(stage, 'POST', 'resume')).body.paused).toBe(false)
  })
})

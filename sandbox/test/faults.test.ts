import { describe, expect, it } from 'vitest'
import { ConnectionLost, FaultError, type FaultRule, parseFaultRules } from '../src/index.ts'
import { at, feedPath, listing, play } from './play.ts'

function faulty(...faults: FaultRule[]) {
  return play({ faults })
}

/** Which of the next requests met the fault: their numbers, from 1. */
async function struck(stage: ReturnType<typeof play>, path: string, requests: number): Promise<number[]> {
  const numbers: number[] = []
  for (let n = 1; n <= requests; n++) {
    if ((await stage.get(path)).status === 500) numbers.push(n)
  }
  return numbers
}

describe('a rule of faults', () => {
  it('strikes at the arrivals it names', async () => {
    expect(await struck(faulty({ kind: 'status', at: [2, 5] }), feedPath, 6)).toEqual([2, 5])
  })

  it('strikes every n-th arrival', async () => {
    expect(await struck(faulty({ kind: 'status', every: 3 }), feedPath, 7)).toEqual([3, 6])
  })

  it('strikes by rate, alike for a seed', async () => {
    const first = await struck(faulty({ kind: 'status', rate: 0.3 }), feedPath, 200)
    expect(first.length).toBeGreaterThan(30)
    expect(first.length).toBeLessThan(90)
    expect(await struck(faulty({ kind: 'status', rate: 0.3 }), feedPath, 200)).toEqual(first)
  })

  it('concerns one operation, or one app', async () => {
    const stage = faulty({ kind: 'status', every: 1, operation: 'roomEvents' })
    expect((await stage.get(feedPath)).status).toBe(200)
    expect((await stage.get(at(stage.running().roomUuid).events)).status).toBe(500)
    expect((await faulty({ kind: 'status', every: 1, app: 'other' }).get(feedPath)).status).toBe(200)
  })

  it('leaves its kind in the log of arrivals', async () => {
    const { sandbox, get } = faulty({ kind: 'html', at: [1] }, { kind: 'reset', at: [2] })
    await get(feedPath)
    await expect(get(feedPath)).rejects.toThrow(ConnectionLost)
    await get(feedPath)
    expect(sandbox.arrivals.list(0, 9).map(({ n, status, fault }) => [n, status, fault])).toEqual([
      [1, 200, 'html'],
      [2, undefined, 'reset'],
      [3, 200, undefined],
    ])
  })

  it('does not count as a violation', async () => {
    const { sandbox, get } = faulty({ kind: 'status', status: 401, every: 1 })
    await get(feedPath)
    expect(sandbox.status().violations).toBe(0)
  })
})

describe('the fault', () => {
  it('status sends any status, business code and Retry-After', async () => {
    const limited = await faulty({ kind: 'status', status: 429, retryAfter: '7', every: 1 }).get(feedPath)
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7'])
    const dated = await faulty({ kind: 'status', status: 429, retryIn: 90, every: 1 }).get(feedPath)
    const wait = Date.parse(dated.headers.get('retry-after')!) - dated.body.ts
    expect([wait >= 90_000, wait < 91_000]).toEqual([true, true])
    const muted = await faulty({ kind: 'status', status: 403, code: 30403200, every: 1 }).get(feedPath)
    expect([muted.status, muted.body.code, muted.headers.get('retry-after')]).toEqual([403, 30403200, null])
  })

  it('unknown-code says neither success nor which failure, and tells nothing', async () => {
    const { status, body } = await faulty({ kind: 'unknown-code', every: 1 }).get(feedPath)
    expect([status, body.code, body.data]).toEqual([200, 1, null])
  })

  it('redirect names another place', async () => {
    const { status, headers } = await faulty({
      kind: 'redirect',
      status: 307,
      location: 'http://127.0.0.1:1/x',
      every: 1,
    }).get(feedPath)
    expect([status, headers.get('location')]).toEqual([307, 'http://127.0.0.1:1/x'])
  })

  it('html answers with a page', async () => {
    const { text, headers } = await faulty({ kind: 'html', every: 1 }).get(feedPath)
    expect(text).toMatch(/^<!doctype html>/)
    expect(headers.get('content-type')).toBe('text/html')
  })

  it('malformed ends in the middle of the JSON', async () => {
    const { status, text } = await faulty({ kind: 'malformed', every: 1 }).get(feedPath)
    expect(status).toBe(200)
    expect(text).toMatch(/^\{"code":0/)
    expect(() => JSON.parse(text)).toThrow(SyntaxError)
  })

  it('wrong-types gives every field another type', async () => {
    const { body } = await faulty({ kind: 'wrong-types', every: 1 }).get(feedPath)
    expect(body).toEqual({ code: 'zero', msg: [], ts: 'today', data: 7 })
  })

  it('truncated fails in the middle of the body', async () => {
    const stage = faulty({ kind: 'truncated', every: 1 })
    await expect(stage.get(feedPath)).rejects.toThrow(ConnectionLost)
  })

  it('latency answers after its time', async () => {
    const { clock, get } = faulty({ kind: 'latency', ms: 5_000, at: [1] })
    let isAnswered = false
    const answer = get(feedPath).then(({ status }) => {
      isAnswered = true
      return status
    })
    await clock.advance(4_999)
    expect(isAnswered).toBe(false)
    await clock.advance(1)
    expect(await answer).toBe(200)
  })

  it('drip sends byte after byte', async () => {
    const { clock, get } = faulty({ kind: 'drip', ms: 10, at: [1], operation: 'roomEvents' })
    const answer = get(at('nowhere').events)
    let waits = 0
    while (await clock.runToNextTimer()) waits++
    const { status, text } = await answer
    expect(JSON.parse(text)).toMatchObject({ code: 20404100 })
    expect([status, waits]).toEqual([200, text.length + 1])
  })

  it('endless never ends', async () => {
    const { sandbox } = faulty({ kind: 'endless', every: 1 })
    const headers = { 'x-svc-token': 'demo-token', 'x-svc-uid': 'penstock' }
    const { body } = await sandbox.fetch(new Request(`http://sandbox${feedPath}`, { headers }))
    const reader = body!.getReader()
    let bytes = 0
    while (bytes < 20_000_000) bytes += (await reader.read()).value!.length
    await reader.cancel()
  })

  it('strange answers what nobody can tell what it holds', async () => {
    const stage = faulty({ kind: 'strange', every: 1 })
    const { body } = await stage.get(at(stage.running().roomUuid).events)
    expect(body).toMatchObject({ code: 0, data: { news: { of: expect.anything() } } })
  })

  it('looping-next-id leads back to the page it came from', async () => {
    const stage = faulty({ kind: 'looping-next-id', every: 1 })
    const { events } = at(stage.running().roomUuid)
    const first = listing(await stage.get(events))
    const second = listing(await stage.get(`${events}?nextId=${first.nextId}`))
    expect(second).toEqual(first)
  })
})

describe('rules that come as JSON', () => {
  it('are taken as they stand', () => {
    const rules = [{ kind: 'status', operation: 'appEvents', rate: 0.5, status: 429, retryAfter: 'abc' }]
    expect(parseFaultRules(rules)).toEqual(rules)
  })

  it.each([
    [{}, /must be an array/],
    [[{}], /rule 0 must have a kind: reset, lost-response/],
    [[{ kind: 'reset' }, { kind: 'quake' }], /rule 1: kind/],
    [[{ kind: 'reset', rate: 2 }], /rule 0: rate/],
    [[{ kind: 'reset', often: 1 }], /rule 0: often/],
    [[{ kind: 'status', status: 99 }], /rule 0: status/],
  ])('%j are refused with the rule and the field', (json, message) => {
    expect(() => parseFaultRules(json)).toThrow(FaultError)
    expect(() => parseFaultRules(json)).toThrow(message)
  })
})

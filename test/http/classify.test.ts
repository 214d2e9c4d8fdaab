import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { classify } from '../../src/http/classify.ts'
import type { Arrival } from '../../src/http/exchange.ts'
import { atOnce } from '../../src/http/json.ts'
import { callSearch, realtimeQuality } from '../../src/provider/analytics/index.ts'
import { appEvents, recordings } from '../../src/provider/classroom/index.ts'
import type { FailureKind } from '../../src/provider/errors.ts'
import type { Operation } from '../../src/provider/operation.ts'
import { listPlayers } from '../../src/provider/players/index.ts'

const now = Date.parse('2026-03-01T12:00:00Z')

function arrive(status: number, body: string, headers: Record<string, string> = {}): Arrival {
  return { status, header: name => headers[name], bytes: new TextEncoder().encode(body), end: 'whole' }
}

function failureOf(arrival: Arrival, operation: Operation = appEvents) {
  const verdict = atOnce(classify(operation, arrival, now))
  if (verdict.ok) throw new Error('this should have been a failure')
  return verdict.failure
}

describe('an answer', () => {
  it('with code 0 is a page, stamped with the time of its envelope', () => {
    const verdict = atOnce(classify(appEvents, arrive(200, '{"code":0,"ts":1767225600000,"data":[]}'), now))
    expect(verdict).toEqual({
      ok: true,
      body: { code: 0, ts: 1767225600000, data: [] },
      answeredAt: 1767225600000,
    })
  })

  it.each(['1767225600', '17672256000000000', '-1', '1e400', 'null'])(
    'whose ts is %s is stamped with the Date header',
    ts => {
      const arrival = arrive(500, `{"code":500,"ts":${ts}}`, { date: 'Thu, 01 Jan 2026 00:00:07 GMT' })
      expect(atOnce(classify(appEvents, arrival, now)).answeredAt).toBe(1767225607000)
    },
  )

  it('may have its time as a text', () => {
    const verdict = atOnce(classify(appEvents, arrive(200, '{"code":0,"ts":"1767225600000","data":[]}'), now))
    expect(verdict).toMatchObject({ ok: true, answeredAt: 1767225600000 })
  })

  it('of no content is one without data where there is an envelope, and cannot be read otherwise', () => {
    const of = (operation: Operation, status: number, body = '') =>
      atOnce(classify(operation, arrive(status, body), now))
    for (const operation of [appEvents, recordings]) {
      const verdict = of(operation, 204)
      if (!verdict.ok) throw new Error(verdict.failure.text)
      expect(verdict.body).toEqual({ code: 0 })
    }
    expect(of(appEvents, 200)).toMatchObject({ ok: false, failure: { kind: 'malformed' } })
    expect(of(appEvents, 204, ' ')).toMatchObject({ ok: false, failure: { kind: 'malformed' } })
    for (const operation of [callSearch, listPlayers])
      expect(of(operation, 204)).toMatchObject({ ok: false, failure: { kind: 'malformed' } })
  })

  it('without any time has none', () => {
    expect(atOnce(classify(appEvents, arrive(200, '{"code":0}'), now)).answeredAt).toBeUndefined()
  })

  it.each<[number, string, FailureKind, number | undefined]>([
    [400, '{"code":400}', 'bad_request', 400],
    [401, '', 'unauthorized', undefined],
    [403, '{"code":30403200}', 'conflict', 30_403_200],
    [403, '{"code":1}', 'forbidden', 1],
    [404, '{"code":20404100}', 'not_found', 20_404_100],
    [404, '{"code":20404200}', 'not_found', 20_404_200],
    [409, '{"code":30409410}', 'conflict', 30_409_410],
    [429, 'slow down', 'rate_limited', undefined],
    [500, '{"code":500}', 'server_error', 500],
    [502, '<html>', 'server_error', undefined],
    [503, '', 'unavailable', undefined],
    [504, '{"code":"no number"}', 'gateway_timeout', undefined],
    [302, '', 'redirect', undefined],
    [418, '', 'unexpected_status', undefined],
  ])('with HTTP %i and body %j is %s', (status, body, kind, code) => {
    const failure = failureOf(arrive(status, body))
    expect([failure.kind, failure.status, failure.code]).toEqual([kind, status, code])
  })

  it.each<[number, FailureKind]>([
    [400, 'bad_request'],
    [20_404_100, 'not_found'],
    [30_409_101, 'conflict'],
    [30_403_200, 'conflict'],
    [500, 'server_error'],
    [12_345, 'unexpected_code'],
  ])('with HTTP 200 and code %i is %s', (code, kind) => {
    expect(failureOf(arrive(200, `{"code":${code}}`))).toMatchObject({ kind, code, status: 200 })
  })

  it('of another shape names the path and the rule, never the value', () => {
    expect(failureOf(arrive(200, '{"code":"canary"}')).text).toBe(
      'the answer is not of its documented shape: code: must be number',
    )
    expect(failureOf(arrive(200, '["canary"]')).text).toBe(
      'the answer is not of its documented shape: the whole body: must be object',
    )
    expect(failureOf(arrive(200, '{"code":0,"data":"canary"}'), recordings).text).toBe(
      'the answer is not of its documented shape: data: invalid_union',
    )
  })

  it('of which cannot be told what it holds is no empty page, and keeps its bytes', () => {
    const body = '{"code":0,"data":{"hasMore":"canary","nextId":null}}'
    const failure = failureOf(arrive(200, body), recordings)
    expect(failure).toMatchObject({
      kind: 'malformed',
      text: 'the answer is not of its documented shape: data: cannot be told what it holds',
    })
    expect(Buffer.from(failure.body ?? []).toString()).toBe(body)
  })

  it.each([200, 404])('that is a web page says so, and that the address may be wrong (HTTP %i)', status => {
    const failure = failureOf(arrive(status, '<html>canary', { 'content-type': 'text/html; charset=utf-8' }))
    expect(failure.text).toMatch(/^the address answers with a web page \(text\/html\): .* base URL/)
    expect(failure.text).not.toContain('canary')
  })

  it('that is not JSON keeps its bytes for the dead letters and says nothing of them', () => {
    const failure = failureOf(arrive(200, '<html>canary</html>'))
    expect(failure).toMatchObject({ kind: 'malformed', text: 'the body is not JSON' })
    expect(Buffer.from(failure.body ?? []).toString()).toBe('<html>canary</html>')
  })

  it('that was encoded in spite of our asking is malformed', () => {
    expect(failureOf(arrive(200, '{"code":0}', { 'content-encoding': 'gzip' })).kind).toBe('malformed')
    expect(
      atOnce(classify(appEvents, arrive(200, '{"code":0}', { 'content-encoding': 'identity' }), now)).ok,
    ).toBe(true)
  })

  it('that passed its cap is too large, even if its beginning would parse', () => {
    const arrival: Arrival = { ...arrive(200, '{"code":0}'), end: 'cut' }
    expect(failureOf(arrival).kind).toBe('too_large')
  })

  it('tells how long to wait, a date being relative to the provider clock', () => {
    expect(failureOf(arrive(429, '', { 'retry-after': '17' })).retryAfter).toBe(17)
    const date = { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT', date: 'Thu, 01 Jan 2026 00:00:07 GMT' }
    expect(failureOf(arrive(503, '', date)).retryAfter).toBe(53)
    expect(failureOf(arrive(503, '', { 'retry-after': 'soon' }))).not.toHaveProperty('retryAfter')
  })

  it('may say what it likes beside its data', () => {
    for (const msg of ['7', '{"text":"ok"}', 'null']) {
      const arrival = arrive(200, `{"code":0,"msg":${msg},"ts":1767225600000,"data":[]}`)
      expect(atOnce(classify(appEvents, arrival, now))).toMatchObject({ ok: true })
    }
    const list = '{"players":[{"id":"p1"}],"nextPageToken":"","totalSize":"1","fields":["id"]}'
    expect(atOnce(classify(listPlayers, arrive(200, list), now))).toMatchObject({
      ok: true,
      body: { totalSize: 1 },
    })
  })

  it.each(['{"count":1e400}', '{"total":{"valueOf":1,"toString":1}}', '{"total":[]}'])(
    'with %s for its data cannot be told from one that holds something',
    data => {
      const failure = failureOf(arrive(200, `{"code":0,"ts":1767225600000,"data":${data}}`), recordings)
      expect(failure).toMatchObject({ kind: 'malformed' })
    },
  )

  it('of a family without an envelope may have any code in its body', () => {
    const operation: Operation = {
      ...appEvents,
      family: 'players',
      answer: z.looseObject({ code: z.string() }),
    }
    expect(atOnce(classify(operation, arrive(200, '{"code":"fine"}'), now)).ok).toBe(true)
  })
})

describe('a refusal of a player', () => {
  it.each([429, 403])('with HTTP %i that speaks of a quota is none of a rate or of rights', status => {
    const full = '{"message":"Resources quota exceeded"}'
    expect(failureOf(arrive(status, full), listPlayers)).toMatchObject({ kind: 'quota', status })
    expect(failureOf(arrive(status, full)).kind).not.toBe('quota')
    const plain = failureOf(arrive(status, '{"message":"slow down"}'), listPlayers)
    expect(plain.kind).toBe(status === 429 ? 'rate_limited' : 'forbidden')
  })
})

describe('a limit of a plan', () => {
  const messages: readonly [string, FailureKind][] = [
    ['qps limit error', 'qps_limit'],
    ['qpd limit error', 'qpd_limit'],
    ['query latency limit error', 'latency_limit'],
    ['query time range limit error', 'time_range_limit'],
    ['query time length limit error', 'time_length_limit'],
    ['you have no auth to access this service, please buy or upgrade your service package', 'no_access'],
    ['a limit that nobody has heard of', 'limit_exceeded'],
    [' QPS Limit Error ', 'qps_limit'],
  ]

  it.each(messages)('%j is %s, whatever HTTP status stands beside it', (message, kind) => {
    const body = JSON.stringify({ code: 300, message, requestId: 'r' })
    for (const status of [200, 300, 302, 400, 401, 404, 429, 500, 503]) {
      expect(failureOf(arrive(status, body), callSearch)).toMatchObject({ kind, code: 300, status })
      expect(failureOf(arrive(status, body), realtimeQuality).kind).toBe(kind)
    }
  })

  it.each(messages.slice(0, 6))('%j is told in words of our own', (message, kind) => {
    for (const status of [200, 400, 429]) {
      const { text } = failureOf(arrive(status, JSON.stringify({ code: 300, message })), callSearch)
      expect(text).toMatch(/^the provider answered (HTTP \d+ )?with code 300 \(.*(requests|range|plan)/)
      expect([kind, text.includes(message)]).toEqual([kind, false])
    }
  })

  it.each(['null', '12', '{}'])(
    'without a message that can be read (%s) is a limit all the same',
    message => {
      expect(failureOf(arrive(200, `{"code":300,"message":${message}}`), callSearch).kind).toBe(
        'limit_exceeded',
      )
    },
  )

  it('without a code is what its status says', () => {
    expect(failureOf(arrive(429, ''), callSearch).kind).toBe('rate_limited')
    expect(failureOf(arrive(429, '{"message":"slow down"}'), callSearch).kind).toBe('rate_limited')
  })

  it.each<[number, FailureKind]>([
    [400, 'bad_request'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [500, 'server_error'],
    [777, 'unexpected_code'],
  ])('code %i in a body with HTTP 200 is %s', (code, kind) => {
    expect(failureOf(arrive(200, `{"code":${code},"message":"x"}`), callSearch).kind).toBe(kind)
  })

  it.each<[number, number, FailureKind]>([
    [300, 401, 'unauthorized'],
    [302, 404, 'not_found'],
    [400, 403, 'forbidden'],
    [404, 401, 'unauthorized'],
    [500, 400, 'bad_request'],
    [300, 777, 'redirect'],
    [404, 200, 'not_found'],
  ])('HTTP %i with code %i in its body is %s', (status, code, kind) => {
    expect(failureOf(arrive(status, `{"code":${code},"message":"x"}`), callSearch).kind).toBe(kind)
  })

  it('a status beside a body that is no JSON is what it says', () => {
    expect(failureOf(arrive(300, '<html>'), callSearch).kind).toBe('redirect')
    expect(failureOf(arrive(302, ''), callSearch).kind).toBe('redirect')
  })

  it.each([200, 0])('code %i is an answer', code => {
    const verdict = atOnce(
      classify(callSearch, arrive(200, `{"code":${code},"message":null,"call_lists":[]}`), now),
    )
    expect(verdict.ok).toBe(true)
  })

  it.each(messages.filter(([, kind]) => kind !== 'limit_exceeded'))(
    '%j beside the code of a success is no empty answer',
    (message, kind) => {
      for (const code of [200, 0]) {
        const body = JSON.stringify({ code, message, call_lists: null, data: null })
        expect(failureOf(arrive(200, body), callSearch)).toMatchObject({ kind, code })
        expect(failureOf(arrive(200, body), realtimeQuality).kind).toBe(kind)
      }
      const refused = JSON.stringify({ code: 400, message })
      expect(failureOf(arrive(200, refused), callSearch).kind).toBe('bad_request')
    },
  )

  it('says nothing of its message in the text for the log', () => {
    const { text } = failureOf(arrive(200, '{"code":300,"message":"secret words"}'), callSearch)
    expect(text).not.toContain('secret')
  })
})

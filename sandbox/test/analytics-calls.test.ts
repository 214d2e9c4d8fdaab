import { describe, expect, it } from 'vitest'
import { demoApp } from '../src/index.ts'
import {
  type AnalyticsStage,
  basic,
  demoCredential,
  hour,
  paths,
  playAnalytics,
  searchAll,
} from './analytics-play.ts'

const start = { callSearch: 'start', hasMore: 'real', callLatenessSeconds: 0 } as const

/** The calls that the world knows of a range, by their served start. */
function trueCalls(stage: AnalyticsStage, from: number, to: number) {
  return [...stage.sandbox.analytics('demo').calls()]
    .map(({ item }) => item)
    .filter(({ created_ts }) => created_ts >= from && created_ts <= to)
}

describe('authentication', () => {
  const range = (stage: AnalyticsStage) => ({ start_ts: stage.now() - hour, end_ts: stage.now() - 120 })

  it.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Bearer demo-key' }],
    ['a wrong secret', basic('demo-key', 'other')],
    ['a wrong key', basic('other', 'demo-secret')],
    ['no secret', { authorization: `Basic ${Buffer.from('demo-key').toString('base64')}` }],
  ])('answers 401 to %s', async (_, headers) => {
    const stage = playAnalytics()
    const { status, body } = await stage.ask('search', range(stage), headers)
    expect([status, body.code, body.message]).toEqual([401, 401, 'Unauthorized'])
    expect(stage.violations().authentication).toBe(1)
  })

  it('answers 403 where the app belongs to another credential, and 400 where none is named', async () => {
    const other = { ...demoApp, id: 'other', rest: { key: 'other-key', secret: 's' } }
    const stage = playAnalytics({ apps: [demoApp, other] })
    const foreign = await stage.ask('search', { ...range(stage), appid: 'other' })
    expect([foreign.status, foreign.body.code]).toEqual([403, 403])
    const nameless = await stage.ask('search', { ...range(stage), appid: undefined })
    expect([nameless.status, nameless.body.code]).toEqual([400, 400])
    const own = await stage.ask('search', { ...range(stage), appid: 'other' }, basic('other-key', 's'))
    expect(own.body.code).toBe(200)
  })

  it('answers 401 for an app that has no credential at all', async () => {
    const stage = playAnalytics({ apps: [{ id: 'demo', uid: 'u', token: 't' }] })
    expect((await stage.ask('search', range(stage))).status).toBe(401)
  })

  it('reads the scheme in any case', async () => {
    const stage = playAnalytics()
    const headers = { authorization: demoCredential.authorization!.replace('Basic', 'basic') }
    expect((await stage.ask('search', range(stage), headers)).status).toBe(200)
  })
})

describe('an unknown path of the call analytics', () => {
  it.each(['/beta/analytics/call', '/beta/insight/usage', '/beta/analytics/call/lists/x'])(
    'is answered with code 404: %s',
    async path => {
      const stage = playAnalytics()
      const { status, body } = await stage.get(path, demoCredential)
      expect([status, body]).toEqual([404, { code: 404, message: 'Wrong API invoked' }])
    },
  )

  it('is another method than GET, too', async () => {
    const { sandbox } = playAnalytics()
    const request = new Request(`http://sandbox${paths.search}`, { method: 'POST', headers: demoCredential })
    expect((await sandbox.fetch(request)).status).toBe(404)
  })
})

describe('an injected error', () => {
  it('has its code and a message: 500, unknown error', async () => {
    const stage = playAnalytics({ faults: [{ kind: 'status', status: 500, code: 500, every: 1 }] })
    const { status, body } = await stage.ask('search', { start_ts: 1, end_ts: 2 })
    expect([status, body.code, body.message]).toEqual([500, 500, 'injected'])
  })
})

describe('search calls', () => {
  it('answers code, message, requestId, total_size, page_no, page_size, has_more and call_lists', async () => {
    const stage = playAnalytics({ switches: start })
    const end = stage.now() - 120
    const { status, body, headers } = await stage.ask('search', { start_ts: end - hour, end_ts: end })
    expect(status).toBe(200)
    expect(body).toEqual({
      code: 200,
      message: 'success',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      total_size: body.call_lists.length,
      page_no: 1,
      page_size: 20,
      has_more: false,
      call_lists: expect.any(Array),
    })
    expect(headers.get('date')).toBe(new Date(stage.clock.now()).toUTCString())
    expect(Object.keys(body.call_lists[0]!).sort()).toEqual(
      ['call_id', 'cname', 'created_ts', 'destroyed_ts', 'finished'].sort(),
    )
  })

  it('finds exactly the calls that start in the range, both ends included, newest first', async () => {
    const stage = playAnalytics({ switches: start })
    const end = stage.now() - 120
    const found = await searchAll(stage, { start_ts: end - 6 * hour, end_ts: end })
    expect(found.length).toBeGreaterThan(100)
    expect(found.map(({ created_ts }) => created_ts)).toEqual(
      found.map(({ created_ts }) => created_ts).sort((a, b) => b - a),
    )
    const expected = trueCalls(stage, end - 6 * hour, end).map(({ call_id }) => call_id)
    expect(found.map(({ call_id }) => call_id).sort()).toEqual(expected.sort())
    const { created_ts, call_id } = found[50]!
    const second = await stage.ask('search', { start_ts: created_ts, end_ts: created_ts })
    expect(second.body.call_lists.map(call => call.call_id)).toEqual([call_id])
  })

  it('takes a page of 20 where nothing is said, and of at most 100', async () => {
    const stage = playAnalytics({ switches: start })
    const range = { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 120 }
    const plain = await stage.ask('search', range)
    expect([plain.body.call_lists.length, plain.body.total_size, plain.body.has_more]).toEqual([20, 20, true])
    const whole = await stage.ask('search', { ...range, page_no: 2, page_size: 100 })
    expect([whole.body.call_lists.length, whole.body.page_no, whole.body.page_size]).toEqual([100, 2, 100])
  })

  it('says has_more until the last page, whose total_size is what it returned', async () => {
    const stage = playAnalytics({ switches: start })
    const end = stage.now() - 120
    const range = { start_ts: end - 5 * hour, end_ts: end }
    const count = trueCalls(stage, range.start_ts, end).length
    const pages = Math.ceil(count / 30)
    for (let page_no = 1; page_no <= pages; page_no++) {
      const { body } = await stage.ask('search', { ...range, page_no, page_size: 30 })
      expect(body.has_more).toBe(page_no < pages)
      expect(body.total_size).toBe(page_no < pages ? 30 : count - 30 * (pages - 1))
    }
  })

  it('finds the calls of one channel alone', async () => {
    const stage = playAnalytics({ switches: start })
    const range = { start_ts: stage.now() - 10 * hour, end_ts: stage.now() - 120 }
    const { cname } = (await searchAll(stage, range))[0]!
    const found = await searchAll(stage, { ...range, cname })
    expect(new Set(found.map(call => call.cname))).toEqual(new Set([cname]))
    expect((await stage.ask('search', { ...range, cname: 'nowhere' })).body.call_lists).toEqual([])
  })

  it('shows a call that goes on as unfinished, ending where anything last happened, and later as finished', async () => {
    const stage = playAnalytics({ switches: start })
    const range = { start_ts: stage.now() - hour, end_ts: stage.now() - 120 }
    const going = (await searchAll(stage, range)).find(({ finished }) => !finished)!
    expect(going.destroyed_ts).toBeGreaterThanOrEqual(going.created_ts)
    expect(going.destroyed_ts).toBeLessThanOrEqual(stage.now())
    await stage.clock.advance(hour * 1_000)
    const later = (await searchAll(stage, range)).find(({ call_id }) => call_id === going.call_id)!
    expect(later.finished).toBe(true)
    expect(later.destroyed_ts).toBeGreaterThan(going.destroyed_ts)
  })

  it.each([
    [{ page_size: 101 }, 'page_size'],
    [{ page_size: 0 }, 'page_size'],
    [{ page_no: 0 }, 'page_no'],
    [{ page_no: 'two' }, 'page_no'],
    [{ start_ts: undefined }, 'start_ts'],
    [{ end_ts: undefined }, 'end_ts'],
    [{ start_ts: 'today' }, 'start_ts'],
    [{ start_ts: 1_767_600_000_000 }, 'start_ts'],
    [{ end_ts: 1 }, 'end_ts before start_ts'],
  ])('answers code 400 to %j', async (wrong, name) => {
    const stage = playAnalytics()
    const { status, body } = await stage.ask('search', {
      start_ts: stage.now() - hour,
      end_ts: stage.now() - 120,
      ...wrong,
    })
    expect([status, body.code, body.message]).toEqual([400, 400, `invalid parameters: ${name}`])
    expect(stage.violations().parameters).toBe(1)
  })
})

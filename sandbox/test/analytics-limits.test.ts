import { describe, expect, it } from 'vitest'
import {
  type AnalyticsStage,
  appOf,
  basic,
  day,
  type Endpoint,
  hour,
  playAnalytics,
} from './analytics-play.ts'

type Plan = 'starter' | 'standard' | 'premium' | 'enterprise'

interface Row {
  readonly short: readonly [requests: number, seconds: number]
  readonly day: number
  readonly reach: number
  readonly span: number
  readonly delay: number
}

const minute = 60
const calls = (requests: number, perDay: number) => ({ short: [requests, 1], day: perDay }) as const
const others = (requests: number, perDay: number) => ({ short: [requests, minute], day: perDay }) as const

/** The tables of the document, copied by hand; a plan that is not here has no access. */
const search: Partial<Record<Plan, Row>> = {
  standard: { ...calls(1, 1_000), reach: 3 * day, span: 8 * hour, delay: 60 },
  premium: { ...calls(3, 2_000), reach: 7 * day, span: 16 * hour, delay: 60 },
  enterprise: { ...calls(10, 10_000), reach: 15 * day, span: 24 * hour, delay: 60 },
}
const details: Partial<Record<Plan, Row>> = {
  standard: { ...calls(1, 1_000), reach: day, span: hour, delay: 300 },
  premium: { ...calls(3, 2_000), reach: 7 * day, span: 3 * hour, delay: 300 },
  enterprise: { ...calls(10, 10_000), reach: 15 * day, span: 6 * hour, delay: 300 },
}
const usage: Partial<Record<Plan, Row>> = {
  premium: { ...others(3, 40), reach: 14 * day, span: 3 * day, delay: 12 * hour },
  enterprise: { ...others(10, 60), reach: 30 * day, span: 7 * day, delay: 6 * hour },
}
const quality: Partial<Record<Plan, Row>> = {
  premium: { ...others(3, 40), reach: 14 * day, span: 3 * day, delay: 6 * hour },
  enterprise: { ...others(10, 60), reach: 30 * day, span: 7 * day, delay: 6 * hour },
}
const realtime: Partial<Record<Plan, Row>> = {
  premium: { ...others(3, 480), reach: 40 * minute, span: 40 * minute, delay: 40 },
  enterprise: { ...others(10, 1_440), reach: 60 * minute, span: 60 * minute, delay: 20 },
}

const tables: Readonly<Record<Endpoint, Partial<Record<Plan, Row>>>> = {
  search,
  sessions: details,
  metrics: details,
  usage,
  quality,
  'realtime-usage': realtime,
  'realtime-quality': realtime,
}

const rest: Readonly<Record<Endpoint, Readonly<Record<string, string>>>> = {
  search: {},
  sessions: { call_id: 'c' },
  metrics: { call_id: 'c', sids: 's' },
  usage: { metric: 'userCount', aggregateGranularity: '1h' },
  quality: { metric: 'networkDelay', aggregateGranularity: '1h', productType: 'Native' },
  'realtime-usage': { metric: 'userCount', productType: 'Native' },
  'realtime-quality': { metric: 'networkDelay', productType: 'Native' },
}

const endpoints = Object.keys(tables) as Endpoint[]
const plans = ['starter', 'standard', 'premium', 'enterprise'] as const
const rows = endpoints.flatMap(endpoint =>
  plans.flatMap(plan => {
    const row = tables[endpoint][plan]
    return row ? [{ endpoint, plan, row }] : []
  }),
)
const withoutAccess = endpoints.flatMap(endpoint =>
  plans.filter(plan => !tables[endpoint][plan]).map(plan => ({ endpoint, plan })),
)

const quiet = { kind: 'calls', callsPerDay: 24, users: 2, minutes: 10, days: 1 } as const

function frame(endpoint: Endpoint, start: number, end: number) {
  const isOfCalls = ['search', 'sessions', 'metrics'].includes(endpoint)
  return {
    ...rest[endpoint],
    ...(isOfCalls ? { start_ts: start, end_ts: end } : { startTs: start, endTs: end }),
  }
}

function rowOf(endpoint: Endpoint, plan: Plan): Row {
  return tables[endpoint][plan]!
}

/** A range that every rule of the row allows. */
function allowed(stage: AnalyticsStage, endpoint: Endpoint, plan: Plan) {
  const { delay } = rowOf(endpoint, plan)
  const end = stage.now() - delay - 60
  return frame(endpoint, end - 60, end)
}

describe.each(rows)('$endpoint on the plan $plan', ({ endpoint, plan, row }) => {
  const play = (options: Parameters<typeof playAnalytics>[0] = {}) => {
    return playAnalytics({ apps: [appOf(plan)], profile: quiet, pace: 0, ...options })
  }
  const messages = async (stage: AnalyticsStage, ...ranges: (readonly [number, number])[]) => {
    const said: [number, string | null][] = []
    for (const [start, end] of ranges) {
      await stage.clock.advance(minute * 1_000)
      const now = stage.now()
      const { body } = await stage.send(endpoint, frame(endpoint, now + start, now + end))
      said.push([body.code, body.code === 200 ? null : body.message])
    }
    return said
  }

  it('refuses an end that is not earlier than now less the delay', async () => {
    const stage = play()
    expect(await messages(stage, [-row.delay - 61, -row.delay - 1], [-row.delay - 60, -row.delay])).toEqual([
      [200, null],
      [300, 'query latency limit error'],
    ])
    expect(stage.violations()).toMatchObject({ delay: 1, reach: 0, span: 0 })
  })

  it('refuses a start that is not later than now less what is available', async () => {
    const stage = play()
    const length = Math.min(60, row.reach - row.delay - 2)
    expect(
      await messages(stage, [-row.reach + 1, -row.reach + length], [-row.reach, -row.reach + length]),
    ).toEqual([
      [200, null],
      [300, 'query time range limit error'],
    ])
    expect(stage.violations()).toMatchObject({ delay: 0, reach: 1, span: 0 })
  })

  it('refuses a range that is not shorter than the longest', async () => {
    const stage = play()
    const isWithinReach = row.reach - row.delay > row.span + 2
    const end = isWithinReach ? -row.delay - 1 : -row.reach + 1 + row.span
    const [fits, long] = await messages(stage, [end - row.span + 1, end], [end - row.span, end])
    if (isWithinReach) {
      expect([fits, long]).toEqual([
        [200, null],
        [300, 'query time length limit error'],
      ])
    }
    expect(long![0]).toBe(300)
    expect(stage.violations().span).toBe(1)
  })

  it('allows so many requests a second or minute, and one more after that', async () => {
    const stage = play()
    const [most, length] = row.short
    const codes: unknown[] = []
    for (let n = 0; n <= most; n++) {
      const { body } = await stage.send(endpoint, allowed(stage, endpoint, plan))
      codes.push(body.code === 200 ? 200 : body.message)
    }
    expect(codes).toEqual([...Array.from({ length: most }, () => 200), 'qps limit error'])
    await stage.clock.advance(length * 1_000)
    expect((await stage.send(endpoint, allowed(stage, endpoint, plan))).body.code).toBe(200)
    expect(stage.sandbox.status().violations).toBe(1)
  })

  it('allows so many requests a day, and the next when the first of them is a day old', async () => {
    const stage = play()
    const [most, length] = row.short
    const first = stage.clock.monotonic()
    for (let n = 0; n < row.day; n++) {
      await stage.clock.advance((length * 1_000) / most + 1)
      expect((await stage.send(endpoint, allowed(stage, endpoint, plan))).body.code).toBe(200)
    }
    await stage.clock.advance(length * 1_000)
    const beyond = await stage.send(endpoint, allowed(stage, endpoint, plan))
    expect([beyond.body.code, beyond.body.message]).toEqual([300, 'qpd limit error'])
    expect(stage.violations()).toMatchObject({ 'day-rolling': 1, 'second-sliding': 0, 'minute-sliding': 0 })
    const left = first + day * 1_000 - stage.clock.monotonic()
    await stage.clock.advance(left + (3 * length * 1_000) / most)
    expect((await stage.send(endpoint, allowed(stage, endpoint, plan))).body.code).toBe(200)
  })
})

it.each(withoutAccess)(
  'the plan $plan has no access to $endpoint, which is no violation',
  async ({ endpoint, plan }) => {
    const stage = playAnalytics({ apps: [appOf(plan)], profile: quiet })
    const end = stage.now() - 13 * hour
    const { status, body } = await stage.ask(endpoint, frame(endpoint, end - 60, end))
    expect([status, body.code, body.message]).toEqual([
      200,
      300,
      'you have no auth to access this service, please buy or upgrade your service package',
    ])
    expect(stage.sandbox.status().violations).toBe(0)
  },
)

it('an app without a plan has premium', async () => {
  const stage = playAnalytics({
    apps: [{ id: 'demo', uid: 'u', token: 't', rest: { key: 'k', secret: 's' } }],
    profile: quiet,
  })
  const now = stage.now()
  const ask = async (start: number) => {
    const range = { start_ts: now - start, end_ts: now - start + 60 }
    return (await stage.ask('search', range, basic('k', 's'))).body.code
  }
  expect([await ask(7 * day - 10), await ask(7 * day)]).toEqual([200, 300])
})

it('an app may have other limits than the document says', async () => {
  const limits = { 'call-search': { dataDelay: 600, rates: [{ requests: 1, window: 2 }] } }
  const stage = playAnalytics({ apps: [{ ...appOf('premium'), limits }], profile: quiet, pace: 0 })
  const ask = async (age: number) => {
    const end = stage.now() - age
    return (await stage.send('search', { start_ts: end - 60, end_ts: end })).body.message
  }
  expect(await ask(601)).toBe('success')
  await stage.clock.advance(1_900)
  expect(await ask(601)).toBe('qps limit error')
  await stage.clock.advance(2_000)
  expect(await ask(600)).toBe('query latency limit error')
  expect(stage.violations()).toMatchObject({ 'second-sliding': 1, delay: 1 })
})

it('ranges follow the clock of a world that runs faster, rates the clock itself', async () => {
  const stage = playAnalytics({ speed: 60, pace: 0, profile: quiet })
  await stage.clock.advance(minute * 1_000)
  expect(stage.now()).toBe(Math.floor(stage.clock.now() / 1_000) + 59 * minute)
  const ask = async (end: number) => {
    const { message } = (await stage.send('search', { start_ts: end - 60, end_ts: end })).body
    await stage.clock.advance(100)
    return message
  }
  expect(await ask(stage.now() - 60)).toBe('query latency limit error')
  expect(await ask(stage.now() - 61)).toBe('success')
  expect(await ask(stage.now() - 61)).toBe('success')
  expect(await ask(stage.now() - 61)).toBe('qps limit error')
})

it('a request counts when it arrives, whatever becomes of its answer', async () => {
  const stage = playAnalytics({
    pace: 0,
    profile: quiet,
    faults: [{ kind: 'status', status: 503, at: [1, 2, 3] }],
  })
  for (let n = 0; n < 3; n++) {
    expect((await stage.send('search', allowed(stage, 'search', 'premium'))).status).toBe(503)
  }
  const { body } = await stage.send('search', allowed(stage, 'search', 'premium'))
  expect(body.message).toBe('qps limit error')
  expect(stage.sandbox.status().violations).toBe(1)
  const refusals = stage.sandbox.arrivals.list(0, 9).map(({ status, refusal }) => [status, refusal])
  expect(refusals).toEqual([
    [503, undefined],
    [503, undefined],
    [503, undefined],
    [200, 'qps limit error'],
  ])
})

import { describe, expect, it } from 'vitest'
import { demoApp, type Switches } from '../src/index.ts'
import { appOf, askAt, type Endpoint, hour, playAnalytics, rest } from './analytics-play.ts'

const outsideSearch = Object.keys(rest).filter(name => name !== 'search') as Endpoint[]

describe('limitStatus', () => {
  it.each(['200', '300', '400', '429'] as const)(
    '%s: is the HTTP status beside code 300',
    async limitStatus => {
      const stage = playAnalytics({ switches: { limitStatus } })
      for (const endpoint of ['search', 'sessions', 'realtime-usage'] as const) {
        const { status, body } = await askAt(stage, endpoint, 0)
        expect([status, body.code, body.message]).toEqual([
          Number(limitStatus),
          300,
          'query latency limit error',
        ])
      }
    },
  )
})

describe('limitsOutsideSearch', () => {
  it('300: every endpoint refuses with code 300 and a message', async () => {
    const stage = playAnalytics()
    for (const endpoint of outsideSearch) {
      expect((await askAt(stage, endpoint, 0)).body).toMatchObject({
        code: 300,
        message: expect.stringMatching(/latency/),
      })
    }
  })

  it('429: the search alone says code 300, the others HTTP 429 without a word about the limit', async () => {
    const stage = playAnalytics({ switches: { limitsOutsideSearch: '429' } })
    expect((await askAt(stage, 'search', 0)).body.code).toBe(300)
    for (const endpoint of outsideSearch) {
      const { status, body } = await askAt(stage, endpoint, 0)
      expect([status, body.code, body.message]).toEqual([429, 429, 'Too Many Requests'])
    }
  })

  it('429: an endpoint that the plan does not have is forbidden', async () => {
    const stage = playAnalytics({ apps: [appOf('standard')], switches: { limitsOutsideSearch: '429' } })
    const { status, body } = await askAt(stage, 'usage', 13 * hour)
    expect([status, body.code]).toEqual([403, 403])
    expect(stage.sandbox.status().violations).toBe(0)
  })
})

describe('counters', () => {
  const codes = async (switches: Partial<Switches>, endpoints: readonly [Endpoint, Endpoint]) => {
    const stage = playAnalytics({ switches })
    const said: unknown[] = []
    for (let n = 0; n < 4; n++) {
      const { body } = await askAt(stage, endpoints[n % 2]!, 600)
      said.push(body.code === 200 ? 200 : body.message)
    }
    return { said, violations: stage.sandbox.status().violations }
  }

  it.each([[['sessions', 'metrics']], [['realtime-usage', 'realtime-quality']]] as const)(
    'separate or shared: whether %s refuse each other; a violation is counted either way',
    async pair => {
      expect(await codes({ counters: 'separate' }, pair)).toEqual({
        said: [200, 200, 200, 200],
        violations: 1,
      })
      expect(await codes({ counters: 'shared' }, pair)).toEqual({
        said: [200, 200, 200, 'qps limit error'],
        violations: 1,
      })
    },
  )
})

describe('countersPer', () => {
  it.each([
    ['app', 200],
    ['credential', 300],
  ] as const)('%s: another app of the same credential is answered %i', async (countersPer, code) => {
    const apps = [demoApp, { ...demoApp, id: 'second' }]
    const stage = playAnalytics({ apps, switches: { countersPer } })
    for (let n = 0; n < 3; n++) await askAt(stage, 'search', 600)
    const end = stage.now() - 600
    const { body } = await stage.send('search', { start_ts: end - 60, end_ts: end, appid: 'second' })
    expect(body.code).toBe(code)
    expect(stage.violations()['second-sliding']).toBe(1)
  })
})

describe('limiter and day', () => {
  const refusedAt = async (switches: Partial<Switches>, waits: readonly number[]) => {
    const stage = playAnalytics({ switches })
    const refused: number[] = []
    for (const [n, wait] of waits.entries()) {
      await stage.clock.advance(wait)
      if ((await askAt(stage, 'search', 600)).body.code === 300) refused.push(n + 1)
    }
    return refused
  }

  it('sliding: four requests in any second; fixed: in a second of the clock', async () => {
    const waits = [800, 50, 50, 100, 10, 10]
    expect(await refusedAt({ limiter: 'sliding' }, waits)).toEqual([4, 5, 6])
    expect(await refusedAt({ limiter: 'fixed' }, waits)).toEqual([])
  })

  it('utc-calendar: a spent day is whole again at midnight UTC; rolling: 24 hours later', async () => {
    const spend = async (day: Switches['day']) => {
      const stage = playAnalytics({ apps: [appOf('standard')], switches: { day } })
      await stage.clock.advance(14 * hour * 1_000)
      for (let n = 0; n <= 1_000; n++) {
        await stage.clock.advance(1_001)
        await stage.send('search', { start_ts: 1, end_ts: 2 })
      }
      await stage.clock.advance(1_001)
      const spent = (await askAt(stage, 'search', 600)).body.message
      await stage.clock.advance(2 * hour * 1_000)
      return [spent, (await askAt(stage, 'search', 600)).body.message]
    }
    expect(await spend('utc-calendar')).toEqual(['qpd limit error', 'success'])
    expect(await spend('rolling')).toEqual(['qpd limit error', 'qpd limit error'])
  })
})

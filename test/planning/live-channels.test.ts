import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forecastGroup } from '../../src/planning/forecast.ts'
import type { GroupFacts, WindowFacts } from '../../src/planning/forecast-facts.ts'
import { chooseLive, forecastLive } from '../../src/planning/live-channels.ts'
import { analyticsLimits } from '../../src/provider/analytics/index.ts'
import { minutes } from '../../src/provider/limits.ts'

const day = 86_400

/** So many metrics of the whole project, and as many of each channel. */
const stream = (name: string, metrics: number, every = minutes(5)): WindowFacts => ({
  ...{
    kind: 'windows',
    stream: name,
    series: metrics,
    perChannel: metrics,
    step: 20,
    every,
    allowedLateness: 0,
  },
})

function factsOf(plan: 'premium' | 'enterprise', streams: readonly WindowFacts[], sharers = 1): GroupFacts {
  const limits = { plan, ...analyticsLimits.realtime[plan]! }
  return { group: 'realtime', limits, higher: [], sharers, streams, expected: undefined }
}

const usual = (every?: number) => [stream('realtime-usage', 2, every), stream('realtime-quality', 5, every)]
const channels = (facts: GroupFacts) => forecastLive(facts)!.channels

describe('how many channels the budget has room for', () => {
  it('is undefined where nobody asks for live ones', () => {
    const { perChannel: _, ...fixed } = stream('realtime-usage', 2)
    expect(forecastLive(factsOf('enterprise', [fixed]))).toBeUndefined()
  })

  it('with the usual seven metrics: none in Premium, three in Enterprise, and more with less', () => {
    expect(channels(factsOf('premium', usual()))).toBe(0)
    expect(channels(factsOf('enterprise', usual()))).toBe(3)
    expect(channels(factsOf('enterprise', usual(minutes(30))))).toBeGreaterThan(3)
    expect(channels(factsOf('premium', [stream('realtime-quality', 1)]))).toBeGreaterThan(0)
    expect(channels(factsOf('enterprise', usual(), 4))).toBe(0)
  })

  it('never takes what the whole project needs to be read once, nor more than half of what it wishes', () => {
    const amounts = fc.record({
      plan: fc.constantFrom('premium' as const, 'enterprise' as const),
      usage: fc.integer({ min: 1, max: 4 }),
      quality: fc.integer({ min: 1, max: 10 }),
      every: fc.integer({ min: 1, max: 30 }),
      sharers: fc.integer({ min: 1, max: 3 }),
    })
    fc.assert(
      fc.property(amounts, ({ plan, usage, quality, every, sharers }) => {
        const streams = [stream('a', usage, minutes(every)), stream('b', quality, minutes(every))]
        const facts = factsOf(plan, streams, sharers)
        const alone = forecastGroup({ ...facts, streams: streams.map(({ perChannel: _, ...one }) => one) })
        const beside = forecastGroup(facts)
        expect(beside.lost).toBeCloseTo(alone.lost, 6)
        const { live, allowed, wished } = beside
        expect(live!.taken).toBeLessThanOrEqual(allowed - Math.min(wished, allowed / 2) + 1)
        // Each question is asked before anything of it can be lost.
        expect(live!.every).toBeLessThan(facts.limits.availableData - facts.limits.dataDelay)
        expect(live!.taken).toBeGreaterThanOrEqual(
          Math.floor(
            (live!.channels * (usage + quality) * day) /
              (facts.limits.availableData - facts.limits.dataDelay),
          ),
        )
      }),
    )
  })
})

describe('which channels are asked about', () => {
  const on = (channel: string) => ({ channel, endedAt: null })
  const over = (channel: string) => ({ channel, endedAt: 1 })
  const names = (chosen: ReturnType<typeof chooseLive>) => chosen.map(({ channel }) => channel)
  const asked =
    (...channels: readonly string[]) =>
    (channel: string) =>
      channels.includes(channel)

  it('the newest, as many as there is room for', () => {
    expect(names(chooseLive([on('c'), on('b'), on('a')], asked(), 2))).toEqual(['c', 'b'])
  })

  it('one that is asked about stays while it goes on, and until what came last is read', () => {
    expect(names(chooseLive([on('c'), on('b'), on('a')], asked('a'), 2))).toEqual(['a', 'c'])
    expect(names(chooseLive([on('c'), over('b'), over('a')], asked('a'), 2))).toEqual(['a', 'c'])
    expect(names(chooseLive([on('c'), on('b')], asked('a'), 2))).toEqual(['c', 'b'])
  })

  it('none that is over already', () => {
    expect(names(chooseLive([over('b'), on('a')], asked(), 2))).toEqual(['a'])
  })
})

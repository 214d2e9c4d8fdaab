import { describe, expect, it } from 'vitest'
import { minute, second } from '../harness.ts'
import { limits, makeHarness, nowOf, realtime } from './window-harness.ts'

describe('a second that spoils every answer', () => {
  it('becomes a gap, and the rest is read', async () => {
    let spoilt = 0
    const harness = makeHarness(({ from, to }) =>
      from <= spoilt && spoilt < to ? 'malformed' : { items: [] },
    )
    spoilt = nowOf(harness) - 3 * 3_600
    await harness.source.begin()
    for (let n = 0; n < 500; n++) {
      await harness.work()
      await harness.clock.advance(10 * minute)
    }
    const { covered } = harness.progress()
    const isCovered = (second: number) => covered.some(({ from, to }) => from <= second && second < to)
    expect(isCovered(spoilt)).toBe(false)
    expect(isCovered(spoilt - 3_600)).toBe(true)
    expect(isCovered(spoilt + 3_600)).toBe(true)
  })
})

describe('a window that waits for its turn', () => {
  it('is planned anew where another question was refused as near to the bound meanwhile', async () => {
    const harness = makeHarness()
    const { ledger, clock, rules, asked } = harness
    await harness.source.begin()
    const { before } = rules.bounds()
    const other = rules.begin({ start: before - 60, end: before - 1 })!
    ledger.answers.push({ granted: false, wait: 1_500, now: 0, ahead: 0 })
    const [job] = (await harness.source.find()).requests.filter(({ purpose }) => purpose === 'live')
    const run = job!.run()
    await clock.advance(second)
    await other.of(Promise.resolve(), () => 'latency_limit')
    await clock.advance(second)
    await run
    expect(asked).toEqual([])
    await clock.advance(10 * second)
    await harness.work(1)
    expect(asked).toHaveLength(1)
    expect(nowOf(harness) - asked[0]!.to).toBeGreaterThan(limits.dataDelay + 10)
  })
})

describe.each(['malformed', 'too_large'] as const)('an answer that is %s', kind => {
  /** One of the newest seconds spoils every answer about it; what lies further back is answered all the while. */
  async function begin() {
    let spoilt = 0
    const harness = makeHarness(({ from, to }) => (from <= spoilt && spoilt < to ? kind : { items: [] }))
    spoilt = nowOf(harness) - 600
    await harness.source.begin()
    const ask = async (which: 'oldest' | 'newest') => {
      const jobs = (await harness.source.find()).requests.toSorted((a, b) => a.expiresAt - b.expiresAt)
      const part = jobs.find(({ purpose }) => purpose === 'repair')
      const job = which === 'oldest' ? jobs[0] : (part ?? jobs.at(-1))
      const run = job?.run()
      await harness.clock.advance(second)
      await run
    }
    const isOf = ({ from, to }: { from: number; to: number }) => from <= spoilt && spoilt < to
    return { ...harness, ask, about: () => harness.asked.filter(isOf).map(({ from, to }) => to - from) }
  }

  it('has its question parted, though others of the series are answered in between', async () => {
    const { ask, clock, about } = await begin()
    for (let n = 0; n < 4; n++) {
      await ask('newest')
      await clock.advance(5 * minute)
      await ask('oldest')
    }
    expect(Math.min(...about())).toBeLessThanOrEqual(about()[0]! / 2 + 1)
  })

  it('does not keep what lies further back from being read while it is parted', async () => {
    const { ask, clock, asked } = await begin()
    for (let n = 0; n < 3; n++) {
      await ask('newest')
      await clock.advance(5 * minute)
    }
    const until = asked.length
    await ask('oldest')
    expect(asked[until]!.to).toBeLessThan(asked[0]!.from)
  })

  it('stands in the ledger for what it is', async () => {
    const { source, work, clock, store } = await begin()
    await source.begin()
    for (let n = 0; n < 300; n++) {
      await work()
      await clock.advance(10 * minute)
    }
    const reason = kind === 'malformed' ? 'unreadable' : 'too_large'
    expect(store.gaps).toMatchObject([{ reason }])
  })
})

type Spoilt = readonly (readonly [after: number, kind: 'malformed' | 'too_large'])[]

/**
 * Of some values, so many seconds after the beginning, every answer is of that kind. A look every ten seconds, for eighty
 * minutes, tells how old the newest value is that was read.
 */
async function pass(spoilt: Spoilt) {
  const begun = { at: 0 }
  const kindOf = ({ from, to }: { readonly from: number; readonly to: number }) =>
    spoilt.find(([after]) => from <= begun.at + after && begun.at + after < to)?.[1]
  const harness = makeHarness(asked => kindOf(asked) ?? { items: [] }, realtime)
  const { source, work, clock, progress, store, asked } = harness
  begun.at = Math.floor(nowOf(harness) / 20) * 20
  await source.begin()
  const ages: number[] = []
  let askedAfter = 0
  for (let n = 0; n < 480; n++) {
    const until = asked.length
    const isKnown = store.gaps.length > 0
    await work(1)
    if (isKnown) askedAfter += asked.slice(until).filter(kindOf).length
    await clock.advance(10 * second)
    const { seen, covered } = progress()
    ages.push(nowOf(harness) - Math.max(0, ...[...seen, ...covered].map(({ to }) => to)))
  }
  const { covered } = progress()
  return { ages: ages.slice(30), gaps: store.gaps, begun: begun.at, askedAfter, covered }
}

describe.each(['malformed', 'too_large'] as const)('one value of which every answer is %s', kind => {
  const spoilt = [[600, kind]] as const

  it('keeps no newer value from being read for longer than it takes to fail twice', async () => {
    const { ages } = await pass(spoilt)
    // The usual interval, and pauses of a minute and of a tenth of what is available.
    expect(Math.max(...ages)).toBeLessThan(300 + 60 + 240 + 90)
  })

  it('is the only one that is given up, while it can still be had', async () => {
    const { gaps, begun, covered } = await pass(spoilt)
    const reason = kind === 'malformed' ? 'unreadable' : 'too_large'
    expect(gaps).toMatchObject([{ reason, from: begun + 600, to: begun + 620 }])
    expect(covered.at(-2)!.to).toBe(begun + 600)
    expect(covered.at(-1)!.from).toBe(begun + 620)
  })

  it('is not asked about any more with others once it is given up', async () => {
    expect((await pass(spoilt)).askedAfter).toBe(0)
  })
})

describe('several values of which no answer can be read', () => {
  const cases: readonly Spoilt[] = [
    [
      [1_540, 'malformed'],
      [2_320, 'malformed'],
    ],
    [
      [660, 'malformed'],
      [700, 'too_large'],
      [1_100, 'malformed'],
    ],
    [
      [1_400, 'malformed'],
      [1_660, 'malformed'],
      [1_860, 'malformed'],
      [2_220, 'malformed'],
    ],
  ]

  it.each(cases)('keep none from being read for much longer than one does', async (...spoilt) => {
    const { ages } = await pass(spoilt)
    expect(Math.max(...ages)).toBeLessThan(1.5 * (300 + 60 + 240 + 90))
  })
})

describe('an answer that is too large', () => {
  it('has less asked for once the newest was too large as well', async () => {
    const harness = makeHarness(({ from, to }) => (to - from > 3_600 ? 'too_large' : { items: [] }))
    await harness.source.begin()
    for (let n = 0; n < 3; n++) {
      await harness.work(1)
      await harness.clock.advance(10 * minute)
    }
    const lengths = harness.asked.map(({ from, to }) => to - from)
    expect(Math.min(...lengths)).toBeLessThan(lengths[0]!)
  })
})

describe('a refusal', () => {
  it.each([
    ['latency_limit', 'to'],
    ['time_range_limit', 'from'],
    ['time_length_limit', 'timeFrame'],
  ] as const)('%s: the next question asks for less', async (kind, bound) => {
    let refusals = 1
    const harness = makeHarness(() => (refusals-- > 0 ? kind : { items: [] }))
    await harness.source.begin()
    const ask = async () => {
      const { requests: jobs } = await harness.source.find()
      // The oldest window meets the bound of the available data, the newest the one of the delay.
      const job = jobs.find(({ purpose }) => purpose === (bound === 'from' ? 'backfill' : 'live'))
      const run = job?.run()
      await harness.clock.advance(2 * second)
      await run
    }
    await ask()
    await harness.clock.advance(5 * minute)
    const beforeRetry = harness.asked.length
    await ask()
    const [first, second_] = [harness.asked[0]!, harness.asked[beforeRetry]!]
    const shift = second_.at - first.at
    if (bound === 'to') expect(second_.to - first.to).toBeLessThan(shift)
    if (bound === 'from') expect(second_.from - first.from).toBeGreaterThan(shift)
    if (bound === 'timeFrame')
      expect(second_.to - second_.from).toBeLessThanOrEqual((first.to - first.from) / 2 + 1)
    expect(harness.counts.refusals).toEqual([`callSearch ${kind}`])
  })

  it.each(['malformed', 'bad_request', 'not_found', 'unexpected_status', 'unexpected_code'] as const)(
    '%s: a question that fails is asked less and less, but again within a tenth of what is available',
    async kind => {
      const harness = makeHarness(() => kind)
      await harness.source.begin()
      for (let n = 0; n < 3 * 24 * 12; n++) {
        await harness.work()
        await harness.clock.advance(5 * minute)
      }
      const pauses = harness.asked.slice(1).map(({ at }, n) => at - harness.asked[n]!.at)
      expect(Math.max(...pauses)).toBeLessThanOrEqual(limits.availableData / 10 + 5 * 60)
      expect(pauses.at(-1)).toBeGreaterThan(pauses[0]!)
      expect(harness.asked.length).toBeLessThanOrEqual(20)
    },
  )

  it('of the question, after refusals of its range in a row, pauses like the first of its kind', async () => {
    let kind: 'time_length_limit' | 'bad_request' = 'time_length_limit'
    const harness = makeHarness(() => kind)
    await harness.source.begin()
    for (let n = 0; n < 8; n++) {
      await harness.work()
      await harness.clock.advance(10 * minute)
    }
    kind = 'bad_request'
    await harness.work()
    const failed = harness.asked.length
    await harness.clock.advance(5 * minute)
    await harness.work()
    expect(harness.asked.length).toBeGreaterThan(failed)
  })

  it('is asked again at the cost of repairs, until it is answered', async () => {
    let isWell = false
    const harness = makeHarness(() => (isWell ? { items: [] } : 'bad_request'))
    await harness.source.begin()
    const [asked] = await harness.work()
    expect(asked).not.toBe('repair')
    await harness.clock.advance(10 * minute)
    isWell = true
    const [again, ...others] = await harness.work()
    expect(again).toBe('repair')
    expect(others).not.toContain('repair')
  })
})

describe('questions of a stream that fail together', () => {
  const series = ['a', 'b', 'c'].map(key => ({ key, ask: {}, step: 20 }))
  const three = { limits: realtime.limits, settings: { ...realtime.settings, series } }

  it('are all tried as if they were well once one of them is', async () => {
    let isWell = false
    const harness = makeHarness(() => (isWell ? { items: [] } : 'bad_request'), three)
    await harness.source.begin()
    await harness.work()
    await harness.clock.advance(2 * minute)
    isWell = true
    const done = await harness.work()
    expect(done.filter(purpose => purpose === 'repair')).toHaveLength(1)
    expect(done.length).toBeGreaterThanOrEqual(3)
  })
})

describe('answers that are all malformed', () => {
  it('give nothing up that could be read later', async () => {
    let isWell = false
    const harness = makeHarness(() => (isWell ? { items: [] } : 'malformed'), realtime)
    await harness.source.begin()
    for (let n = 0; n < 120; n++) {
      await harness.work()
      await harness.clock.advance(minute)
    }
    isWell = true
    await harness.clock.advance(4 * minute)
    const before = harness.asked.length
    await harness.work()
    expect(harness.store.gaps.filter(({ reason }) => reason === 'unreadable')).toEqual([])
    const { covered } = harness.progress()
    expect(covered).toHaveLength(1)
    expect(covered[0]!.from).toBeLessThan(nowOf(harness) - 38 * 60)
    expect(harness.asked.length - before).toBeLessThan(8)
  })
})

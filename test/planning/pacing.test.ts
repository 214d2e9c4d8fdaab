import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bucketsOf,
  lookBack,
  measurePace,
  type Pace,
  type PacedBudget,
  timeOfRound,
  waitFor,
} from '../../src/planning/pacing.ts'
import { chooseRequest, newTally, type Purpose } from '../../src/planning/shares.ts'
import { analyticsLimits } from '../../src/provider/analytics/index.ts'

const second = 1_000
const minute = 60 * second
const hour = 3_600 * second
const day = 24 * hour
/** How long after it was sent a request may still reach the provider. */
const late = 40 * second

/** Every number of requests a day that a plan allows. */
const perDay = [
  ...new Set(
    Object.values(analyticsLimits)
      .flatMap(byPlan => Object.values(byPlan))
      .flatMap(({ rates }) => rates.filter(rate => rate.window === 86_400).map(rate => rate.requests)),
  ),
]
const purposes: readonly Purpose[] = ['live', 'repair', 'revisit', 'backfill']
const anyBudget = fc.constantFrom(...perDay)
const anySeries = fc.integer({ min: 1, max: 30 })
const anyPurpose = fc.constantFrom(...purposes)

interface Load {
  readonly requests: number
  readonly series?: number
  readonly days: number
  /** What has work at a moment. */
  readonly work: (now: number) => readonly Purpose[]
  /** Processes that spend of the same budget. */
  readonly processes?: number
  /** Each process starts anew after this, ms. */
  readonly restartEvery?: number
  /** What is past expires first, and soon. */
  readonly expiring?: boolean
  readonly onSent?: (purpose: Purpose) => void
}

interface Sent {
  readonly at: number
  readonly purpose: Purpose
}

interface Run {
  readonly sent: readonly Sent[]
  /** Times that the ledger would have had to refuse. */
  readonly refused: number
  readonly budget: PacedBudget
}

/** Spends a budget in virtual time. The ledger is a list of moments; nothing of it knows how pacing reckons. */
function spend(load: Load): Run {
  const { requests, series = 1, days, work, processes = 1, restartEvery, expiring = false, onSent } = load
  const budget = { requests, window: day, series }
  const sent: Sent[] = []
  let freed = 0
  let refused = 0
  const each = Array.from({ length: processes }, (_, i) => ({
    at: i * 7,
    startedAt: 0,
    pace: undefined as Pace | undefined,
    lasting: null as number | null,
    lookAt: 0,
    tally: newTally,
  }))
  for (;;) {
    const one = each.reduce((a, b) => (b.at < a.at ? b : a))
    const now = one.at
    if (now >= days * day) return { sent, refused, budget }
    while (freed < sent.length && sent[freed]!.at + day + late <= now) freed += 1
    if (restartEvery !== undefined && now - one.startedAt >= restartEvery) {
      one.pace = undefined
      one.startedAt = now
    }
    let recent = 0
    if (!one.pace)
      while (sent.at(-1 - recent) && sent.at(-1 - recent)!.at > now - lookBack(budget)) recent += 1
    const oldest = sent[freed]
    const freesIn = oldest ? oldest.at + day + late - now : null
    const sinceLast = sent.length > 0 ? now - sent.at(-1)!.at : null
    const used = sent.length - freed
    if (now >= one.lookAt) {
      one.lasting = lastingPace(sent.slice(freed), requests, now)
      one.lookAt = now + minute
    }
    const { lasting } = one
    const spending = { used, freesIn, recent, total: sent.length, sinceLast, lasting }
    const pace = measurePace(budget, one.pace, spending, now)
    one.pace = pace
    const waits = work(now).map(purpose => ({
      ...{ purpose, expiresAt: expiring && purpose === 'backfill' ? 0 : Number.MAX_SAFE_INTEGER },
      wait: waitFor(budget, pace, spending, purpose),
    }))
    const ready = waits.filter(({ wait }) => wait === 0)
    const choice = chooseRequest(ready, { tally: one.tally, now: 0, soon: 0 })
    if (!choice) {
      one.at += Math.max(1, Math.min(60 * second, ...waits.map(({ wait }) => wait)))
    } else if (spending.used >= requests) {
      refused += 1
      one.at += second
    } else {
      sent.push({ at: now, purpose: choice.request.purpose })
      onSent?.(choice.request.purpose)
      one.tally = choice.tally
      one.at += 1
    }
  }
}

/** Requests a ms that every stretch from now on allows until one of those that count comes free, but for a hundredth. */
function lastingPace(counting: readonly Sent[], requests: number, now: number): number | null {
  if (counting.length === 0) return null
  const left = Math.max(0, requests - Math.floor(requests / 100) - counting.length)
  return counting.reduce(
    (least, { at }, i) => Math.min(least, (left + i + 1) / (at + day + late - now)),
    Number.POSITIVE_INFINITY,
  )
}

function mostInADay(sent: readonly Sent[]): number {
  let most = 0
  for (let last = 0, first = 0; last < sent.length; last++) {
    while (sent[first]!.at <= sent[last]!.at - day) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

const onDay = (sent: readonly Sent[], n: number) =>
  sent.filter(({ at }) => at >= n * day && at < (n + 1) * day).length

function longestPause(sent: readonly Sent[]): number {
  return Math.max(...sent.slice(1).map(({ at }, i) => at - sent[i]!.at))
}

/** Most requests by which any stretch of time holds more than its even part of the budget. */
function mostAhead(sent: readonly Sent[], requests: number): number {
  let lowest = Number.POSITIVE_INFINITY
  let most = 0
  sent.forEach(({ at }, i) => {
    const even = (at * requests) / day
    lowest = Math.min(lowest, i - even)
    most = Math.max(most, i + 1 - even - lowest)
  })
  return most
}

const burst = (budget: PacedBudget) => {
  const { common, forNew } = bucketsOf(budget)
  return common + forNew
}

describe('the most that may be sent in one go', () => {
  it.each([
    [10_000, 1, 500, 250],
    [1_000, 1, 50, 25],
    [480, 14, 24, 14],
    [480, 36, 54, 36],
    [40, 1, 3, 1.5],
    [40, 10, 15, 10],
    [40, 16, 20, 16],
    [40, 30, 20, 16],
    [4, 1, 2, 1],
    [1, 1, 1, 1],
  ])('of %i requests and %i series is %i, of which %i need not be new', (requests, series, all, past) => {
    const budget = { requests, window: day, series }
    expect([burst(budget), bucketsOf(budget).common]).toEqual([all, past])
  })
})

describe('a first round of all series', () => {
  it.each(perDay)(
    'of %i requests a day is over when it is said to be, with new data always due',
    requests => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 200 }), series => {
          let left = series
          const { sent } = spend({
            ...{ requests, series, days: 1 + (3 * series) / requests, expiring: true },
            work: () => (left > 0 ? ['live', 'backfill'] : []),
            onSent: purpose => {
              if (purpose === 'backfill') left -= 1
            },
          })
          const last = sent.at(-1)!.at
          expect(left).toBe(0)
          expect(last).toBeLessThanOrEqual(timeOfRound({ requests, window: day, series }) + minute)
        }),
        { numRuns: requests > 2_000 ? 4 : 20 },
      )
    },
  )

  it('of as many series as two fifths of the budget is sent at once', () => {
    expect(timeOfRound({ requests: 40, window: day, series: 16 })).toBe(0)
    expect(timeOfRound({ requests: 40, window: day, series: 17 })).toBeGreaterThan(0)
  })
})

describe('while work is owed all day', () => {
  it.each(perDay)('%i requests a day are nearly all used, evenly, and never too many', requests => {
    fc.assert(
      fc.property(anySeries, anyPurpose, (series, purpose) => {
        const { sent, refused } = spend({ requests, series, days: 3, work: () => [purpose] })
        expect(refused).toBe(0)
        expect(mostInADay(sent)).toBeLessThanOrEqual(requests)
        for (const n of [0, 1, 2]) expect(onDay(sent, n) / requests).toBeGreaterThanOrEqual(0.98)
        // Of few requests, half may have gone at once: the rest is as far apart as it must be, but none stands still.
        expect(longestPause(sent) / (day / requests)).toBeLessThan(requests < 100 ? 5 : 3)
      }),
      { numRuns: requests > 2_000 ? 4 : 12 },
    )
  })

  it('a backfill gets its share though new data are always due', () => {
    const { sent } = spend({ requests: 1_000, days: 2, work: () => ['live', 'backfill'] })
    const past = sent.filter(({ purpose }) => purpose === 'backfill').length
    expect(past / sent.length).toBeGreaterThan(0.2)
    expect(past / sent.length).toBeLessThan(0.3)
  })

  it('five processes together use it as one does', () => {
    const { sent, refused } = spend({ requests: 1_000, days: 2, processes: 5, work: () => ['live'] })
    expect(refused).toBe(0)
    expect(mostInADay(sent)).toBeLessThanOrEqual(1_000)
    expect(onDay(sent, 0)).toBeGreaterThanOrEqual(980)
    expect(onDay(sent, 1)).toBeGreaterThanOrEqual(980)
  })
})

describe('after a quiet time', () => {
  it('new data may take the whole burst, the past half of it', () => {
    const live = spend({ requests: 1_000, days: 0.001, work: () => ['live'] })
    const past = spend({ requests: 1_000, days: 0.001, work: () => ['backfill'] })
    expect([live.sent.length, past.sent.length]).toEqual([50, 25])
  })

  it('a repair finds a request when everything else has to wait', () => {
    const work = (now: number): readonly Purpose[] => (now < 30 * second ? ['live'] : ['repair', 'live'])
    const { sent } = spend({ requests: 1_000, days: 0.001, work })
    const repairs = sent.filter(({ purpose }) => purpose === 'repair').length
    expect(repairs).toBeGreaterThanOrEqual(1)
    expect(repairs).toBeLessThanOrEqual(6)
    expect(sent.length - repairs).toBeLessThanOrEqual(51)
  })

  it('what is new need not wait after a day of backfill', () => {
    const work = (now: number): readonly Purpose[] => (now < day ? ['backfill'] : ['live'])
    const { sent } = spend({ requests: 1_000, days: 1.001, work })
    const first = sent.filter(({ at }) => at >= day && at < day + 60 * second)
    expect(first.length).toBeGreaterThanOrEqual(20)
    expect(mostInADay(sent)).toBeLessThanOrEqual(1_000)
  })

  it('a burst does not eat the evening: half of the day is left for its second half', () => {
    fc.assert(
      fc.property(anyBudget, anySeries, (requests, series) => {
        const { sent, budget } = spend({ requests, series, days: 1, work: () => ['live'] })
        const evening = sent.filter(({ at }) => at >= day / 2).length
        expect(evening).toBeGreaterThanOrEqual(Math.floor(((requests - burst(budget)) / 2) * 0.98))
      }),
      { numRuns: 20 },
    )
  })

  it('a light day followed by a heavy one brings slower hours at most, and no standstill', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(480, 1_000, 2_000),
        fc.double({ min: 0.02, max: 0.9, noNaN: true }),
        (n, part) => {
          const every = day / (n * part)
          let asked = 0
          const work = (now: number): readonly Purpose[] => {
            if (now >= 1.5 * day) return ['live']
            if (now < asked * every) return []
            asked += 1
            return ['live']
          }
          const { sent, refused } = spend({ requests: n, days: 3.5, work })
          expect(refused).toBe(0)
          expect(mostInADay(sent)).toBeLessThanOrEqual(n)
          const heavy = sent.filter(({ at }) => at >= 1.5 * day)
          expect(heavy.length / (2 * n)).toBeGreaterThanOrEqual(0.97)
          // What went in one go is missing for the 72 minutes that it is worth; nothing stands still as long.
          expect(longestPause(heavy)).toBeLessThan(60 * 60 * second)
        },
      ),
      { numRuns: 10 },
    )
  })
})

describe('a day after an outage', () => {
  it.each([1, 2, 3])('of %i hours has no hours without a request where nothing comes free', hours => {
    const requests = 480
    const series = 7
    const down = 36 * hour
    const { sent, refused } = spend({
      ...{ requests, series, days: 4 },
      work: now => (now >= down && now < down + hours * hour ? [] : ['live']),
    })
    expect(refused).toBe(0)
    expect(mostInADay(sent)).toBeLessThanOrEqual(requests)
    // A range of 40 minutes at a time of each series is what a plan of so many requests has.
    expect(longestPause(sent.filter(({ at }) => at > down + hours * hour))).toBeLessThan(
      (40 * minute) / series,
    )
    expect(onDay(sent, 3) / requests).toBeGreaterThanOrEqual(0.95)
  })
})

describe('whoever starts again when little of a day is left', () => {
  it.each(purposes)('has not spent half of it at once: %s', purpose => {
    const budget = { requests: 1_000, window: day, series: 2 }
    const left = 19
    let spending = {
      ...{ used: 1_000 - left, freesIn: 2 * hour, recent: 0, total: 1_000 - left, sinceLast: 10 * minute },
      lasting: null,
    }
    let pace = measurePace(budget, undefined, spending, 0)
    let sent = 0
    for (; waitFor(budget, pace, spending, purpose) === 0; sent++) {
      spending = { ...spending, used: spending.used + 1, total: spending.total + 1, sinceLast: 0 }
      pace = measurePace(budget, pace, spending, 0)
    }
    expect(sent).toBeLessThanOrEqual(left / 2)
    expect(sent).toBeGreaterThan(0)
  })
})

describe('a process that starts again and again', () => {
  it('wins nothing: no stretch of time holds more than a burst above its even part', () => {
    const restarts = fc.integer({ min: 30, max: 4 * 3_600 })
    const phases = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.subarray([...purposes])), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(anyBudget, anySeries, restarts, phases, (requests, series, seconds, list) => {
        const hours = list.flatMap(([length, work]) => Array.from({ length }, () => work))
        const { sent, refused, budget } = spend({
          ...{ requests, series, days: 2, restartEvery: seconds * second },
          work: now => hours[Math.floor(now / hour) % hours.length]!,
        })
        expect(refused).toBe(0)
        expect(mostInADay(sent)).toBeLessThanOrEqual(requests)
        const forRepairs = Math.max(1, burst(budget) / 10)
        expect(mostAhead(sent, requests)).toBeLessThanOrEqual(burst(budget) + forRepairs + 1)
      }),
      { numRuns: 40 },
    )
  })

  it.each(['live', 'backfill'] as const)(
    'five hundred times a day still spends nearly all on %s',
    purpose => {
      const restartEvery = day / 500
      const { sent } = spend({ requests: 1_000, days: 2, restartEvery, work: () => [purpose] })
      expect(mostInADay(sent)).toBeLessThanOrEqual(1_000)
      expect(onDay(sent, 0)).toBeGreaterThanOrEqual(950)
      expect(onDay(sent, 1)).toBeGreaterThanOrEqual(950)
    },
  )
})

it('a history that was lost and counts as spent is waited for, not fought', () => {
  const budget = { requests: 480, window: day, series: 14 }
  const before = measurePace(
    budget,
    undefined,
    { used: 10, freesIn: hour, recent: 1, total: 10, sinceLast: second, lasting: null },
    0,
  )
  const spending = { used: 480, freesIn: 3 * hour, recent: 24, total: 480, sinceLast: second, lasting: null }
  const after = measurePace(budget, before, spending, second)
  expect(waitFor(budget, after, spending, 'live')).toBeGreaterThanOrEqual(3 * hour)
  expect(waitFor(budget, after, spending, 'repair')).toBeGreaterThanOrEqual(3 * hour)
  const freed = { used: 400, freesIn: second, recent: 0, total: 480, sinceLast: hour, lasting: null }
  const later = measurePace(budget, after, freed, 4 * hour)
  expect(waitFor(budget, later, freed, 'live')).toBe(0)
})

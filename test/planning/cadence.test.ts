import { describe, expect, it } from 'vitest'
import {
  type HoleNews,
  hearHole,
  hintedDelay,
  nextFeed,
  nextSync,
  pauseOf,
  quietSince,
} from '../../src/planning/cadence.ts'

const minute = 60_000
const cadence = { activeEvery: 10_000, idleEvery: 80_000, memory: 60 * minute }
const open = { quiet: 0, endedAt: undefined, news: 'log' } as const
const nothing = { news: false, unfinished: false }

/** `chance` of a half leaves the intervals as they are. */
function visits(finding: typeof nothing, count: number): readonly number[] {
  let state: Parameters<typeof nextSync>[1] = open
  return Array.from({ length: count }, () => {
    const next = nextSync(cadence, state, finding, 0, 0.5)
    if (next.kind === 'close') throw new Error('closed')
    state = { ...state, quiet: next.quiet }
    return next.after
  })
}

describe('an open room', () => {
  it('in which nothing happens is visited at intervals that double up to the longest', () => {
    expect(visits(nothing, 5)).toEqual([20_000, 40_000, 80_000, 80_000, 80_000])
  })

  it('that has news is visited at the short interval again', () => {
    const next = nextSync(cadence, { ...open, quiet: 9 }, { news: true, unfinished: false }, 0, 0.5)
    expect(next).toEqual({ kind: 'sync', after: 10_000, quiet: 0 })
  })

  it('whose news are old is visited as one that has been quiet since then', () => {
    const next = nextSync(cadence, open, { ...nothing, news: true, quiet: 2 }, 0, 0.5)
    expect(next).toEqual({ kind: 'sync', after: 40_000, quiet: 2 })
  })

  it('with something unfinished is never left for the longest interval', () => {
    const long = { ...cadence, idleEvery: 3_600_000 }
    const next = nextSync(long, { ...open, quiet: 50 }, { news: false, unfinished: true }, 0, 0.5)
    expect(next).toEqual({ kind: 'sync', after: 80_000, quiet: 3 })
  })

  it('is visited a twentieth earlier or later, so that rooms do not come together', () => {
    const at = (chance: number) => nextSync(cadence, open, { news: true, unfinished: false }, 0, chance)
    expect(at(0)).toMatchObject({ after: 9_500 })
    expect(at(0.999)).toMatchObject({ after: expect.closeTo(10_499, 0) })
  })
})

describe('a room that has ended', () => {
  it('is visited a last time while the provider still knows it', () => {
    const endedAt = 1_000 * minute
    const ended = { quiet: 20, endedAt, news: 'log' } as const
    const visitAfter = (minutes: number) => nextSync(cadence, ended, nothing, endedAt + minutes * minute, 0.5)
    expect(visitAfter(10)).toMatchObject({ kind: 'sync', after: 80_000 })
    expect(visitAfter(53.5)).toMatchObject({ kind: 'sync', after: 0.5 * minute })
    expect(visitAfter(54)).toEqual({ kind: 'close' })
  })

  it('whose log is in doubt at the last visit is visited again for as long as the provider may know it', () => {
    const endedAt = 1_000 * minute
    const ended = { quiet: 20, endedAt, news: 'log' } as const
    const doubtful = { news: false, unfinished: true }
    const visitAfter = (minutes: number) =>
      nextSync(cadence, ended, doubtful, endedAt + minutes * minute, 0.5)
    expect(visitAfter(54)).toMatchObject({ kind: 'sync', after: 10_000 })
    expect(visitAfter(59.9)).toMatchObject({ kind: 'sync', after: 6_000 })
    expect(visitAfter(60)).toEqual({ kind: 'close' })
  })
})

describe('a list of a room', () => {
  const finding = { news: true, unfinished: false }

  it('of which events tell is looked at rarely, unless something of it is still to come', () => {
    const told = { ...open, news: 'told' } as const
    expect(nextSync(cadence, told, finding, 0, 0.5)).toMatchObject({ after: 80_000 })
    expect(nextSync(cadence, told, { ...finding, unfinished: true }, 0, 0.5)).toMatchObject({ after: 10_000 })
  })

  it('of a class that is over is read until nothing is new, and at last', () => {
    const over = { quiet: 0, endedAt: 0, news: 'untold' } as const
    const last = 54 * minute
    expect(nextSync(cadence, over, finding, 0, 0.5)).toMatchObject({ after: 10_000 })
    expect(nextSync(cadence, over, nothing, 0, 0.5)).toMatchObject({ after: 20_000, quiet: 1 })
    expect(nextSync(cadence, { ...over, quiet: 1 }, nothing, minute, 0.5)).toMatchObject({
      after: last - minute,
    })
    const unfinished = { news: false, unfinished: true }
    expect(nextSync(cadence, { ...over, quiet: 1 }, unfinished, minute, 0.5)).toMatchObject({ after: 40_000 })
    expect(nextSync(cadence, { ...over, quiet: 2 }, nothing, last, 0.5)).toEqual({ kind: 'close' })
  })

  it('of which something is still to come at the last visit is visited for as long as the provider may know the room', () => {
    const over = { quiet: 20, endedAt: 0, news: 'told' } as const
    const visitAfter = (minutes: number) =>
      nextSync(cadence, over, { news: false, unfinished: true }, minutes * minute, 0.5)
    expect(visitAfter(54)).toMatchObject({ kind: 'sync', after: 80_000 })
    expect(visitAfter(59.9)).toMatchObject({ kind: 'sync', after: 6_000 })
    expect(visitAfter(60)).toEqual({ kind: 'close' })
  })
})

describe('a hint', () => {
  it('of a hole, or of a room that was unknown, is followed at once', () => {
    expect(hintedDelay(cadence, 'hole', 'known', 0)).toBe(0)
    expect(hintedDelay(cadence, 'news', 'new', 0)).toBe(0)
  })

  it('of holes that come again and again is followed at once ever more seldom', () => {
    const followed: number[] = []
    let before: HoleNews | undefined
    for (let at = 0; at <= 2 * 3_600_000; at += 1_000) {
      const heard = hearHole(cadence, before, at)
      if (heard.isAtOnce) followed.push(at / 1_000)
      before = heard
    }
    // The provider knows a room for an hour.
    expect(followed).toEqual([0, 10, 30, 70, 150, 310, 630, 1_270, 2_550, 5_110])
  })

  it('of a hole is followed at once where the one before was told of long before', () => {
    const first = hearHole(cadence, undefined, 0)
    const second = hearHole(cadence, first, 10_000)
    expect(hearHole(cadence, second, 29_999)).toMatchObject({ isAtOnce: false, wait: 20_000 })
    expect(hearHole(cadence, second, 50_001)).toMatchObject({ isAtOnce: true, wait: 10_000 })
  })

  it.each(['news', 'ended'] as const)('of %s in a known room waits one short interval', change => {
    expect(hintedDelay(cadence, change, 'known', 0)).toBe(10_000)
  })
})

it('a feed that tells nothing is asked ever later, up to a tenth of what the provider remembers', () => {
  const feed = { activeEvery: 2_000, idleEvery: 30_000, memory: 60 * minute }
  expect([0, 1, 2, 3, 4, 5, 2_000].map(quiet => nextFeed(feed, quiet, 0))).toEqual([
    2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
  ])
  expect(nextFeed({ ...feed, memory: minute }, 9, 0)).toBe(6_000)
  expect(nextFeed({ ...feed, memory: 10_000 }, 9, 0)).toBe(2_000)
  expect(nextFeed({ ...feed, idleEvery: 2_000 }, 9, 0)).toBe(2_000)
})

describe('a feed in which nothing happens', () => {
  const feed = { activeEvery: 2_000, idleEvery: 30_000, memory: 60 * minute }
  /** Monday, 5 January 2026. */
  const monday = Date.UTC(2026, 0, 5)
  const hour = 60 * minute
  const next = (at: number, ...busy: number[]) => nextFeed(feed, 9, monday + at, new Set(busy))

  it('is asked at its usual pace in the hours of the week in which something is expected', () => {
    expect([next(0, 0), next(hour - 1, 0), next(hour, 0)]).toEqual([2_000, 2_000, 30_000])
    expect([next(7 * 24 * hour - 1, 167), next(33 * hour, 33), next(33 * hour, 32)]).toEqual([
      ...[2_000, 2_000, 30_000],
    ])
  })

  it('is asked at that pace from five minutes before such an hour, also over the end of a week', () => {
    expect(next(9 * hour - 5 * minute, 9)).toBe(2_000)
    expect(next(9 * hour - 5 * minute - 10_000, 9)).toBe(10_000)
    expect(next(9 * hour - 6 * minute, 9)).toBe(30_000)
    expect(next(7 * 24 * hour - minute, 0)).toBe(2_000)
  })
})

describe('moments instead of intervals', () => {
  /** Each whole hour. */
  const moments = { next: (after: number) => (Math.floor(after / (60 * minute)) + 1) * 60 * minute }
  const timed = { ...cadence, activeEvery: 60 * minute, idleEvery: 60 * minute, moments }
  const state = { quiet: 5, endedAt: undefined, news: 'untold' } as const

  it('say when a room is synced next, whatever was found, without any spread', () => {
    for (const news of [true, false]) {
      const next = nextSync(timed, state, { news, unfinished: false }, 20 * minute, 0.9)
      expect(next).toMatchObject({ kind: 'sync', after: 40 * minute })
    }
    expect(nextFeed(timed, 3, 50 * minute)).toBe(10 * minute)
    expect(hintedDelay(timed, 'news', 'known', 50 * minute)).toBe(10 * minute)
    expect(hintedDelay(timed, 'hole', 'known', 50 * minute)).toBe(0)
  })

  it('do not keep a room that ended from being synced before it is forgotten', () => {
    const over = { ...state, endedAt: 0, news: 'log' } as const
    const next = nextSync(
      { ...timed, memory: 50 * minute },
      over,
      { news: true, unfinished: false },
      minute,
      0.5,
    )
    expect(next).toMatchObject({ kind: 'sync', after: 44 * minute })
  })

  it('are not taken twice by whoever is woken a little early', () => {
    expect(pauseOf({ every: 0, moments }, 60 * minute - 200)).toBe(60 * minute + 200)
    expect(pauseOf({ every: 5 }, 0)).toBe(5)
  })
})

it('after a restart a quiet room goes on at the interval that it had reached', () => {
  expect(quietSince(10_000, 0)).toBe(0)
  expect(quietSince(10_000, 10_000)).toBe(0)
  expect(quietSince(10_000, 85_000)).toBe(3)
  expect(quietSince(10_000, -5)).toBe(0)
})

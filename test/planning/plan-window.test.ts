import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Coverage, expired } from '../../src/planning/coverage.ts'
import { normalise, type Range, type Ranges, subtract, union } from '../../src/planning/ranges.ts'
import {
  boundsOf,
  frameOf,
  halve,
  isAllowed,
  longestWindow,
  planWindow,
  validFor,
  type WindowRules,
} from '../../src/planning/windows.ts'
import { follow, nothing, purposes, read } from './follow.ts'
import { moment, plannedStreams, someRules } from './plans.ts'

const hour = 3_600
const day = 24 * hour
const noMargin = { start: 0, end: 0 }

const named = (name: string): WindowRules => ({
  ...plannedStreams.find(each => each.name === name)!.rules,
  margin: noMargin,
})
const has = (set: Ranges, s: number) => set.some(({ from, to }) => from <= s && s < to)

/** A past of any kind around what can be asked for at `now`. */
function pasts(rules: WindowRules, now: number): fc.Arbitrary<Coverage> {
  const { lowerBound, upperBound } = frameOf(rules, now)
  const width = upperBound - lowerBound
  const second = fc.integer({
    min: lowerBound - Math.ceil(width / 5),
    max: upperBound + Math.ceil(width / 10),
  })
  const ranges = fc
    .array(fc.tuple(second, fc.integer({ min: 1, max: Math.ceil(width / 3) })), { maxLength: 5 })
    .map(list => normalise(list.map(([from, length]): Range => ({ from, to: from + length }))))
  return fc.record({
    backlogFrom: second,
    covered: ranges,
    seen: ranges,
    lost: ranges,
    missing: fc.constant([]),
    wanted: ranges,
  })
}

const cases = fc
  .tuple(someRules, moment)
  .chain(([rules, now]) => pasts(rules, now).map(past => ({ rules, now, past })))

it('whatever was given up, each window has whole steps, and one at least', () => {
  fc.assert(
    fc.property(cases, ({ rules, now, past }) => {
      for (const purpose of purposes) {
        const window = planWindow(rules, past, now, purpose)
        if (!window) continue
        expect(window.from % rules.step).toBe(0)
        expect(window.to % rules.step).toBe(0)
        expect(window.to).toBeGreaterThan(window.from)
      }
    }),
    { numRuns: 2_000 },
  )
})

/** Where something can change: the ends of all ranges, and the steps beside them. */
function placesToLook(
  { backlogFrom, covered, seen, lost, wanted }: Coverage,
  rules: WindowRules,
  now: number,
) {
  const { lowerBound, upperBound } = frameOf(rules, now)
  const ends = [covered, seen, lost, wanted].flat().flatMap(({ from, to }) => [from, to])
  const ripe = now - rules.dataDelay - rules.allowedLateness
  return [...ends, backlogFrom, lowerBound, upperBound, Math.floor(ripe)].flatMap(s =>
    [-rules.step, -1, 0, 1, rules.step].map(d => s + d),
  )
}

describe('a window, over all plans and streams', () => {
  it('breaks no bound when it is planned, nor while it is said to be valid', () => {
    const later = fc.double({ min: 0, max: 1, noNaN: true })
    const purpose = fc.constantFrom(...purposes)
    fc.assert(
      fc.property(cases, purpose, later, ({ rules, now, past }, wanted, share) => {
        const range = planWindow(rules, past, now, wanted)
        if (!range) return
        const bounds = boundsOf(rules, range)
        expect([range.from % rules.step, range.to % rules.step]).toEqual([0, 0])
        expect(range.from).toBeLessThan(range.to)
        const arrival = now + validFor(rules, bounds, now) * share
        for (const at of [now, now + rules.margin.start, arrival]) {
          expect(bounds.start > at - rules.availableData, 'starts inside the available data').toBe(true)
          expect(bounds.end < at - rules.dataDelay, 'ends before the delay').toBe(true)
          expect(bounds.end - bounds.start < rules.timeFrame, 'is shorter than the span').toBe(true)
          expect(isAllowed(rules, bounds, at)).toBe(true)
        }
        expect(bounds.end < now - rules.dataDelay - rules.margin.end, 'keeps the margin at its end').toBe(
          true,
        )
      }),
      { numRuns: 1_000 },
    )
  })

  it('after window upon window nothing is left out that could have been asked, whatever the past', () => {
    fc.assert(
      fc.property(
        cases,
        fc.shuffledSubarray([...purposes], { minLength: 3 }),
        ({ rules, now, past }, order) => {
          let coverage = past
          let asked: Ranges = []
          for (let round = 0; ; round++) {
            expect(round, 'comes to an end').toBeLessThan(2_000)
            const range = order.map(purpose => planWindow(rules, coverage, now, purpose)).find(each => each)
            if (!range) break
            coverage = read(rules, coverage, range, now)
            asked = union(asked, [range])
          }
          const { availableData, dataDelay, step, margin, allowedLateness } = rules
          for (const second of placesToLook(past, rules, now)) {
            const bucket = Math.floor(second / step) * step
            const canBeAsked =
              bucket > now - availableData + margin.start && bucket + step < now - dataDelay - margin.end
            if (!canBeAsked) continue
            const isInBacklog =
              second >= past.backlogFrom && !has(past.covered, second) && !has(past.lost, second)
            const isRipe = bucket + step - 1 < now - dataDelay - allowedLateness
            if (isInBacklog && !has(past.seen, second)) expect(has(asked, second), 'was unread').toBe(true)
            if (has(past.wanted, second)) expect(has(asked, second), 'was wanted').toBe(true)
            const isOlderThanNewest = second < frameOf(rules, now).upperBound - longestWindow(rules)
            if (isInBacklog && isRipe && isOlderThanNewest) expect(has(coverage.covered, second)).toBe(true)
          }
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('of the past is one of the fewest with which all of it can be read', () => {
    fc.assert(
      fc.property(cases, ({ rules, now, past }) => {
        const { lowerBound, upperBound } = frameOf(rules, now)
        const newest = planWindow(rules, { ...past, seen: [], wanted: [] }, now, 'live')
        let coverage = past
        let planned = 0
        for (;;) {
          const range = planWindow(rules, coverage, now, 'backfill')
          if (!range) break
          coverage = read(rules, coverage, range, now)
          planned += 1
        }
        if (!newest) return
        const unread = subtract(
          subtract(
            subtract(
              normalise([
                {
                  from: Math.max(past.backlogFrom, lowerBound),
                  to: Math.max(newest.from, lowerBound, past.backlogFrom),
                },
              ]),
              past.covered,
            ),
            past.lost,
          ),
          past.seen,
        )
        const targets = union(
          unread,
          subtract(normalise(past.wanted), [
            { from: Number.MIN_SAFE_INTEGER, to: lowerBound },
            { from: newest.from, to: Number.MAX_SAFE_INTEGER },
          ]),
        )
        // Windows that are laid from the newest backwards are as few as possible, between the places where something was given up.
        const barriers = past.lost.map(({ from }) => Math.ceil(from / rules.step) * rules.step)
        const edges = [Number.NEGATIVE_INFINITY, ...new Set(barriers), Number.POSITIVE_INFINITY]
        let fewest = 0
        for (const [place, start] of edges.slice(0, -1).entries()) {
          let reached = edges[place + 1]!
          for (const { from, to } of targets.toReversed()) {
            const [first, last] = [
              Math.floor(Math.max(from, start) / rules.step),
              Math.ceil(Math.min(to, reached) / rules.step),
            ]
            if (last <= first) continue
            const windows = Math.ceil(((last - first) * rules.step) / longestWindow(rules))
            fewest += windows
            reached = Math.min(last * rules.step, reached) - windows * longestWindow(rules)
          }
        }
        expect(upperBound).toBeGreaterThanOrEqual(newest.to)
        expect(planned).toBe(fewest)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is no longer than it is told to be, and never less than one step', () => {
    const longest = fc.integer({ min: 1, max: 5 * day })
    fc.assert(
      fc.property(cases, fc.constantFrom(...purposes), longest, ({ rules, now, past }, purpose, most) => {
        const range = planWindow(rules, past, now, purpose, most)
        if (range) expect(range.to - range.from).toBeLessThanOrEqual(Math.max(rules.step, most))
      }),
    )
  })

  it.each(plannedStreams)(
    'a first start ($name) reads all that the plan holds in the fewest requests',
    ({ rules }) => {
      const moments = fc.integer({ min: 20_000 * day, max: 20_010 * day })
      fc.assert(
        fc.property(moments, now => {
          const all: WindowRules = { ...rules, margin: { start: 15, end: 3 } }
          const { lowerBound, upperBound } = frameOf(all, now)
          let coverage: Coverage = { ...nothing, backlogFrom: lowerBound }
          let requests = 0
          for (const purpose of ['live', 'backfill'] as const) {
            for (;;) {
              const range = planWindow(all, coverage, now, purpose)
              if (!range) break
              coverage = read(all, coverage, range, now)
              requests += 1
            }
          }
          expect(coverage.seen).toEqual([{ from: lowerBound, to: upperBound }])
          expect(requests).toBe(Math.ceil((upperBound - lowerBound) / longestWindow(all)))
        }),
        { numRuns: 30 },
      )
    },
  )
})

describe('day after day', () => {
  it.each(plannedStreams)('$name: everything becomes final, and nothing expires', ({ rules, every }) => {
    const kept = { ...rules, margin: { start: 15, end: 3 } }
    const { coverage, now, lost } = follow(kept, every, 20)
    expect(lost).toEqual([])
    const { step, dataDelay, allowedLateness } = kept
    const ripe = Math.floor((now - dataDelay - allowedLateness) / step) * step
    const latest = coverage.covered.at(-1)!.to
    // A value is final when the newest window passes over it once more, or at the latest just before it leaves it.
    expect(subtract([{ from: coverage.backlogFrom, to: latest }], coverage.covered)).toEqual([])
    expect(ripe - latest).toBeLessThanOrEqual(
      rules.frame === 'full' && allowedLateness > 0 ? step + 3 * every : every,
    )
  })

  it.each([
    ['usage by hour, premium', 6 * hour, 4],
    ['usage by day, premium', 6 * hour, 2],
    ['usage by day, enterprise', 6 * hour, 1],
    ['quality by minute, premium', 6 * hour, 4],
    ['quality by hour, enterprise', 6 * hour, 4],
    ['real time, premium', 30 * 60, 48],
  ])('%s costs every %i seconds %i requests a day and series', (name, every, perDay) => {
    const { counts } = follow(named(name), every, 30)
    expect(counts.revisit + counts.backfill).toBe(0)
    // The first days have less past to confirm.
    expect(counts.live / 30).toBeGreaterThan(perDay * 0.9)
    expect(counts.live / 30).toBeLessThanOrEqual(perDay)
  })

  it('a call that goes on for a day is looked at again, at the cost of one second', () => {
    const rules = named('calls, standard')
    const start = 20_000 * day + 13 * hour
    const goesOn = (now: number): Ranges => (now < start + 25 * hour ? [{ from: start, to: start + 1 }] : [])
    const open = follow(rules, 600, 1, goesOn)
    expect(planWindow(rules, open.coverage, open.now, 'revisit')).toEqual({ from: start, to: start + 1 })
    expect(has(open.coverage.covered, start + 1)).toBe(true)
    const ended = follow(rules, 600, 2, goesOn)
    expect(ended.coverage.covered).toHaveLength(1)
    expect(planWindow(rules, ended.coverage, ended.now, 'revisit')).toBeUndefined()
  })
})

describe('an unfinished past', () => {
  const rules = named('calls, standard')
  const now = 20_000 * day
  const { lowerBound, upperBound } = frameOf(rules, now)
  const second = (from: number): Range => ({ from, to: from + 1 })

  it('one look serves all calls that go on within a span', () => {
    const [first, last] = [upperBound - 20 * hour, upperBound - 13 * hour]
    const open = normalise([second(first), second(first + hour), second(last), second(upperBound - 5 * hour)])
    const all = [{ from: lowerBound, to: upperBound }]
    const coverage = { ...nothing, backlogFrom: lowerBound, covered: subtract(all, open), seen: all }
    expect(planWindow(rules, coverage, now, 'revisit')).toEqual({ from: first, to: last + 1 })
    expect(planWindow(rules, coverage, now, 'revisit', hour)).toEqual({ from: first, to: first + 1 })
    expect(planWindow(rules, coverage, now, 'backfill')).toBeUndefined()
  })

  it('what the newest window no longer reaches is looked at again while calls in it may go on', () => {
    const short = { ...rules, availableData: 90 * 60, timeFrame: 30 * 60, allowedLateness: hour }
    const frame = frameOf(short, now)
    const all = [{ from: frame.lowerBound, to: frame.upperBound }]
    const final = [{ from: frame.lowerBound, to: frame.upperBound - 70 * 60 }]
    const coverage = { ...nothing, backlogFrom: frame.lowerBound, covered: final, seen: all }
    const limit = longestWindow(short)
    const newest = frame.upperBound - limit
    expect(planWindow(short, { ...coverage, seen: subtract(all, [second(now - 70)]) }, now, 'live')).toEqual({
      from: newest,
      to: frame.upperBound,
    })
    const revisited = planWindow(short, coverage, now, 'revisit')
    expect(revisited).toEqual({ from: final[0]!.to, to: final[0]!.to + limit })
    const onwards = { ...coverage, lost: [{ from: frame.lowerBound, to: revisited!.to }] }
    expect(planWindow(short, onwards, now, 'revisit')).toEqual({ from: revisited!.to, to: newest })
    expect(planWindow(short, { ...onwards, lost: [{ from: 0, to: newest }] }, now, 'revisit')).toBeUndefined()
  })

  it('what was never read goes oldest first, and ends with the last second that is owed', () => {
    const covered = [
      { from: upperBound - 29 * hour, to: upperBound - 27 * hour },
      { from: upperBound - 26 * hour, to: upperBound - hour },
    ]
    const coverage = { ...nothing, backlogFrom: upperBound - 30 * hour, covered, seen: covered }
    expect(planWindow(rules, coverage, now, 'backfill')).toEqual({
      from: upperBound - 30 * hour,
      to: upperBound - 26 * hour,
    })
    expect(planWindow(rules, coverage, now, 'live')).toEqual({ from: upperBound - hour, to: upperBound })
  })

  it('what someone wants again is read again, though it is covered', () => {
    const all = [{ from: lowerBound, to: upperBound }]
    const wanted = [{ from: upperBound - 10 * hour, to: upperBound - 9 * hour }]
    const coverage = { ...nothing, backlogFrom: lowerBound, covered: all, seen: all, wanted }
    expect(planWindow(rules, coverage, now, 'backfill')).toEqual(wanted[0])
    expect(planWindow(rules, coverage, now, 'live')).toBeUndefined()
  })
})

describe('an outage that is longer than the available data', () => {
  it.each(plannedStreams)(
    '$name: what expired is told to the second, and the stream moves on',
    ({ rules }) => {
      const kept: WindowRules = { ...rules, margin: noMargin }
      const stopped = 20_000 * day
      const before: Coverage = {
        ...nothing,
        backlogFrom: stopped - 40 * day,
        covered: [{ from: stopped - 40 * day, to: stopped }],
        seen: [{ from: stopped - 40 * day, to: stopped }],
      }
      const now = stopped + rules.availableData + 5 * day
      const { lowerBound, upperBound } = frameOf(kept, now)
      const gone = expired(before, lowerBound)
      expect(gone).toEqual([{ from: stopped, to: lowerBound }])
      let coverage: Coverage = { ...before, lost: gone }
      expect(expired(coverage, lowerBound)).toEqual([])
      for (const purpose of purposes) {
        for (let range = planWindow(kept, coverage, now, purpose); range; ) {
          coverage = read(kept, coverage, range, now)
          range = planWindow(kept, coverage, now, purpose)
        }
      }
      expect(coverage.seen.at(-1)).toEqual({ from: lowerBound, to: upperBound })
    },
  )
})

it('a window that holds too much is halved until it does not, down to one step', () => {
  const rules = named('calls, premium')
  const now = 20_000 * day
  const { upperBound } = frameOf(rules, now)
  const burst = upperBound - 5_000
  let coverage: Coverage = { ...nothing, backlogFrom: upperBound - 8 * hour }
  const parts: Range[] = [planWindow(rules, coverage, now, 'live')!]
  let requests = 0
  while (parts.length > 0) {
    const range = parts.shift()!
    requests += 1
    const halves = has([range], burst) ? halve(range, rules.step) : undefined
    if (halves) parts.push(...halves)
    else coverage = read(rules, coverage, range, now)
  }
  expect(coverage.seen).toEqual([{ from: upperBound - 8 * hour, to: upperBound }])
  expect(requests).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(8 * hour)) + 1)
})

import { describe, expect, it } from 'vitest'
import { hour, minute } from '../harness.ts'
import { day, limits, makeHarness, nowOf, ofCalls } from './window-harness.ts'

describe('a source with moments', () => {
  /** Each day at eight, when the clock of the tests begins. */
  const moments = { next: (after: number) => (Math.floor(after / (24 * hour) - 1 / 3) + 4 / 3) * 24 * hour }

  it('asks for what is new at them alone, all of it, and not bit by bit before', async () => {
    const settings = { ...ofCalls.settings, every: 24 * hour, moments, allowedLateness: 0 }
    const harness = makeHarness(undefined, { limits, settings })
    await harness.source.begin()
    await harness.work()
    const before = harness.asked.length
    for (let n = 0; n < 23; n++) {
      await harness.clock.advance(hour)
      expect(await harness.work()).toEqual([])
    }
    await harness.clock.advance(hour)
    // A window is shorter than eight hours, so three are not enough.
    expect((await harness.work()).toSorted()).toEqual(['backfill', 'backfill', 'backfill', 'live'])
    const asked = harness.asked.slice(before)
    expect(asked.every(({ at }) => new Date(at * 1_000).getUTCHours() === 8)).toBe(true)
    expect(harness.progress().covered).toHaveLength(1)
  })
})

describe('from then on', () => {
  it('the last hour is read again each time, and becomes final when it is an hour old', async () => {
    const harness = makeHarness()
    await harness.source.begin()
    await harness.work()
    const before = harness.asked.length
    for (let n = 0; n < 10; n++) {
      await harness.clock.advance(minute)
      await harness.work()
    }
    const polls = harness.asked.slice(before)
    expect(polls.length).toBe(10)
    for (const { from, to } of polls) expect(to - from).toBeGreaterThan(3_600)
    const { covered, seen } = harness.progress()
    expect(seen.at(-1)!.to - covered.at(-1)!.to).toBeGreaterThanOrEqual(3_600 - 5)
  })

  it('what goes on counts as read each time that it is looked at again, though it is not final', async () => {
    let begun = 0
    const harness = makeHarness(({ from, to }) => {
      const isListed = from <= begun && begun <= to
      return { items: isListed ? [begun] : [], unfinished: isListed ? [begun] : [] }
    })
    begun = nowOf(harness) - 3 * 3_600
    await harness.source.begin()
    const told: number[] = []
    for (let n = 0; n < 4; n++) {
      await harness.work()
      await harness.source.find()
      const { expiresIn, oldestReadAt } = harness.counts.backlog.at(-1)!
      expect(expiresIn! / 1_000).toBeCloseTo(begun + 3 * day - nowOf(harness), -1)
      told.push(harness.clock.monotonic() - (oldestReadAt ?? Number.NEGATIVE_INFINITY))
      await harness.clock.advance(11 * minute)
    }
    expect(Math.max(...told.slice(1))).toBeLessThan(minute)
  })

  it('a call that goes on keeps one second owed, and is looked at again until it ends', async () => {
    let begun = 0
    let isOver = false
    const harness = makeHarness(({ from, to }) => {
      const isListed = from <= begun && begun <= to
      return { items: isListed ? [begun] : [], unfinished: isListed && !isOver ? [begun] : [] }
    })
    begun = nowOf(harness) - 3 * 3_600
    await harness.source.begin()
    await harness.work()
    const hole = () => {
      const { covered } = harness.progress()
      return covered.some(({ to }) => to === begun) && covered.some(({ from }) => from === begun + 1)
    }
    expect(hole()).toBe(true)
    await harness.clock.advance(11 * minute)
    expect(await harness.work()).toContain('revisit')
    expect(hole()).toBe(true)
    isOver = true
    await harness.clock.advance(11 * minute)
    await harness.work()
    expect(hole()).toBe(false)
  })
})

describe('a call that never ends', () => {
  it('does not keep later ones from being looked at again', async () => {
    let never = 0
    let later = 0
    const harness = makeHarness(({ from, to }) => {
      const unfinished = [never, later].filter(second => from <= second && second < to)
      return { items: [], unfinished }
    })
    never = nowOf(harness) - 2 * day
    later = nowOf(harness) - 5 * 3_600
    await harness.source.begin()
    await harness.work()
    const before = harness.asked.length
    for (let n = 0; n < 3; n++) {
      await harness.clock.advance(11 * minute)
      await harness.work()
    }
    const again = harness.asked.slice(before)
    for (const second of [never, later]) {
      expect(again.filter(({ from, to }) => from <= second && second < to).length).toBeGreaterThanOrEqual(2)
    }
  })
})

describe('a window that lists what cannot be read, and not when it begins', () => {
  it.each([1, 2])('is read and not final, whichever page of two that is on: %i', async spoilt => {
    let isMended = false
    const harness = makeHarness(({ from, page }) => {
      const items = page === 1 ? [from + 3, from + 2, from + 1] : [from]
      return { items, hasMore: page === 1, isUncertain: page === spoilt && !isMended }
    })
    await harness.source.begin()
    const first = await harness.work()
    expect(harness.progress().covered).toEqual([])
    expect(harness.progress().seen).not.toEqual([])
    isMended = true
    await harness.clock.advance(10 * minute)
    // All windows once, and no more: what is old enough meanwhile would be asked for second by second.
    await harness.work(first.length)
    expect(harness.progress().covered).not.toEqual([])
  })
})

describe('a window at the end of the available data', () => {
  it('with more pages than there is time for is planned shorter, and ends', async () => {
    // Each page takes a second; a window of eight hours would have 160 of them.
    const harness = makeHarness(({ from, to, page }) => {
      const pages = Math.ceil((to - from) / 180)
      return { items: page < pages ? Array(3).fill(to - page) : [to], hasMore: page < pages }
    })
    await harness.source.begin()
    const live = (await harness.source.find()).requests.find(({ purpose }) => purpose === 'live')!
    const first = live.run()
    await harness.clock.advance(10 * minute)
    await first
    await harness.clock.advance(2 * 24 * hour)
    for (let n = 0; n < 400; n++) {
      const { requests: jobs } = await harness.source.find()
      const [job] = jobs.toSorted((a, b) => a.expiresAt - b.expiresAt)
      if (!job) break
      const run = job.run()
      await harness.clock.advance(3 * minute)
      await run
    }
    const { covered } = harness.progress()
    expect(covered.at(-1)!.to).toBeGreaterThan(nowOf(harness) - 3 * 3_600)
    expect(harness.store.gaps.every(({ reason }) => reason === 'expired')).toBe(true)
  })
})

describe('a series of which much is known', () => {
  it('is looked at as far back as it can be asked for, and no further', async () => {
    const harness = makeHarness()
    const { store } = harness
    const looks: (number | undefined)[] = []
    const windows = store.windows.bind(store)
    store.windows = (app, stream, since) => {
      looks.push(since === undefined ? since : nowOf(harness) - since)
      return windows(app, stream, since)
    }
    await harness.source.begin()
    await harness.work()
    expect(looks.length).toBeGreaterThan(2)
    for (const back of looks) {
      expect(back).toBeGreaterThanOrEqual(limits.availableData)
      expect(back).toBeLessThan(limits.availableData + 60)
    }
  })
})

describe('a series that nobody asks for any more', () => {
  it('is closed, and owes nothing', async () => {
    const harness = makeHarness()
    harness.store.putWindow('calls', { series: 'of an earlier configuration', backlogFrom: 1 })
    await harness.source.begin()
    expect(harness.store.closedWindows).toEqual(['calls of an earlier configuration'])
  })
})

describe('an outage longer than the available data', () => {
  it('leaves one exact gap, and the stream goes on', async () => {
    const harness = makeHarness()
    await harness.source.begin()
    await harness.work()
    const known = harness.progress()
    await harness.clock.advance(5 * 24 * hour)
    const back = nowOf(harness)
    await harness.work()
    await harness.clock.advance(minute)
    await harness.work()
    const [gap, ...others] = harness.store.gaps
    expect(others).toEqual([])
    expect(gap!.from).toBe(known.covered.at(-1)!.to)
    expect(gap!.to - (back - limits.availableData)).toBeLessThan(60)
    const { covered } = harness.progress()
    expect(covered.at(-1)!.from).toBe(gap!.to)
  })
})

describe('a value that is promised and not served', () => {
  const hourly = {
    limits: { availableData: 14 * day, timeFrame: 3 * day, dataDelay: 6 * 3_600 },
    settings: {
      series: [{ key: '', ask: {}, step: 3_600, expects: 'each' }],
      every: 6 * hour,
      allowedLateness: 0,
      revisitEvery: 6 * hour,
      frame: 'full',
    },
  } as const
  const hoursOf = (from: number, to: number) =>
    Array.from({ length: (to - from) / 3_600 + 1 }, (_, n) => from + n * 3_600)

  it('is owed while it can be had, asked for at growing intervals as repair, and absent after that', async () => {
    let never = 0
    const harness = makeHarness(
      ({ from, to }) => ({ items: [], received: hoursOf(from, to).filter(ts => ts !== never) }),
      hourly,
    )
    never = Math.floor(nowOf(harness) / 3_600 - 10 * 24) * 3_600
    await harness.source.begin()
    await harness.work()
    expect(harness.progress().missing).toEqual([{ from: never, to: never + 3_600 }])
    expect(harness.progress().covered).toHaveLength(2)
    const repairs: number[] = []
    for (let n = 0; n < 5 * 24; n++) {
      await harness.clock.advance(hour)
      const done = await harness.work()
      if (done.includes('repair')) repairs.push(nowOf(harness))
    }
    const pauses = repairs.slice(1).map((at, n) => at - repairs[n]!)
    expect(pauses.length).toBeGreaterThanOrEqual(2)
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
    expect(pauses[1]).toBeGreaterThan(pauses[0]! * 1.5)
    expect(harness.store.gaps).toEqual([
      { stream: 'calls', series: '', reason: 'not_served', from: never, to: never + 3_600 },
    ])
  })

  it('is covered as soon as it is served', async () => {
    let late = 0
    const harness = makeHarness(
      ({ from, to }) => ({ items: [], received: hoursOf(from, to).filter(ts => ts !== late) }),
      hourly,
    )
    late = Math.floor(nowOf(harness) / 3_600 - 10 * 24) * 3_600
    await harness.source.begin()
    await harness.work()
    late = 0
    await harness.clock.advance(13 * hour)
    await harness.work()
    expect(harness.progress()).toMatchObject({ missing: [], covered: [expect.anything()] })
  })
})

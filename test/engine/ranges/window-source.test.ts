import { describe, expect, it } from 'vitest'
import { hour, minute, second } from '../rig.ts'
import { day, limits, nowOf, rigged } from './window-rig.ts'

describe('a first start', () => {
  it('has the newest window and the oldest one to ask for', async () => {
    const rig = rigged()
    await rig.source.begin()
    const { requests: jobs } = await rig.source.find()
    expect(jobs.map(({ purpose }) => purpose)).toEqual(['live', 'backfill'])
    const [live, oldest] = jobs
    expect(oldest!.expiresAt - nowOf(rig)).toBeLessThan(90)
    expect(live!.expiresAt - nowOf(rig)).toBeGreaterThan(2 * day)
  })

  it('reads all that the plan has available, in as few windows as can be', async () => {
    const rig = rigged()
    await rig.source.begin()
    const began = nowOf(rig)
    const done = await rig.work()
    expect(done.filter(purpose => purpose === 'live')).toHaveLength(1)
    expect(rig.asked.length).toBe(Math.ceil((3 * day) / (8 * 3_600)))
    expect(rig.asked[0]!.from).toBeLessThan(began - 3 * day + 90)
    expect(Math.max(...rig.asked.map(({ to }) => to))).toBeGreaterThan(began - 60 - 10)
    const { covered } = rig.progress()
    expect(covered).toHaveLength(1)
    expect(covered[0]!.to).toBeGreaterThan(began - 3_600 - 60 - 5)
  })

  it('asks nothing outside the strict bounds of the plan', async () => {
    const rig = rigged()
    await rig.source.begin()
    await rig.work()
    for (const { from, to, at } of rig.asked) {
      expect(from).toBeGreaterThan(at - limits.availableData)
      expect(to).toBeLessThan(at - limits.dataDelay)
      expect(to - from).toBeLessThan(limits.timeFrame)
    }
  })
})

describe('from then on', () => {
  it('the last hour is read again each time, and becomes final when it is an hour old', async () => {
    const rig = rigged()
    await rig.source.begin()
    await rig.work()
    const before = rig.asked.length
    for (let n = 0; n < 10; n++) {
      await rig.clock.advance(minute)
      await rig.work()
    }
    const polls = rig.asked.slice(before)
    expect(polls.length).toBe(10)
    for (const { from, to } of polls) expect(to - from).toBeGreaterThan(3_600)
    const { covered, seen } = rig.progress()
    expect(seen.at(-1)!.to - covered.at(-1)!.to).toBeGreaterThanOrEqual(3_600 - 5)
  })

  it('a call that goes on keeps one second owed, and is looked at again until it ends', async () => {
    let begun = 0
    let isOver = false
    const rig = rigged(({ from, to }) => {
      const isListed = from <= begun && begun <= to
      return { items: isListed ? [begun] : [], unfinished: isListed && !isOver ? [begun] : [] }
    })
    begun = nowOf(rig) - 3 * 3_600
    await rig.source.begin()
    await rig.work()
    const hole = () => {
      const { covered } = rig.progress()
      return covered.some(({ to }) => to === begun) && covered.some(({ from }) => from === begun + 1)
    }
    expect(hole()).toBe(true)
    await rig.clock.advance(11 * minute)
    expect(await rig.work()).toContain('revisit')
    expect(hole()).toBe(true)
    isOver = true
    await rig.clock.advance(11 * minute)
    await rig.work()
    expect(hole()).toBe(false)
  })
})

describe('a window that holds more than is listed', () => {
  it('is halved until every part is listed whole', async () => {
    const rig = rigged(({ from, to }) => ({ items: [], hasMore: to - from > 3_600 }))
    await rig.source.begin()
    await rig.work()
    const { covered, lost } = rig.progress()
    expect(covered).toHaveLength(1)
    expect(lost).toEqual([])
    const read = rig.asked.filter(({ from, to }) => to - from <= 3_600)
    expect(rig.asked.length).toBeLessThan(read.length * 1.6)
  })

  it('of one second becomes a gap, and the rest is read', async () => {
    let crowded = 0
    const rig = rigged(({ from, to }) => ({ items: [], hasMore: from <= crowded && crowded < to }))
    crowded = nowOf(rig) - 2 * day
    await rig.source.begin()
    await rig.work()
    expect(rig.store.gaps).toEqual([
      { stream: 'calls', series: '', reason: 'overflow', from: crowded, to: crowded + 1 },
    ])
    const { covered } = rig.progress()
    expect(covered).toHaveLength(2)
    expect(covered[0]!.to).toBe(crowded)
  })

  it('is paged through while its pages are full', async () => {
    const rig = rigged(({ page, to }) => ({ items: page < 4 ? [to, to, to] : [to], hasMore: page < 4 }))
    await rig.source.begin()
    const found = await rig.source.find()
    const run = found.requests[0]!.run()
    await rig.clock.advance(second)
    await run
    expect(rig.asked.map(({ page }) => page)).toEqual([1, 2, 3, 4])
    expect(rig.store.windowCommits.map(({ covers }) => covers.length)).toEqual([0, 0, 0, 1])
  })
})

describe('a call that never ends', () => {
  it('does not keep later ones from being looked at again', async () => {
    let never = 0
    let later = 0
    const rig = rigged(({ from, to }) => {
      const unfinished = [never, later].filter(second => from <= second && second < to)
      return { items: [], unfinished }
    })
    never = nowOf(rig) - 2 * day
    later = nowOf(rig) - 5 * 3_600
    await rig.source.begin()
    await rig.work()
    const before = rig.asked.length
    for (let n = 0; n < 3; n++) {
      await rig.clock.advance(11 * minute)
      await rig.work()
    }
    const again = rig.asked.slice(before)
    for (const second of [never, later]) {
      expect(again.filter(({ from, to }) => from <= second && second < to).length).toBeGreaterThanOrEqual(2)
    }
  })
})

describe('a window that lists what cannot be read, and not when it begins', () => {
  it.each([1, 2])('is read and not final, whichever page of two that is on: %i', async spoilt => {
    let isMended = false
    const rig = rigged(({ from, page }) => {
      const items = page === 1 ? [from + 3, from + 2, from + 1] : []
      return { items, hasMore: page === 1, isUncertain: page === spoilt && !isMended }
    })
    await rig.source.begin()
    await rig.work()
    expect(rig.progress().covered).toEqual([])
    expect(rig.progress().seen).not.toEqual([])
    isMended = true
    await rig.clock.advance(10 * minute)
    await rig.work()
    expect(rig.progress().covered).not.toEqual([])
  })
})

describe('a window at the end of the available data', () => {
  it('with more pages than there is time for is planned shorter, and ends', async () => {
    // Each page takes a second; a window of eight hours would have 160 of them.
    const rig = rigged(({ from, to, page }) => {
      const pages = Math.ceil((to - from) / 180)
      return { items: page < pages ? [to, to, to] : [to], hasMore: page < pages }
    })
    await rig.source.begin()
    const live = (await rig.source.find()).requests.find(({ purpose }) => purpose === 'live')!
    const first = live.run()
    await rig.clock.advance(10 * minute)
    await first
    await rig.clock.advance(2 * 24 * hour)
    for (let n = 0; n < 400; n++) {
      const { requests: jobs } = await rig.source.find()
      const [job] = jobs.toSorted((a, b) => a.expiresAt - b.expiresAt)
      if (!job) break
      const run = job.run()
      await rig.clock.advance(3 * minute)
      await run
    }
    const { covered } = rig.progress()
    expect(covered.at(-1)!.to).toBeGreaterThan(nowOf(rig) - 3 * 3_600)
    expect(rig.store.gaps.every(({ reason }) => reason === 'expired')).toBe(true)
  })
})

describe('a series that nobody asks for any more', () => {
  it('is closed, and owes nothing', async () => {
    const rig = rigged()
    rig.store.putWindow('calls', { series: 'of an earlier configuration', backlogFrom: 1 })
    await rig.source.begin()
    expect(rig.store.closedWindows).toEqual(['calls of an earlier configuration'])
  })
})

describe('an outage longer than the available data', () => {
  it('leaves one exact gap, and the stream goes on', async () => {
    const rig = rigged()
    await rig.source.begin()
    await rig.work()
    const known = rig.progress()
    await rig.clock.advance(5 * 24 * hour)
    const back = nowOf(rig)
    await rig.work()
    await rig.clock.advance(minute)
    await rig.work()
    const [gap, ...others] = rig.store.gaps
    expect(others).toEqual([])
    expect(gap!.from).toBe(known.covered.at(-1)!.to)
    expect(gap!.to - (back - limits.availableData)).toBeLessThan(60)
    const { covered } = rig.progress()
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
    const rig = rigged(
      ({ from, to }) => ({ items: [], received: hoursOf(from, to).filter(ts => ts !== never) }),
      hourly,
    )
    never = Math.floor(nowOf(rig) / 3_600 - 10 * 24) * 3_600
    await rig.source.begin()
    await rig.work()
    expect(rig.progress().missing).toEqual([{ from: never, to: never + 3_600 }])
    expect(rig.progress().covered).toHaveLength(2)
    const repairs: number[] = []
    for (let n = 0; n < 5 * 24; n++) {
      await rig.clock.advance(hour)
      const done = await rig.work()
      if (done.includes('repair')) repairs.push(nowOf(rig))
    }
    const pauses = repairs.slice(1).map((at, n) => at - repairs[n]!)
    expect(pauses.length).toBeGreaterThanOrEqual(2)
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
    expect(pauses[1]).toBeGreaterThan(pauses[0]! * 1.5)
    expect(rig.store.gaps).toEqual([
      { stream: 'calls', series: '', reason: 'not_served', from: never, to: never + 3_600 },
    ])
  })

  it('is covered as soon as it is served', async () => {
    let late = 0
    const rig = rigged(
      ({ from, to }) => ({ items: [], received: hoursOf(from, to).filter(ts => ts !== late) }),
      hourly,
    )
    late = Math.floor(nowOf(rig) / 3_600 - 10 * 24) * 3_600
    await rig.source.begin()
    await rig.work()
    late = 0
    await rig.clock.advance(13 * hour)
    await rig.work()
    expect(rig.progress()).toMatchObject({ missing: [], covered: [expect.anything()] })
  })
})

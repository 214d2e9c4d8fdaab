import { describe, expect, it } from 'vitest'
import { createAdmission } from '../../src/engine/admission.ts'
import { createStoreHealth } from '../../src/engine/health.ts'
import { createRangeRules } from '../../src/engine/range-rules.ts'
import type { WindowSettings } from '../../src/engine/settings.ts'
import { createWindowSource } from '../../src/engine/window-source.ts'
import type { FailureKind } from '../../src/provider/errors.ts'
import { perSecond, type RangeLimits } from '../../src/provider/limits.ts'
import { calls, type ServedWindow } from './fake-windows.ts'
import { appOf, createRig, fence, hour, minute, second, settingsOf } from './rig.ts'

const day = 24 * 3_600
const limits: RangeLimits = { reach: 3 * day, span: 8 * 3_600, delay: 60 }
const settings: WindowSettings = {
  series: [{ key: '', ask: {}, step: 1 }],
  every: minute,
  finalAfter: 3_600,
  revisitEvery: 10 * minute,
  frame: 'needed',
}

const ofCalls = { limits, settings }

type Answers = (asked: {
  readonly from: number
  readonly to: number
  readonly page: number
}) => ServedWindow | FailureKind

/** The shortest that a plan reaches: values of twenty seconds, of the past forty minutes. */
const realtime = {
  limits: { reach: 2_400, span: 2_400, delay: 40 },
  settings: {
    series: [{ key: '', ask: {}, step: 20 }],
    every: 5 * minute,
    finalAfter: 0,
    revisitEvery: 5 * minute,
    frame: 'full',
  },
} as const

function rigged(
  answers: Answers = () => ({ items: [] }),
  { limits, settings }: { readonly limits: RangeLimits; readonly settings: WindowSettings } = ofCalls,
) {
  const rig = createRig([])
  const blank = appOf('a1', [])
  const group = {
    scope: 'a1',
    rates: [perSecond(100)],
    concurrency: 2,
    counted: 'ledger',
    range: limits,
  } as const
  const app = { ...blank, limits: { ...blank.limits, 'call-search': group } }
  const engine = settingsOf([app])
  const asked: { from: number; to: number; page: number; at: number }[] = []
  rig.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  rig.transport.send = async (_app, { target }) => {
    const query = new URL(target, 'http://provider').searchParams
    const [from, to, page] = ['start_ts', 'end_ts', 'page_no'].map(name => Number(query.get(name)))
    const question = { from: from!, to: to!, page: page! }
    asked.push({ ...question, at: rig.clock.now() / 1_000 })
    const said = answers(question)
    const timing = { receivedAt: rig.clock.now(), elapsed: 0 }
    if (typeof said === 'string') return { ok: false, failure: { kind: said, text: said }, timing }
    return {
      ok: true,
      answer: { body: said, status: 200, answeredAt: undefined, size: 0 },
      timing,
    }
  }
  const controller = new AbortController()
  const heard: string[] = []
  const context = {
    ...rig,
    ...{ app, settings: engine, fence: () => fence, signal: controller.signal },
    admission: createAdmission(rig, engine.deadline),
    health: createStoreHealth(rig.log, () => {}),
    onFenced: () => heard.push('fenced'),
    onRooms: () => heard.push('rooms'),
    onWork: () => heard.push('work'),
  }
  const rules = createRangeRules(limits, rig.clock, rig.transport.clockOffset.bind(null, 'analytics'))
  const source = createWindowSource({ context, stream: calls, settings, rules, details: undefined, round: 0 })
  /** Does everything that can be done now; answers which purposes it was for. */
  const work = async (): Promise<string[]> => {
    const done: string[] = []
    for (;;) {
      const found = source.find()
      await rig.clock.advance(0)
      const [job] = (await found).jobs.toSorted((a, b) => a.expiresAt - b.expiresAt)
      if (!job) return done
      done.push(job.purpose)
      const run = job.run()
      await rig.clock.advance(second)
      await run
    }
  }
  return { ...rig, source, work, asked, rules, heard, progress: () => rig.store.window('calls', '') }
}

const nowOf = (rig: ReturnType<typeof rigged>) => rig.clock.now() / 1_000

describe('a first start', () => {
  it('has the newest window and the oldest one to ask for', async () => {
    const rig = rigged()
    await rig.source.begin()
    const { jobs } = await rig.source.find()
    expect(jobs.map(({ purpose }) => purpose)).toEqual(['live', 'backfill'])
    const [live, oldest] = jobs
    expect(oldest!.expiresAt - nowOf(rig)).toBeLessThan(90)
    expect(live!.expiresAt - nowOf(rig)).toBeGreaterThan(2 * day)
  })

  it('reads all that the plan reaches, in as few windows as can be', async () => {
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
      expect(from).toBeGreaterThan(at - limits.reach)
      expect(to).toBeLessThan(at - limits.delay)
      expect(to - from).toBeLessThan(limits.span)
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
    const run = found.jobs[0]!.run()
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

describe('a window at the edge of the reach', () => {
  it('with more pages than there is time for is planned shorter, and ends', async () => {
    // Each page takes a second; a window of eight hours would have 160 of them.
    const rig = rigged(({ from, to, page }) => {
      const pages = Math.ceil((to - from) / 180)
      return { items: page < pages ? [to, to, to] : [to], hasMore: page < pages }
    })
    await rig.source.begin()
    const live = (await rig.source.find()).jobs.find(({ purpose }) => purpose === 'live')!
    const first = live.run()
    await rig.clock.advance(10 * minute)
    await first
    await rig.clock.advance(2 * 24 * hour)
    for (let n = 0; n < 400; n++) {
      const { jobs } = await rig.source.find()
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
    rig.store.putWindow('calls', { series: 'of an earlier configuration', owedFrom: 1 })
    await rig.source.begin()
    expect(rig.store.closedWindows).toEqual(['calls of an earlier configuration'])
  })
})

describe('a second that spoils every answer', () => {
  it('becomes a gap, and the rest is read', async () => {
    let spoilt = 0
    const rig = rigged(({ from, to }) => (from <= spoilt && spoilt < to ? 'malformed' : { items: [] }))
    spoilt = nowOf(rig) - 3 * 3_600
    await rig.source.begin()
    for (let n = 0; n < 500; n++) {
      await rig.work()
      await rig.clock.advance(10 * minute)
    }
    const { covered } = rig.progress()
    const isCovered = (second: number) => covered.some(({ from, to }) => from <= second && second < to)
    expect(isCovered(spoilt)).toBe(false)
    expect(isCovered(spoilt - 3_600)).toBe(true)
    expect(isCovered(spoilt + 3_600)).toBe(true)
  })
})

describe('an outage longer than the reach', () => {
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
    expect(gap!.to - (back - limits.reach)).toBeLessThan(60)
    const { covered } = rig.progress()
    expect(covered.at(-1)!.from).toBe(gap!.to)
  })
})

describe('a refusal', () => {
  it.each([
    ['latency_limit', 'to'],
    ['time_range_limit', 'from'],
    ['time_length_limit', 'span'],
  ] as const)('%s: the next question asks for less', async (kind, bound) => {
    let refusals = 1
    const rig = rigged(() => (refusals-- > 0 ? kind : { items: [] }))
    await rig.source.begin()
    const ask = async () => {
      const { jobs } = await rig.source.find()
      // The oldest window meets the bound of the reach, the newest the one of the delay.
      const job = jobs.find(({ purpose }) => purpose === (bound === 'from' ? 'backfill' : 'live'))
      const run = job?.run()
      await rig.clock.advance(2 * second)
      await run
    }
    await ask()
    await rig.clock.advance(5 * minute)
    const beforeRetry = rig.asked.length
    await ask()
    const [first, second_] = [rig.asked[0]!, rig.asked[beforeRetry]!]
    const shift = second_.at - first.at
    if (bound === 'to') expect(second_.to - first.to).toBeLessThan(shift)
    if (bound === 'from') expect(second_.from - first.from).toBeGreaterThan(shift)
    if (bound === 'span')
      expect(second_.to - second_.from).toBeLessThanOrEqual((first.to - first.from) / 2 + 1)
    expect(rig.counts.refusals).toEqual([`callSearch ${kind}`])
  })

  it.each(['malformed', 'bad_request', 'not_found', 'unexpected_status', 'unexpected_code'] as const)(
    '%s: a question that fails is asked less and less, but again within a tenth of what is available',
    async kind => {
      const rig = rigged(() => kind)
      await rig.source.begin()
      for (let n = 0; n < 3 * 24 * 12; n++) {
        await rig.work()
        await rig.clock.advance(5 * minute)
      }
      const pauses = rig.asked.slice(1).map(({ at }, n) => at - rig.asked[n]!.at)
      expect(Math.max(...pauses)).toBeLessThanOrEqual(limits.reach / 10 + 5 * 60)
      expect(pauses.at(-1)).toBeGreaterThan(pauses[0]!)
      expect(rig.asked.length).toBeLessThanOrEqual(20)
    },
  )

  it('of the question, after refusals of its range in a row, pauses like the first of its kind', async () => {
    let kind: 'time_length_limit' | 'bad_request' = 'time_length_limit'
    const rig = rigged(() => kind)
    await rig.source.begin()
    for (let n = 0; n < 8; n++) {
      await rig.work()
      await rig.clock.advance(10 * minute)
    }
    kind = 'bad_request'
    await rig.work()
    const failed = rig.asked.length
    await rig.clock.advance(5 * minute)
    await rig.work()
    expect(rig.asked.length).toBeGreaterThan(failed)
  })

  it('is asked again at the cost of repairs, until it is answered', async () => {
    let isWell = false
    const rig = rigged(() => (isWell ? { items: [] } : 'bad_request'))
    await rig.source.begin()
    const [asked] = await rig.work()
    expect(asked).not.toBe('repair')
    await rig.clock.advance(10 * minute)
    isWell = true
    const [again, ...others] = await rig.work()
    expect(again).toBe('repair')
    expect(others).not.toContain('repair')
  })
})

describe('a value that is promised and not served', () => {
  const hourly = {
    limits: { reach: 14 * day, span: 3 * day, delay: 6 * 3_600 },
    settings: {
      series: [{ key: '', ask: {}, step: 3_600, expects: 'each' }],
      every: 6 * hour,
      finalAfter: 0,
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

describe('questions of a stream that fail together', () => {
  const series = ['a', 'b', 'c'].map(key => ({ key, ask: {}, step: 20 }))
  const three = { limits: realtime.limits, settings: { ...realtime.settings, series } }

  it('are all tried as if they were well once one of them is', async () => {
    let isWell = false
    const rig = rigged(() => (isWell ? { items: [] } : 'bad_request'), three)
    await rig.source.begin()
    await rig.work()
    await rig.clock.advance(2 * minute)
    isWell = true
    const done = await rig.work()
    expect(done.filter(purpose => purpose === 'repair')).toHaveLength(1)
    expect(done.length).toBeGreaterThanOrEqual(3)
  })
})

describe('answers that are all malformed', () => {
  it('give nothing up that could be read later', async () => {
    let isWell = false
    const rig = rigged(() => (isWell ? { items: [] } : 'malformed'), realtime)
    await rig.source.begin()
    for (let n = 0; n < 120; n++) {
      await rig.work()
      await rig.clock.advance(minute)
    }
    isWell = true
    await rig.clock.advance(4 * minute)
    const before = rig.asked.length
    await rig.work()
    expect(rig.store.gaps.filter(({ reason }) => reason === 'refused')).toEqual([])
    const { covered } = rig.progress()
    expect(covered).toHaveLength(1)
    expect(covered[0]!.from).toBeLessThan(nowOf(rig) - 38 * 60)
    expect(rig.asked.length - before).toBeLessThan(8)
  })
})

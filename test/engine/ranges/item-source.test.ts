import { describe, expect, it, vi } from 'vitest'
import { sessions } from '../fake-windows.ts'
import { hour, minute, second } from '../harness.ts'
import { day, limits, makeHarness } from './item-harness.ts'

describe('a worklist with a pace', () => {
  /** Each whole hour. */
  const moments = { next: (after: number) => (Math.floor(after / hour) + 1) * hour }

  it('is worked through at its moments alone, and until nothing came for ten minutes', async () => {
    const { put, work, asked, clock } = makeHarness(undefined, { every: hour, moments })
    put('of the start', 3_600)
    await work()
    put('while the round goes on', 3_600)
    await work()
    expect(asked).toHaveLength(2)
    await clock.advance(11 * minute)
    await work()
    put('after the round', 3_600)
    await clock.advance(40 * minute)
    expect(await work()).toEqual([])
    await clock.advance(9 * minute)
    await work()
    expect(asked.map(({ call }) => call)).toEqual([
      'of the start',
      'while the round goes on',
      'after the round',
    ])
  })

  it('says when its next round begins, and what expires meanwhile becomes a gap', async () => {
    const { put, source, clock, store } = makeHarness(undefined, { every: 20 * minute })
    await source.find()
    await clock.advance(10 * minute)
    await source.find()
    put('too old', day + 1)
    expect(await source.find()).toEqual({ requests: [], again: minute })
    await clock.advance(19 * minute + 30 * second)
    expect(await source.find()).toEqual({ requests: [], again: 30 * second })
    expect(store.gaps.map(({ reason }) => reason)).toEqual(['expired'])
  })
})

describe('a worklist', () => {
  it("is left alone until it is known whose the app is, once a debit says that it is another one's", async () => {
    const { put, source, asked, clock, ledger, context } = makeHarness()
    put('of the morning', 2 * 3_600)
    ledger.answers.push({ granted: 'fenced' })
    const { requests } = await source.find()
    await requests[0]!.run()
    const { renewEvery } = context.settings
    expect(await source.find()).toEqual({ requests: [], again: renewEvery })
    await clock.advance(renewEvery)
    const [again] = (await source.find()).requests
    await again!.run()
    expect(asked.map(({ call }) => call)).toEqual(['of the morning'])
  })

  it('dates its pages by the clock of the provider', async () => {
    const { put, work, now, offset } = makeHarness()
    const read = vi.spyOn(sessions, 'toRows')
    offset.ahead = 90 * second
    put('of the morning', 2 * 3_600)
    await work()
    expect(read.mock.calls.map(([page]) => page.now)).toEqual([now + 90])
    read.mockRestore()
  })

  it('is worked through in the order in which it expires; what is long past is backfill', async () => {
    const { put, work, asked } = makeHarness()
    put('of the morning', 2 * 3_600)
    put('of last night', 20 * 3_600)
    expect(await work()).toEqual(['backfill', 'live'])
    expect(asked.map(({ call }) => call)).toEqual(['of last night', 'of the morning'])
  })

  it('leaves what is too young, and what is too old becomes a gap', async () => {
    const { put, work, asked, store, now } = makeHarness()
    put('too young', 700, { to: now - 290 })
    put('too old', day + 1)
    expect(await work()).toEqual([])
    expect(asked).toEqual([])
    expect(store.gaps.map(({ series, reason }) => [series, reason])).toEqual([['too old', 'expired']])
  })

  it('tells what is owed and when the oldest of it expires, and that nothing is when all is fetched', async () => {
    const { put, work, source, clock, counts } = makeHarness()
    put('old', 20 * 3_600)
    put('too young', 200)
    await source.find()
    expect(counts.backlog).toEqual([{ seconds: 2 * 601, expiresIn: 4 * hour }])
    await work()
    await clock.advance(minute)
    await source.find()
    expect(counts.backlog.at(-1)).toMatchObject({ seconds: 601 })
    await clock.advance(hour)
    await work()
    await clock.advance(minute)
    await source.find()
    expect(counts.backlog.at(-1)).toEqual({ seconds: 0, expiresIn: null })
  })

  it('is read page by page, with what is remembered from one to the next', async () => {
    const { put, work, asked, store } = makeHarness(({ page }) => ({ items: page < 3 ? [1, 2, 3] : [1] }))
    put('long', 3_600)
    await work()
    expect(asked.map(({ page }) => page)).toEqual([1, 2, 3])
    expect(store.itemCommits.map(({ nextPage, streamState }) => [nextPage, streamState])).toEqual([
      [2, 3],
      [3, 6],
      [null, 7],
    ])
  })

  it('goes on at the page where another process left off', async () => {
    const { store, work, asked, now } = makeHarness(() => ({ items: [1] }))
    const item = {
      stream: 'call-sessions',
      key: 'half read',
      part: '',
      from: now - 3_600,
      to: now - 3_000,
      ask: null,
    } as const
    store.putItem(item, { page: 4, streamState: 9 })
    await work()
    expect(asked.map(({ page }) => page)).toEqual([4])
    expect(store.itemCommits[0]!.streamState).toBe(10)
  })
})

describe('a worklist of which more items fail than are listed', () => {
  const failing = { failures: 3 }

  it('still offers what did not fail, of what is new and of what is past', async () => {
    const { put, source } = makeHarness()
    for (const hours of [20, 19, 18, 5, 4, 3]) put(`failed, ${hours}`, hours * 3_600, {}, failing)
    put('past', 12 * 3_600)
    put('new', 2 * 3_600)
    const { requests } = await source.find()
    expect(requests.map(({ purpose }) => purpose).toSorted()).toEqual([
      'backfill',
      'live',
      ...Array.from({ length: 4 }, () => 'repair'),
    ])
  })
})

describe('what someone wants once more of metrics', () => {
  it('ends no call that was begun, so that it has no more than its share', async () => {
    const { put, source } = makeHarness(undefined, {}, 'completes')
    put('wanted', 3_600, {}, { origin: 'backfill' })
    put('begun', 3_600)
    const { requests } = await source.find()
    expect(requests.map(({ purpose, completes }) => [purpose, completes])).toEqual([
      ['backfill', false],
      ['live', true],
    ])
  })
})

describe('a worklist of which the provider refused what is old', () => {
  it('hurries for what is about to go beyond the bound that was learned', async () => {
    const { put, source, rules, now } = makeHarness()
    const question = rules.begin({ start: now - 10 * 3_600, end: now - 9 * 3_600 })!
    await question.of(Promise.resolve(), () => 'time_range_limit')
    put('half a day', 9 * 3_600)
    put('of now', 3_600)
    const { after } = rules.bounds()
    const { requests } = await source.find()
    const left = requests.map(({ expiresAt }) => expiresAt - now)
    expect(left.toSorted((a, b) => a - b)).toEqual([now - 9 * 3_600 - after, now - 3_600 - after])
  })
})

describe('a list that was read while an item was being fetched', () => {
  it('does not have the item fetched once more', async () => {
    const { put, source, asked, store, clock } = makeHarness()
    put('a', 3_600)
    const [job] = (await source.find()).requests
    const run = job!.run()
    const items = store.items.bind(store)
    store.items = async (...args) => {
      const listed = await items(...args)
      await clock.advance(second)
      await run
      return listed
    }
    expect((await source.find()).requests).toEqual([])
    expect(asked).toHaveLength(1)
  })
})

describe('an answer that comes too late to be stored', () => {
  it('gives its place in the budget back', async () => {
    const { put, source, store, ledger, clock } = makeHarness()
    put('a', 3_600)
    const [job] = (await source.find()).requests
    store.commitItem = async () => ({ outcome: 'stale' })
    const run = job!.run()
    await clock.advance(second)
    await run
    expect(ledger.settled).toEqual([{ n: 1, outcome: 'unread' }])
  })
})

describe('a call that began before the time that counts as new, and ended in it', () => {
  it('is fetched, and as one of the past', async () => {
    const { put, source, now } = makeHarness()
    put('straddling', 6 * 3_600 + 600, { to: now - 6 * 3_600 + 600 })
    put('first of the new', 6 * 3_600 - 1)
    put('last of the past', 6 * 3_600)
    const { requests: jobs } = await source.find()
    expect(jobs.map(({ purpose }) => purpose)).toEqual(['live', 'backfill', 'backfill'])
  })
})

describe('an item that was cut for a larger plan', () => {
  it('is cut again before it is asked for', async () => {
    const { put, work, asked, now } = makeHarness()
    put('long', 3 * 3_600, { to: now - 3_600 })
    await work()
    expect(asked.length).toBeGreaterThanOrEqual(2)
    for (const { from, to } of asked) expect(to - from).toBeLessThan(limits.timeFrame)
  })
})

describe('a worklist of items that must wait', () => {
  const offered = async ({ source }: ReturnType<typeof makeHarness>) => (await source.find()).again

  it('is looked at again when a failed item may be tried again, not a minute later', async () => {
    const harness = makeHarness(() => 'network')
    harness.put('cut off', 3_600)
    await harness.work()
    expect(await offered(harness)).toBe(harness.store.deferrals[0])
    expect(harness.store.deferrals[0]).toBeLessThanOrEqual(1.5 * second)
  })

  it('is looked at again when the provider serves what has just ended', async () => {
    const harness = makeHarness()
    harness.put('just ended', 700, { to: harness.now - 280 })
    // Served when it is older than 300 s, of which 3 s more are kept free.
    expect(await offered(harness)).toBe(24 * second)
  })

  it('is looked at again at once when an item came due while the list was read', async () => {
    const harness = makeHarness(() => 'network')
    const reading = 2 * second
    harness.put('cut off', 3_600)
    await harness.work()
    const [wait] = harness.store.deferrals
    const asked: number[] = []
    harness.store.items = async () => {
      await harness.clock.advance(reading)
      return []
    }
    harness.store.itemDueIn = async (_app, _stream, _bounds, ago) => {
      asked.push(ago)
      return wait! < ago ? 0 : null
    }
    expect(await offered(harness)).toBe(0)
    // The newer items and the older ones are two lists.
    expect(asked).toEqual([2 * reading])
  })

  it('is looked at each minute where nothing waits, or for long', async () => {
    const harness = makeHarness()
    expect(await offered(harness)).toBe(minute)
    harness.put('still young', 700, { to: harness.now - 100 })
    expect(await offered(harness)).toBe(minute)
  })
})

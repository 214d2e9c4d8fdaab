import { describe, expect, it } from 'vitest'
import { createAdmission } from '../../src/engine/admission.ts'
import { createStoreHealth } from '../../src/engine/health.ts'
import { createItemSource } from '../../src/engine/item-source.ts'
import type { OpenItem } from '../../src/engine/ports.ts'
import { createRangeRules } from '../../src/engine/range-rules.ts'
import type { FailureKind } from '../../src/provider/errors.ts'
import { perSecond, type RangeLimits } from '../../src/provider/limits.ts'
import type { WorkItem } from '../../src/streams/stream.ts'
import { type ServedWindow, sessions } from './fake-windows.ts'
import { appOf, createRig, enough, fence, hour, minute, second, settingsOf } from './rig.ts'

const day = 24 * 3_600
const limits: RangeLimits = { reach: day, span: 3_600, delay: 300 }

interface Asked {
  readonly call: string
  readonly from: number
  readonly to: number
  readonly page: number
}

function rigged(answers: (asked: Asked) => ServedWindow | FailureKind = () => ({ items: [] })) {
  const rig = createRig([])
  const blank = appOf('a1', [])
  const group = {
    scope: 'a1',
    rates: [perSecond(100)],
    concurrency: 2,
    counted: 'ledger',
    range: limits,
  } as const
  const app = { ...blank, limits: { ...blank.limits, 'call-details': group } }
  const settings = settingsOf([app])
  const asked: Asked[] = []
  rig.transport.clockOffset = () => ({ ahead: 0, doubt: 0 })
  const size = { now: 0 }
  rig.transport.send = async (_app, { target }, _signal, arrived) => {
    await arrived?.(size.now)
    const query = new URL(target, 'http://provider').searchParams
    const [from, to, page] = ['start_ts', 'end_ts', 'page_no'].map(name => Number(query.get(name)))
    const question = { call: query.get('call_id')!, from: from!, to: to!, page: page! }
    asked.push(question)
    const said = answers(question)
    const timing = { receivedAt: rig.clock.now(), elapsed: 0 }
    if (typeof said === 'string')
      return { ok: false, failure: { kind: said, text: said, body: new Uint8Array(9) }, timing }
    return {
      ok: true,
      answer: { body: said, status: 200, answeredAt: undefined, size: 0 },
      timing,
    }
  }
  const now = rig.clock.now() / 1_000
  const controller = new AbortController()
  const context = {
    ...rig,
    ...{ app, settings, fence: () => fence, signal: controller.signal },
    admission: createAdmission(rig, settings.deadline),
    health: createStoreHealth(rig.log, () => {}),
    onFenced: () => {},
    onRooms: () => {},
    onWork: () => {},
  }
  const rules = createRangeRules(limits, rig.clock, rig.transport.clockOffset.bind(null, 'analytics'))
  const source = createItemSource({
    context,
    stream: sessions,
    rules,
    reach: limits.reach,
    concurrency: 2,
    shortage: enough,
  })
  const put = (key: string, age: number, parts: Partial<WorkItem> = {}, more: Partial<OpenItem> = {}) =>
    rig.store.putItem(
      {
        stream: 'call-sessions',
        key,
        part: '',
        from: now - age,
        to: now - age + 600,
        ask: null,
        ...parts,
      },
      more,
    )
  /** Does everything that can be done now, what expires first in front. */
  const work = async () => {
    const purposes: string[] = []
    for (;;) {
      const { jobs } = await source.find()
      const [job] = jobs.toSorted((a, b) => a.expiresAt - b.expiresAt)
      if (!job) return purposes
      purposes.push(job.purpose)
      const run = job.run()
      await rig.clock.advance(second)
      await run
    }
  }
  return { ...rig, source, put, work, asked, now, size }
}

describe('a worklist', () => {
  it('is worked through in the order in which it expires; what is long past is backfill', async () => {
    const { put, work, asked } = rigged()
    put('of the morning', 2 * 3_600)
    put('of last night', 20 * 3_600)
    expect(await work()).toEqual(['backfill', 'live'])
    expect(asked.map(({ call }) => call)).toEqual(['of last night', 'of the morning'])
  })

  it('leaves what is too young, and what is too old becomes a gap', async () => {
    const { put, work, asked, store, now } = rigged()
    put('too young', 700, { to: now - 290 })
    put('too old', day + 1)
    expect(await work()).toEqual([])
    expect(asked).toEqual([])
    expect(store.gaps.map(({ series, reason }) => [series, reason])).toEqual([['too old', 'expired']])
  })

  it('tells what is owed and when the oldest of it expires, and that nothing is when all is fetched', async () => {
    const { put, work, source, clock, counts } = rigged()
    put('old', 20 * 3_600)
    put('too young', 200)
    await source.find()
    expect(counts.owed).toEqual([{ seconds: 2 * 601, expiresIn: 4 * hour }])
    await work()
    await clock.advance(minute)
    await source.find()
    expect(counts.owed.at(-1)).toMatchObject({ seconds: 601 })
    await clock.advance(hour)
    await work()
    await clock.advance(minute)
    await source.find()
    expect(counts.owed.at(-1)).toEqual({ seconds: 0, expiresIn: null })
  })

  it('is read page by page, with what is remembered from one to the next', async () => {
    const { put, work, asked, store } = rigged(({ page }) => ({ items: page < 3 ? [1, 2, 3] : [1] }))
    put('long', 3_600)
    await work()
    expect(asked.map(({ page }) => page)).toEqual([1, 2, 3])
    expect(store.itemCommits.map(({ nextPage, carry }) => [nextPage, carry])).toEqual([
      [2, 3],
      [3, 6],
      [null, 7],
    ])
  })

  it('goes on at the page where another process left off', async () => {
    const { store, work, asked, now } = rigged(() => ({ items: [1] }))
    const item = {
      stream: 'call-sessions',
      key: 'half read',
      part: '',
      from: now - 3_600,
      to: now - 3_000,
      ask: null,
    } as const
    store.putItem(item, { page: 4, carry: 9 })
    await work()
    expect(asked.map(({ page }) => page)).toEqual([4])
    expect(store.itemCommits[0]!.carry).toBe(10)
  })
})

describe('a list that was read while an item was being fetched', () => {
  it('does not have the item fetched once more', async () => {
    const { put, source, asked, store, clock } = rigged()
    put('a', 3_600)
    const [job] = (await source.find()).jobs
    const run = job!.run()
    const items = store.items.bind(store)
    store.items = async (...args) => {
      const listed = await items(...args)
      await clock.advance(second)
      await run
      return listed
    }
    expect((await source.find()).jobs).toEqual([])
    expect(asked).toHaveLength(1)
  })
})

describe('an answer that comes too late to be stored', () => {
  it('gives its place in the budget back', async () => {
    const { put, source, store, ledger, clock } = rigged()
    put('a', 3_600)
    const [job] = (await source.find()).jobs
    store.commitItem = async () => ({ outcome: 'stale' })
    const run = job!.run()
    await clock.advance(second)
    await run
    expect(ledger.settled).toEqual([{ n: 1, outcome: 'unread' }])
  })
})

describe('a call that began before the time that counts as new, and ended in it', () => {
  it('is fetched, and as one of the past', async () => {
    const { put, source, now } = rigged()
    put('straddling', 6 * 3_600 + 600, { to: now - 6 * 3_600 + 600 })
    put('first of the new', 6 * 3_600 - 1)
    put('last of the past', 6 * 3_600)
    const { jobs } = await source.find()
    expect(jobs.map(({ purpose }) => purpose)).toEqual(['live', 'backfill', 'backfill'])
  })
})

describe('an item that was cut for a larger plan', () => {
  it('is cut again before it is asked for', async () => {
    const { put, work, asked, now } = rigged()
    put('long', 3 * 3_600, { to: now - 3_600 })
    await work()
    expect(asked.length).toBeGreaterThanOrEqual(2)
    for (const { from, to } of asked) expect(to - from).toBeLessThan(limits.span)
  })
})

describe('a worklist of items that must wait', () => {
  const offered = async ({ source }: ReturnType<typeof rigged>) => (await source.find()).again

  it('is looked at again when a failed item may be tried again, not a minute later', async () => {
    const rig = rigged(() => 'network')
    rig.put('cut off', 3_600)
    await rig.work()
    expect(await offered(rig)).toBe(rig.store.deferrals[0])
    expect(rig.store.deferrals[0]).toBeLessThanOrEqual(1.5 * second)
  })

  it('is looked at again when the provider serves what has just ended', async () => {
    const rig = rigged()
    rig.put('just ended', 700, { to: rig.now - 280 })
    // Served when it is older than 300 s, of which 3 s more are kept free.
    expect(await offered(rig)).toBe(24 * second)
  })

  it('is looked at again at once when an item came due while the list was read', async () => {
    const rig = rigged(() => 'network')
    const reading = 2 * second
    rig.put('cut off', 3_600)
    await rig.work()
    const [wait] = rig.store.deferrals
    const asked: number[] = []
    rig.store.items = async () => {
      await rig.clock.advance(reading)
      return []
    }
    rig.store.itemDueIn = async (_app, _stream, _bounds, ago) => {
      asked.push(ago)
      return wait! < ago ? 0 : null
    }
    expect(await offered(rig)).toBe(0)
    // The newer items and the older ones are two lists.
    expect(asked).toEqual([2 * reading])
  })

  it('is looked at each minute where nothing waits, or for long', async () => {
    const rig = rigged()
    expect(await offered(rig)).toBe(minute)
    rig.put('still young', 700, { to: rig.now - 100 })
    expect(await offered(rig)).toBe(minute)
  })
})

describe('an item that cannot be had', () => {
  it('because its answer is too large is asked for in parts, and what is had that way is no dead letter', async () => {
    const { put, work, asked, store, counts } = rigged(({ from, to }) =>
      to - from > 200 ? 'too_large' : { items: [] },
    )
    put('large', 3_600)
    await work()
    expect(asked.filter(({ from, to }) => to - from <= 200)).toHaveLength(4)
    expect([store.gaps, store.letters, counts.letters]).toEqual([[], [], []])
  })

  it('because a process ended while it read the answer is asked for in parts, and the others as ever', async () => {
    const { put, work, asked, store, counts } = rigged()
    put('fatal', 3_600, {}, { inHandOf: 'a process that is no more' })
    put('other', 3_000)
    put('mine', 2_900, {}, { inHandOf: fence.owner })
    await work()
    expect(asked.filter(({ call }) => call === 'fatal').map(({ from, to }) => to - from)).toEqual([300, 299])
    expect(asked.filter(({ call }) => call !== 'fatal').map(({ from, to }) => to - from)).toEqual([600, 600])
    expect([store.gaps, store.letters, counts.letters]).toEqual([[], [], []])
  })

  it('because processes ended at it in every size is set aside and a gap, and is not asked for', async () => {
    const { put, work, asked, store, now } = rigged()
    put('fatal', 3_600, { to: now - 3_600 }, { inHandOf: 'a process that is no more' })
    put('other', 3_000)
    await work()
    expect(asked.map(({ call }) => call)).toEqual(['other'])
    expect(store.gaps.map(({ series, reason }) => [series, reason])).toEqual([['fatal', 'too_large']])
    expect(store.letters).toMatchObject([{ series: 'fatal', reason: 'too_large' }])
    expect(Buffer.from(store.letters[0]!.body).toString()).toContain('call_id=fatal')
  })

  it('is known to be in hand before a large answer to it is read, and a small one is not written down', async () => {
    const seen: (string | null)[] = []
    const { put, work, store, size } = rigged(({ call }) => {
      seen.push(store.item('call-sessions', call).inHandOf)
      return { items: [] }
    })
    put('small', 3_600)
    size.now = 1_000
    await work()
    put('large', 3_600)
    size.now = 2_000_000
    await work()
    expect(seen).toEqual([null, fence.owner])
  })

  it.each([
    ['bad_request', 'refused'],
    ['not_found', 'vanished'],
    ['too_large', 'too_large'],
  ] as const)(
    'because of %s is asked again ever later, and a gap when it leaves the reach',
    async (kind, reason) => {
      const { put, work, asked, store, clock, now } = rigged(() => kind)
      put('unwanted', 20 * 3_600, { to: now - 20 * 3_600 })
      const pauses = async () => {
        for (let n = 0; n < 6; n++) {
          await work()
          await clock.advance(30 * minute)
          store.undefer()
        }
        return store.deferrals
      }
      expect(Math.max(...(await pauses()))).toBeGreaterThan(hour)
      expect([asked.length, store.gaps]).toEqual([6, []])
      await clock.advance(2 * hour)
      await work()
      expect(store.gaps.map(gap => gap.reason)).toEqual([reason])
    },
  )

  it('for three hours is had after them', async () => {
    let isWell = false
    const { put, work, store, clock } = rigged(() => (isWell ? { items: [] } : 'bad_request'))
    put('unwanted', 3_600)
    for (let n = 0; n < 9; n++) {
      await work()
      await clock.advance(20 * minute)
      store.undefer()
    }
    isWell = true
    await work()
    expect([store.states(), store.gaps]).toEqual([{ 'call-sessions unwanted ': 'done' }, []])
  })

  it('because it was served in no shape that is understood is stored as far as it is, and asked again ever later', async () => {
    const { put, work, store } = rigged(({ call }) => ({ items: call === 'odd' ? [-1, 1] : [1] }))
    put('odd', 3_600)
    put('plain', 3_000)
    expect(await work()).toEqual(['live', 'live'])
    expect(store.states()).toEqual({ 'call-sessions odd ': 'owed', 'call-sessions plain ': 'done' })
    for (let n = 0; n < 3; n++) {
      store.undefer()
      expect(await work()).toEqual(['repair'])
    }
    const pauses = store.itemCommits.filter(({ item }) => item.key === 'odd').map(({ again }) => again)
    expect(pauses).toHaveLength(4)
    expect(pauses[0]).toBeGreaterThanOrEqual(30 * second)
    for (const [n, pause] of pauses.entries()) if (n > 0) expect(pause).toBeGreaterThan(pauses[n - 1]!)
  })

  it('for now is tried again later, and the others go on', async () => {
    let isDown = true
    const { put, work, asked, store } = rigged(({ call }) =>
      call === 'a' && isDown ? 'malformed' : { items: [] },
    )
    put('a', 3_600)
    put('b', 3_000)
    await work()
    expect(store.states()).toEqual({ 'call-sessions a ': 'owed', 'call-sessions b ': 'done' })
    isDown = false
    store.undefer()
    expect(await work()).toEqual(['repair'])
    expect(asked.map(({ call }) => call)).toEqual(['a', 'b', 'a'])
  })
})

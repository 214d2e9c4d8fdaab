import { describe, expect, it } from 'vitest'
import { Admission } from '../../../src/engine/admission/admission.ts'
import { createStoreHealth } from '../../../src/engine/health.ts'
import { StoreUnavailable } from '../../../src/engine/ports.ts'
import {
  type PendingRequest,
  type ScheduledGroup,
  startGroupScheduler,
  type WorkSource,
} from '../../../src/engine/ranges/group-scheduler.ts'
import type { Purpose } from '../../../src/planning/shares.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { appOf, createHarness, fence, minute, second, settingsOf } from '../harness.ts'

const noWaits: Record<Purpose, number> = { live: 0, repair: 0, revisit: 0, backfill: 0 }

/** A drain whose sources offer the jobs of a list, each until it was done. */
function makeHarness(
  parts: {
    readonly concurrency?: number
    readonly soon?: number
    readonly beside?: WorkSource
    readonly heldFor?: () => number
  } = {},
) {
  const harness = createHarness([])
  const app = appOf('a1', [])
  const settings = settingsOf([app])
  const controller = new AbortController()
  const done: string[] = []
  const open = new Map<string, PendingRequest>()
  const busy = new Set<string>()
  const faults: Error[] = []
  const begun: string[] = []
  const waits = { ...noWaits }
  /** In how many ms the source may have others. */
  const again = { in: minute }
  const put = (
    name: string,
    purpose: Purpose,
    expiresAt: number,
    { lasts = 0, completes = false, isFailing = false, isBehindOthers = false } = {},
  ) => {
    const run = async () => {
      busy.add(name)
      await harness.clock.sleep(lasts)
      done.push(name)
      open.delete(name)
    }
    open.set(name, { purpose, expiresAt, completes, isFailing, isBehindOthers, run })
  }
  const source: WorkSource = {
    begin: async () => {
      begun.push('begun')
    },
    find: async () => {
      const fault = faults.shift()
      if (fault) throw fault
      return {
        requests: [...open].filter(([name]) => !busy.has(name)).map(([, job]) => job),
        again: again.in,
      }
    },
  }
  const outages: string[] = []
  const health = createStoreHealth(harness, () => outages.push('down'))
  const group: ScheduledGroup = {
    name: 'call-details',
    limit: { scope: 'a1', rates: [perSecond(10)], concurrency: parts.concurrency ?? 1, counted: 'ledger' },
    sources: [...(parts.beside ? [parts.beside] : []), source],
    pacer: {
      waits: async () => waits,
      share: () => 1,
      began: () => () => {},
      firstRound: () => 0,
      evenRound: () => 1,
    },
    soon: () => parts.soon ?? 0,
  }
  const start = () =>
    startGroupScheduler(
      {
        ...harness,
        ...{ app, settings, health, fence: () => fence, signal: controller.signal },
        admission: Object.assign(new Admission(harness, settings.deadline), {
          ...(parts.heldFor && { heldFor: parts.heldFor }),
        }),
        onFenced: () => {},
        onRooms: () => {},
        onWork: () => {},
        onRecovered: () => {},
      },
      group,
      () => 0,
    )
  return { ...harness, put, done, waits, again, start, faults, begun, outages, health, controller }
}

/** A source that has nothing to ask for, and how often it was looked through. */
function makeIdleSource() {
  let count = 0
  const beside: WorkSource = {
    begin: async () => {},
    find: async () => {
      count += 1
      return { requests: [], again: minute }
    },
  }
  return { beside, looks: () => count }
}

describe('one limit group of an app', () => {
  it('does what expires first, among jobs for the same purpose', async () => {
    const { put, start, clock, done } = makeHarness()
    put('third', 'live', 300)
    put('first', 'live', 100)
    put('second', 'live', 200)
    start()
    await clock.advance(second)
    expect(done).toEqual(['first', 'second', 'third'])
  })

  it('asks its sources once a minute also while all that it may do at one time waits', async () => {
    const { beside, looks } = makeIdleSource()
    const { put, start, clock, done } = makeHarness({ beside })
    put('waits for its budget', 'live', 300, { lasts: 30 * minute })
    put('next', 'live', 400)
    start()
    await clock.advance(second)
    const before = looks()
    await clock.advance(10 * minute)
    expect(looks() - before).toBe(10)
    expect(done).toEqual([])
    await clock.advance(20 * minute)
    expect(done).toEqual(['waits for its budget', 'next'])
  })

  it('begins nothing while its budget is used up, and asks its sources all the same', async () => {
    const held = { until: 30 * minute }
    const { beside, looks } = makeIdleSource()
    const { put, start, clock, done } = makeHarness({
      beside,
      heldFor: () => Math.max(0, held.until - clock.monotonic()),
    })
    held.until += clock.monotonic()
    put('one', 'live', 300)
    start()
    await clock.advance(29 * minute)
    expect(done).toEqual([])
    expect(looks()).toBeGreaterThanOrEqual(29)
    await clock.advance(minute)
    expect(done).toEqual(['one'])
  })

  it('does what will soon be lost before anything else', async () => {
    const { put, start, clock, done } = makeHarness({ soon: 50 })
    put('new', 'live', 5_000)
    put('about to go', 'backfill', 40)
    start()
    await clock.advance(second)
    expect(done[0]).toBe('about to go')
  })

  it('looks again when its sources say so, although what they offer waits longer for the budget', async () => {
    const { put, start, clock, done, waits, again } = makeHarness()
    waits.backfill = 50 * second
    again.in = 5 * second
    put('of the past', 'backfill', 100)
    start()
    await clock.advance(second)
    put('new', 'live', 200)
    await clock.advance(3 * second)
    expect(done).toEqual([])
    await clock.advance(2 * second)
    expect(done).toEqual(['new'])
  })

  it('ends what was begun before it begins anything else', async () => {
    const { put, start, clock, done } = makeHarness()
    put('another call', 'live', 100)
    put('the rest of a call', 'live', 9_000, { completes: true })
    start()
    await clock.advance(second)
    expect(done).toEqual(['the rest of a call', 'another call'])
  })

  it('lets nothing that fails again and again go before all others', async () => {
    const { put, start, clock, done } = makeHarness({ soon: 1_000 })
    put('failing, and about to go', 'repair', 10, { isFailing: true, completes: true })
    put('well, and about to go', 'backfill', 900)
    start()
    await clock.advance(second)
    expect(done[0]).toBe('well, and about to go')
  })

  it('lets all others go before what failed while nobody was answered, and does it when there are none', async () => {
    const { put, start, clock, done } = makeHarness()
    put('failed', 'live', 10, { isFailing: true, isBehindOthers: true })
    put('new', 'live', 5_000)
    put('past', 'backfill', 9_000)
    start()
    await clock.advance(second)
    expect(done).toEqual(['new', 'past', 'failed'])
  })

  it('lets new data go while what is long past has to wait for its pace', async () => {
    const { put, start, clock, done, waits } = makeHarness()
    waits.backfill = 10 * minute
    put('past', 'backfill', 10)
    put('new', 'live', 5_000)
    start()
    await clock.advance(second)
    expect(done).toEqual(['new'])
    waits.backfill = 0
    await clock.advance(10 * minute)
    expect(done).toEqual(['new', 'past'])
  })

  it('has no more under way than its limit says', async () => {
    const { put, start, clock, done } = makeHarness({ concurrency: 2 })
    for (const name of ['a', 'b', 'c']) put(name, 'live', 1, { lasts: minute })
    start()
    await clock.advance(minute)
    expect(done).toEqual(['a', 'b'])
    await clock.advance(minute)
    expect(done).toEqual(['a', 'b', 'c'])
  })

  it('finishes what is under way when it is told to stop, and begins nothing more', async () => {
    const { put, start, clock, done, controller } = makeHarness()
    put('under way', 'live', 1, { lasts: 2 * second })
    put('next', 'live', 2)
    const drain = start()
    await clock.advance(second)
    controller.abort()
    await clock.advance(second)
    await drain.done
    expect(done).toEqual(['under way'])
  })

  it('goes on after the database was away, as soon as it is told', async () => {
    const { put, start, clock, done, faults, outages, health } = makeHarness()
    faults.push(new StoreUnavailable('57P01'))
    put('a', 'live', 1)
    const drain = start()
    await clock.advance(10 * minute)
    expect(outages).toEqual(['down'])
    expect(done).toEqual([])
    health.answered()
    drain.wake()
    await clock.advance(0)
    expect(done).toEqual(['a'])
  })

  it.each(['begin', 'find'] as const)(
    'lets other sources and apps go on while a statement of another keeps a source waiting to %s',
    async method => {
      let isLocked = true
      const tries: number[] = []
      const beside: WorkSource = {
        begin: async () => {},
        find: async () => ({ requests: [], again: minute }),
      }
      const act = beside[method]
      Object.assign(beside, {
        [method]: async () => {
          tries.push(clock.monotonic())
          if (isLocked) throw new StoreUnavailable('55P03')
          return act()
        },
      })
      const { put, start, clock, done, outages, health } = makeHarness({ beside })
      put('a', 'live', 1)
      start()
      await clock.advance(0)
      expect([done, outages, health.state()]).toEqual([['a'], [], 'up'])
      await clock.advance(10 * minute)
      expect(tries.length).toBeGreaterThan(3)
      expect(tries.length).toBeLessThan(10)
      isLocked = false
      const before = tries.length
      await clock.advance(8 * minute)
      expect(tries.length).toBeGreaterThan(before)
      expect([outages, health.state()]).toEqual([[], 'up'])
    },
  )

  it('goes on after a fault of its own', async () => {
    const { put, start, clock, done, faults, said } = makeHarness()
    faults.push(new TypeError('a bug'))
    put('a', 'live', 1)
    start()
    await clock.advance(minute)
    expect(said).toContain('a limit group could not be drained; trying again')
    expect(done).toEqual(['a'])
  })
})

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Ledger } from '../../src/engine/ports.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { perDay, perMinute, perSecond } from '../../src/provider/limits.ts'
import { freshGroup } from './debits.ts'
import { openStore, type TestStore } from './harness.ts'
import { type Course, mostArrivals, play, type Recorded } from './wire.ts'

// A course of half a minute asks the database a thousand times.
vi.setConfig({ testTimeout: 120_000 })

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const second = 1_000
const hour = 3_600_000

function expectKept({ arrivals }: Recorded, { rates }: Pick<Course, 'rates'>): void {
  for (const { requests, window } of rates) {
    expect(mostArrivals(arrivals, window), `in ${window} s`).toBeLessThanOrEqual(requests)
  }
}

const hurried = { rates: [perSecond(10)], processes: 2, senders: 5, way: 60, lasts: 30 * second }
const slow = {
  rates: [perMinute(3), perDay(40)],
  processes: 2,
  senders: 3,
  way: 5 * second,
  lasts: 72 * hour,
}
const forward = (at: number) => ({ at, by: 48 * hour })
const back = (at: number) => ({ at, by: -hour })

describe('a limit of requests in a second', () => {
  it.each([1, 2, 3])(
    'is used to the full and never exceeded under jitter and stalls, course %i',
    async seed => {
      const course = { ...hurried, seed, group: freshGroup(), stalls: 0.02 }
      const recorded = await play(db, course)
      expectKept(recorded, course)
      expect(mostArrivals(recorded.arrivals, 1)).toBe(10)
      expect(recorded.arrivals.length).toBeGreaterThan(0.6 * 10 * 30)
    },
  )

  it.each([4, 5])('is kept while processes are killed and answers are lost, course %i', async seed => {
    const course = { ...hurried, seed, group: freshGroup(), lost: 0.03, killedEvery: 3 * second }
    expectKept(await play(db, course), course)
  })

  it.each([
    ['forward', [forward(10 * second)]],
    ['back', [back(10 * second)]],
    [
      'forward, back, and right again',
      [forward(8 * second), back(15 * second), { at: 22 * second, by: -47 * hour }],
    ],
  ] as const)(
    'is kept when the clock of the database jumps %s, and nobody waits for long',
    async (_, jumps) => {
      const course = { ...hurried, seed: 6, group: freshGroup(), jumps }
      const recorded = await play(db, course)
      expectKept(recorded, course)
      expect(recorded.pause).toBeLessThan(4 * second)
      expect(recorded.arrivals.length).toBeGreaterThan(0.6 * 10 * 30 - 40 * jumps.length)
    },
  )

  it('is kept by processes that start anew after the clock has jumped', async () => {
    const jumps = [forward(8 * second), back(16 * second)]
    const killedAt = [10 * second, 18 * second]
    const course = { ...hurried, seed: 7, group: freshGroup(), jumps, killedAt }
    const recorded = await play(db, course)
    expectKept(recorded, course)
    expect(recorded.arrivals.length).toBeGreaterThan(10)
    // What was in flight at a kill blocks its slot until it can no longer arrive.
    expect(recorded.pause).toBeLessThan(16 * second)
  })
})

describe('a limit of requests in a day', () => {
  it('is used to the full and never exceeded, on any rolling day', async () => {
    const course = { ...slow, seed: 8, group: freshGroup(), lost: 0.05, killedEvery: hour }
    const recorded = await play(db, course)
    expectKept(recorded, course)
    expect(recorded.arrivals.length).toBe(3 * 40)
  })

  it('is kept when the clock of the database jumps by days, and comes back', async () => {
    const jumps = [forward(5 * hour), back(26 * hour), { at: 50 * hour, by: -47 * hour }]
    const course = { ...slow, seed: 9, group: freshGroup(), jumps }
    const recorded = await play(db, course)
    expectKept(recorded, course)
    expect(recorded.pause).toBeLessThan(25 * hour)
  })
})

describe('the count on the wire', () => {
  it('sees a slot that is freed when it is taken', async () => {
    const hasty = (pool: pg.Pool): Ledger => {
      const ledger = createLedger(pool)
      return {
        ...ledger,
        take: async asked => {
          const taken = await ledger.take(asked)
          if (taken.granted === true) await ledger.settle(taken.grant, 'refused', asked.clockBounds())
          return taken
        },
      }
    }
    const { arrivals } = await play(db, { ...hurried, seed: 1, group: freshGroup(), ledger: hasty })
    expect(mostArrivals(arrivals, 1)).toBeGreaterThan(10)
  })

  it('sees a clock that is believed whatever it says', async () => {
    const credulous = (pool: pg.Pool): Ledger => {
      const ledger = createLedger(pool)
      const clockBounds = { floor: 0, ceiling: 8_640_000_000_000_000 }
      return { ...ledger, take: asked => ledger.take({ ...asked, clockBounds: () => clockBounds }) }
    }
    const course = { ...hurried, seed: 1, group: freshGroup(), jumps: [forward(10 * second)] }
    const { arrivals } = await play(db, { ...course, ledger: credulous })
    expect(mostArrivals(arrivals, 1)).toBeGreaterThan(10)
  })
})

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditLines, limitsOf } from '../../src/commands/audit.ts'
import { type AuditedLimit, auditLedger, type GroupEvidence } from '../../src/postgres/audit.ts'
import { perDay, perMinute, perSecond, type Rate } from '../../src/provider/limits.ts'
import { anyTime, day, debit, freshGroup, granted, reach } from './debits.ts'
import { app, openStore, start, type TestStore } from './harness.ts'
import { mostArrivals, play } from './wire.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.rows('truncate ingest.debit, ingest.budget, ingest.history')
  await db.setTime(start)
})

const group = 'call-search'
const audit = (rates: readonly Rate[]) => auditLedger(db.pool, [{ scope: app, group, rates }], () => true)

async function only(rates: readonly Rate[]): Promise<GroupEvidence> {
  const { groups } = await audit(rates)
  expect(groups).toHaveLength(1)
  return groups[0]!
}

interface Span {
  /** ms after `start`. */
  readonly from: number
  /** When it was answered; null when nobody saw the answer, so that it may arrive until it is dead. */
  readonly to: number | null
  readonly operation?: string
  readonly n?: number
}

/** Writes debits as they may never be granted. They die 40 s after they were sent. */
async function write(spans: readonly Span[]): Promise<void> {
  for (const [index, { from, to, operation = 'callSearch', n = index + 1 }] of spans.entries()) {
    const purpose = operation === 'lost history' ? null : 'live'
    const at = (ms: number | null) => (ms === null ? null : new Date(Date.parse(start) + ms).toISOString())
    await db.rows(
      `insert into ingest.debit (scope, limit_group, n, app_id, operation, purpose, epoch, sent_at, dead_at, settled_at)
       values ($1, $2, $3, $1, $4, $5, 1, $6, $7, $8)`,
      [app, group, n, operation, purpose, at(from), at(from + reach), at(to)],
    )
  }
}

describe('the audit', () => {
  it('has nothing to say about an empty ledger', async () => {
    const found = await audit([perSecond(1)])
    expect(found).toEqual({ evidenceSince: null, groups: [], refusals: [] })
    expect(auditLines(found)).toEqual(['the ledger is empty: nothing that is counted has been asked for yet'])
  })

  it('finds every limit kept that the ledger granted, and used to the full', async () => {
    const rates = [perSecond(5), { requests: 40, window: 60 }]
    const course = { rates, processes: 2, senders: 4, way: 60, lasts: 20_000, lost: 0.02 }
    await play(db, { ...course, seed: 3, group })
    const { windows, verdict, missing, debits } = await only(rates)
    expect({ verdict, missing }).toEqual({ verdict: 'kept', missing: 0 })
    expect(windows.map(({ window, most }) => [window, most])).toEqual([
      [1, 5],
      [60, 40],
    ])
    expect(debits).toBe(40)
  })

  it.each([
    ['three that certainly came within a second', [0, 400, 800].map(from => ({ from, to: from + 50 })), 3],
    [
      'two, where the third came a second after the first',
      [0, 400, 1_050].map(from => ({ from, to: from + 50 })),
      2,
    ],
    [
      'three, where the first may have been slow',
      [
        { from: 0, to: 600 },
        { from: 900, to: 950 },
        { from: 1_500, to: 1_550 },
      ],
      3,
    ],
    [
      'three, where nobody knows when the first came',
      [
        { from: 0, to: null },
        { from: 20_000, to: 20_050 },
        { from: 20_500, to: 20_550 },
      ],
      3,
    ],
    [
      'one, where what was never answered is dead',
      [
        { from: 0, to: null },
        { from: reach + 1_000, to: reach + 1_010 },
      ],
      1,
    ],
  ])('counts %s', async (_, spans, most) => {
    await write(spans)
    const { windows, verdict } = await only([perSecond(2)])
    expect(windows[0]!.most).toBe(most)
    expect(verdict).toBe(most > 2 ? 'broken' : 'kept')
  })

  it('says where the fullest window begins', async () => {
    await write([0, 5_000, 5_100, 5_200].map(from => ({ from, to: from + 20 })))
    const { windows } = await only([perSecond(2)])
    expect(windows[0]).toMatchObject({ most: 3, fullestAt: '2026-01-05T08:00:05.020Z', verdict: 'broken' })
  })

  it('counts a request on every day of the calendar on which it may have come', async () => {
    const midnight = 16 * 3_600_000
    await write(
      [-3, -2, 3].map(hours => ({
        from: midnight + hours * 3_600_000,
        to: midnight + hours * 3_600_000 + 9,
      })),
    )
    expect((await only([perDay(9)])).windows[0]).toMatchObject({ most: 3, fullestDay: 2 })
    await write([{ from: midnight - 5_000, to: null, n: 4 }])
    expect((await only([perDay(9)])).windows[0]).toMatchObject({ most: 4, fullestDay: 3 })
  })

  it('counts what is only assumed by the day and not by the second', async () => {
    await write(Array.from({ length: 6 }, () => ({ from: 0, to: null, operation: 'lost history' })))
    expect(await only([perSecond(3), perDay(6)])).toMatchObject({
      ...{ debits: 0, assumed: 6, verdict: 'kept' },
      windows: [{ window: day, most: 6, verdict: 'kept' }],
    })
    expect(await only([perDay(5)])).toMatchObject({ verdict: 'broken' })
  })

  it('does not trust a ledger from which debits are missing', async () => {
    await write([
      { from: 0, to: 10 },
      { from: 5_000, to: 5_010, n: 3 },
    ])
    expect(await only([perSecond(2)])).toMatchObject({ missing: 1, verdict: 'incomplete' })
    await db.rows(`insert into ingest.budget (scope, limit_group, last_n) values ('${app}', '${group}', 7)`)
    expect(await only([perSecond(2)])).toMatchObject({ missing: 5, verdict: 'incomplete' })
  })

  it('shows what the requests were for, which apps sent them, and since when it knows', async () => {
    const ask = (more: object) => granted(db.ledger, debit(group, 9, 1, { rates: [perMinute(9)], ...more }))
    await db.ledger.settle(await ask({ purpose: 'backfill' }), 'refused', anyTime)
    await db.advance(1_000)
    await ask({ app: 'college' })
    expect(await audit([perMinute(9)])).toMatchObject({
      evidenceSince: '2026-01-05T08:00:00.000Z',
      groups: [
        {
          ...{ apps: ['college', 'school'], debits: 2, unsettled: 1, purposes: { backfill: 1, live: 1 } },
          ...{ from: '2026-01-05T08:00:00.000Z', to: '2026-01-05T08:00:01.000Z' },
        },
      ],
    })
  })

  it('says of a group that the configuration does not limit that there is no limit', async () => {
    await granted(db.ledger, debit(freshGroup(), 1, 1))
    expect((await audit([])).groups).toMatchObject([{ windows: [], verdict: 'unlimited' }])
  })

  it('agrees with counting on from every millisecond', async () => {
    const spans = fc.array(
      fc.record({
        from: fc.integer({ min: 0, max: 120 }),
        takes: fc.option(fc.integer({ min: 0, max: 60 })),
      }),
      { minLength: 1, maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(spans, fc.integer({ min: 1, max: 50 }), async (drawn, length) => {
        await db.rows('truncate ingest.debit')
        const written = drawn.map(({ from, takes }) => ({ from, to: takes === null ? null : from + takes }))
        await write(written)
        const ends = written.map(({ from, to }) => ({ from, to: to ?? from + reach }))
        const from0 = Array.from({ length: 250 }, (_, x) => x)
        const most = Math.max(
          ...from0.map(x => ends.filter(({ from, to }) => from < x + length && to >= x).length),
        )
        const { windows } = await only([{ requests: 100, window: length / 1_000 }])
        expect(windows[0]!.most).toBe(most)
      }),
      { numRuns: 60 },
    )
  })
})

describe('the lines for people', () => {
  it('say for every window how full it was', async () => {
    await write([0, 400, 800].map(from => ({ from, to: from + 50 })))
    const lines = auditLines(await audit([perSecond(2), perDay(1_000)]))
    expect(lines[0]).toBe('evidence since 2026-01-05T08:00:00.000Z')
    expect(lines.find(line => line.includes('a second'))).toMatch(
      /call-search +3 .* a second +2 +3 .*broken$/,
    )
    expect(lines.find(line => line.includes('a day'))).toMatch(/a day +1,000 +3 +3 +kept$/)
    expect(lines.at(-1)).toMatch(/may have been broken/)
  })
})

describe('the limits that are audited', () => {
  it('are the strictest of all apps that share a counter, and those of the database alone', () => {
    const limit = (scope: string, rates: readonly Rate[], counted: 'ledger' | 'process' = 'ledger') => ({
      ...{ scope, rates, counted, concurrency: 1 },
    })
    const apps = [
      {
        regions: [],
        limits: {
          [group]: limit('key', [perSecond(3), perDay(2_000)]),
          classroom: limit('a', [perSecond(9)], 'process'),
        },
      },
      { regions: [], limits: { [group]: limit('key', [perSecond(1), perDay(10_000)]) } },
      { regions: [], limits: { [group]: limit('own', [perSecond(10)]) } },
    ]
    const expected: readonly AuditedLimit[] = [
      { scope: 'key', group, rates: [perSecond(1), perDay(2_000)] },
      { scope: 'own', group, rates: [perSecond(10)] },
    ]
    expect(limitsOf({ apps } as unknown as Parameters<typeof limitsOf>[0])).toEqual(expected)
  })
})

describe('the wire', () => {
  it('never held more than the audit says may have arrived', async () => {
    const rates = [perSecond(10)]
    const course = { rates, processes: 2, senders: 5, way: 60, lasts: 10_000, lost: 0.05, stalls: 0.02 }
    const { arrivals } = await play(db, { ...course, seed: 5, group })
    const { windows } = await only(rates)
    expect(windows[0]!.most).toBeGreaterThanOrEqual(mostArrivals(arrivals, 1))
    expect(windows[0]!.most).toBeLessThanOrEqual(10)
  })
})

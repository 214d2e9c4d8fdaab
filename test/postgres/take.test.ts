import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Debit, Grant } from '../../src/engine/ports.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { anyTime, day, debit, freshGroup, granted, reach } from './debits.ts'
import { me, openStore, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const grant = (asked: Debit) => granted(db.ledger, asked)
const numbers = async (group: string) =>
  (await db.rows('select n::int from ingest.debit where limit_group = $1 order by n', [group])).map(
    ({ n }) => n,
  )

describe('a debit', () => {
  it('is numbered from 1 without gaps, by group', async () => {
    const [one, other] = [freshGroup(), freshGroup()]
    for (let n = 1; n <= 3; n++)
      expect(await grant(debit(one, 10, 1))).toMatchObject({ scope: 'school', group: one, n })
    expect((await grant(debit(other, 10, 1))).n).toBe(1)
    expect(await numbers(one)).toEqual([1, 2, 3])
  })

  it('leaves no gap in the numbers when it has to wait', async () => {
    const group = freshGroup()
    await grant(debit(group, 1, 1))
    expect(await db.ledger.take(debit(group, 1, 1))).toMatchObject({ granted: false })
    await db.advance(reach + 1_000)
    expect((await grant(debit(group, 1, 1))).n).toBe(2)
  })

  it('that is settled frees its slot one short window after the answer', async () => {
    const group = freshGroup()
    const first = await grant(debit(group, 1, 2))
    await db.advance(700)
    await db.ledger.settle(first, 'refused', anyTime)
    await db.advance(1_500)
    expect(await db.ledger.take(debit(group, 1, 2))).toMatchObject({ granted: false, wait: 500 })
    await db.advance(500)
    await grant(debit(group, 1, 2))
  })

  it('that is never settled blocks its slot until it can no longer arrive, and a window more', async () => {
    const group = freshGroup()
    await grant(debit(group, 1, 2))
    expect(await db.ledger.take(debit(group, 1, 2))).toMatchObject({ granted: false })
    await db.advance(reach + 1_999)
    expect(await db.ledger.take(debit(group, 1, 2))).toMatchObject({ granted: false, wait: 1 })
    await db.advance(1)
    await grant(debit(group, 1, 2))
  })

  it('whose answer is under way is waited for one window at a time: it may come at any moment', async () => {
    const group = freshGroup()
    const first = await grant(debit(group, 1, 2))
    await db.advance(500)
    expect(await db.ledger.take(debit(group, 1, 2))).toMatchObject({ granted: false, wait: 2_000 })
    await db.ledger.settle(first, 'refused', anyTime)
    await db.advance(1_500)
    expect(await db.ledger.take(debit(group, 1, 2))).toMatchObject({ granted: false, wait: 500 })
  })

  it('that nobody answered blocks its slot as long, whoever gave it up', async () => {
    const group = freshGroup()
    const lost = await grant(debit(group, 1, 2))
    await db.advance(30_000)
    await db.ledger.settle(lost, 'unanswered', anyTime)
    expect(await db.ledger.take(debit(group, 1, 2))).toMatchObject({ wait: reach + 2_000 - 30_000 })
    const [row] = await db.rows('select outcome, settled_at from ingest.debit where limit_group = $1', [
      group,
    ])
    expect(row).toEqual({ outcome: 'unread', settled_at: null })
  })

  it('in a long window counts from when it can no longer arrive, settled or not', async () => {
    const group = freshGroup()
    const first = await grant(debit(group, 2, day))
    await db.ledger.settle(first, 'refused', anyTime)
    await db.advance(60_000)
    await grant(debit(group, 2, day))
    expect(await db.ledger.take(debit(group, 2, day))).toMatchObject({
      granted: false,
      wait: day * 1_000 + reach - 60_000,
    })
    await db.advance(day * 1_000 + reach - 60_000)
    await grant(debit(group, 2, day))
  })

  it('keeps every rate at once', async () => {
    const group = freshGroup()
    const rates = [
      { requests: 5, window: 1 },
      { requests: 2, window: 86_400 },
    ]
    await grant(debit(group, 1, 1, { rates }))
    await grant(debit(group, 1, 1, { rates }))
    expect(await db.ledger.take(debit(group, 1, 1, { rates }))).toMatchObject({
      granted: false,
      wait: 86_400_000 + reach,
    })
  })

  it('never dies before an earlier one, so that long windows can rely on the order', async () => {
    const group = freshGroup()
    await grant(debit(group, 9, 1, { arrivesWithin: 60_000 }))
    await grant(debit(group, 9, 1, { arrivesWithin: 5_000 }))
    const dead = await db.rows('select dead_at from ingest.debit where limit_group = $1 order by n', [group])
    expect(dead[1]).toEqual(dead[0])
  })

  it('is not sent by one who does not own the shard, or no longer', async () => {
    const group = freshGroup()
    for (const fence of [
      { ...me, epoch: 0 },
      { ...me, owner: 'other' },
      { ...me, shard: 5 },
    ]) {
      expect(await db.ledger.take(debit(group, 9, 1, { fence }))).toEqual({ granted: 'fenced' })
    }
    await db.rows(`update ingest.ownership set epoch = 2 where shard = 0`)
    expect(await db.ledger.take(debit(group, 9, 1))).toEqual({ granted: 'fenced' })
    await db.rows(`update ingest.ownership set epoch = 1 where shard = 0`)
    expect(await numbers(group)).toEqual([])
  })

  it('is settled once: what is known of it stays', async () => {
    const first = await grant(debit(freshGroup(), 9, 1))
    await db.ledger.settle(first, 'unread', anyTime)
    await db.ledger.settle(first, 'refused', anyTime)
    expect(await db.value('select outcome from ingest.debit where limit_group = $1', [first.group])).toBe(
      'unread',
    )
  })

  it('is never dated before an earlier one when the clock goes back', async () => {
    const group = freshGroup()
    await db.advance(5_000)
    await grant(debit(group, 9, 1))
    await db.advance(-5_000)
    await grant(debit(group, 9, 1))
    const [first, second] = await db.rows(
      'select sent_at from ingest.debit where limit_group = $1 order by n',
      [group],
    )
    expect(second).toEqual(first)
  })
})

/** The most intervals that touch one window of `length`, wherever it lies: an open end counts as its latest. */
function mostInWindow(
  spans: readonly { readonly from: number; readonly to: number }[],
  length: number,
): number {
  // A request may reach the provider at any moment of its span: at worst early ones late and late ones early.
  const edges = spans.flatMap(({ from, to }) => [[from, 1] as const, [to + length, -1] as const])
  edges.sort((a, b) => a[0] - b[0] || a[1] - b[1])
  let inside = 0
  let most = 0
  for (const [, step] of edges) {
    inside += step
    most = Math.max(most, inside)
  }
  return most
}

describe('three processes at once', () => {
  it('never put more than the limit into any window, whenever each request arrives', async () => {
    const pools = [1, 2, 3].map(() => connect({ ...db.connection, poolSize: 4 }))
    const ledgers = pools.map(createLedger)
    const step = fc.record({
      takers: fc.integer({ min: 1, max: 8 }),
      pause: fc.integer({ min: 0, max: 900 }),
      settles: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    })
    const limit = { requests: 3, window: 1 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async steps => {
        const group = freshGroup()
        const open: Grant[] = []
        for (const { takers, pause, settles } of steps) {
          const asked = Array.from({ length: takers }, (_, n) =>
            ledgers[n % 3]!.take(debit(group, limit.requests, limit.window, { arrivesWithin: 3_000 })),
          )
          for (const taken of await Promise.all(asked)) if (taken.granted === true) open.push(taken.grant)
          await db.advance(pause)
          const done = open.filter((_, n) => settles[n % 8])
          await Promise.all(done.map((each, n) => ledgers[n % 3]!.settle(each, 'refused', anyTime)))
          open.splice(0, open.length, ...open.filter(grant => !done.includes(grant)))
        }
        // A request may arrive from when it was sent to when its answer came, and never after its reach.
        const rows = await db.rows(
          `select n::int, extract(epoch from sent_at)::float * 1000 as "from",
                  extract(epoch from least(settled_at, sent_at + interval '3 s'))::float * 1000 as "to"
           from ingest.debit where limit_group = $1 order by n`,
          [group],
        )
        const spans = rows.map(row => ({ from: Number(row.from), to: Number(row.to) }))
        expect(rows.map(({ n }) => n)).toEqual(rows.map((_, index) => index + 1))
        expect(mostInWindow(spans, limit.window * 1_000)).toBeLessThanOrEqual(limit.requests)
        expect(spans.length).toBeGreaterThan(0)
      }),
      { numRuns: 25 },
    )
    await Promise.all(pools.map(pool => pool.end()))
  })
})

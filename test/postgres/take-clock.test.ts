import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { ClockBounds, Grant } from '../../src/engine/ports.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { blocks } from '../alerts/runbook.ts'
import { anyTime, debit, freshGroup, granted } from './debits.ts'
import { app, feedPage, me, openStore, start, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())
beforeEach(() => db.setTime(start))

const second = 1_000
const hour = 3_600_000
const begun = Date.parse(start)

/** What a process knows that saw so many ms pass since the clock stood at `start`, to within 10 ms. */
const saw = (ms: number): ClockBounds => ({ floor: begun + ms - 10, ceiling: begun + ms + 10 })
/** One request in two seconds. */
const asked = (group: string, clockBounds: ClockBounds) => debit(group, 1, 2, { clockBounds })
const settledAt = async ({ group, n }: Grant) => {
  const at = await db.value('select settled_at from ingest.debit where limit_group = $1 and n = $2', [
    group,
    n,
  ])
  return (at as Date).getTime() - begun
}

/** One request, answered after 100 ms. */
async function used(): Promise<string> {
  const group = freshGroup()
  const grant = await granted(db.ledger, asked(group, saw(0)))
  await db.advance(100)
  await db.ledger.settle(grant, 'refused', saw(100))
  return group
}

describe('a clock that is set forward by two days', () => {
  it('frees nothing of before', async () => {
    const group = await used()
    await db.advance(48 * hour)
    const taken = await db.ledger.take(asked(group, saw(200)))
    expect(taken).toMatchObject({ granted: false, now: begun + 190, wait: 1_910 })
    expect(taken).toMatchObject({ ahead: 48 * hour + 100 - 190 })
  })

  it('is told of as long as it is ahead, and budgets go on beside it', async () => {
    const group = await used()
    await db.advance(48 * hour)
    await db.ledger.take(asked(group, saw(200)))
    await db.advance(3 * second)
    const taken = await db.ledger.take(asked(group, saw(3_200)))
    expect(taken).toMatchObject({ granted: true, now: begun + 3_190, ahead: 48 * hour + 100 - 190 })
  })

  it('frees nothing either for a process that starts afterwards', async () => {
    const group = await used()
    await db.advance(48 * hour)
    await db.ledger.take(asked(group, saw(200)))
    expect(await db.ledger.take(asked(group, anyTime))).toMatchObject({ granted: false, wait: 1_910 })
  })

  it('is believed by whoever starts after the ledger was moved to it, which frees nothing', async () => {
    const group = await used()
    await db.advance(48 * hour)
    const ask = (seconds: number, clockBounds: ClockBounds) => debit(group, 1, seconds, { clockBounds })
    await db.ledger.take(ask(2, saw(200)))
    await db.advance(3 * second)
    const taken = await db.ledger.take(ask(2, anyTime))
    expect(taken).toMatchObject({ granted: true, ahead: 48 * hour - 90 })
    if (taken.granted === true) await db.ledger.settle(taken.grant, 'refused', anyTime)
    await db.rows(blocks('postgresql').join())
    await db.advance(second)
    expect(await db.ledger.take(ask(10, anyTime))).toMatchObject({ granted: false, ahead: 0, wait: 9_000 })
  })

  it('is what a process must believe that is the first to see it and saw nothing before', async () => {
    const group = await used()
    await db.advance(48 * hour)
    expect(await db.ledger.take(asked(group, anyTime))).toMatchObject({ granted: true, ahead: 0 })
    // Whoever knows better comes too late, and follows.
    expect(await db.ledger.take(asked(group, saw(300)))).toMatchObject({ granted: false, wait: 2 * second })
  })
})

describe('a clock that goes as it should', () => {
  it('is believed however long a debit waited for a session', async () => {
    const pool = connect({ ...db.connection, poolSize: 1 })
    onTestFinished(() => pool.end())
    const ledger = createLedger(pool)
    const groups = [1, 2, 3, 4].map(freshGroup)
    for (const group of groups) await granted(ledger, debit(group, 9, 2, { clockBounds: saw(0) }))
    const session = await pool.connect()
    let passed = 0
    const taking = groups.map(group => ledger.take({ ...debit(group, 9, 2), clockBounds: () => saw(passed) }))
    await db.advance(5 * second)
    passed = 5 * second
    session.release()
    expect(await Promise.all(taking)).toMatchObject(
      groups.map(() => ({ granted: true, now: begun + passed, ahead: 0 })),
    )
  })
})

describe('a clock that is set back by an hour', () => {
  it('does not stand still for those who saw time pass', async () => {
    const group = await used()
    await db.advance(-hour)
    const taken = await db.ledger.take(asked(group, saw(2_200)))
    expect(taken).toMatchObject({ granted: true, now: begun + 2_190, ahead: 100 - 2_190 - hour })
  })

  it('does not stand still for a process that starts afterwards', async () => {
    const group = await used()
    await db.advance(-hour)
    expect(await db.ledger.take(asked(group, anyTime))).toMatchObject({ granted: false, wait: 2_100 })
    await db.advance(2_100)
    expect(await db.ledger.take(asked(group, anyTime))).toMatchObject({ granted: true, now: begun + 2_100 })
  })

  it('lets no debit be dated before an earlier one', async () => {
    const group = freshGroup()
    for (let n = 0; n < 5; n++) {
      await granted(db.ledger, debit(group, 9, 1, { clockBounds: anyTime }))
      await db.advance(n === 2 ? -hour : 70)
    }
    const rows = await db.rows('select sent_at from ingest.debit where limit_group = $1 order by n', [group])
    const times = rows.map(({ sent_at }) => (sent_at as Date).getTime() - begun)
    expect(times).toEqual([0, 70, 140, 140, 210])
  })
})

describe('an answer', () => {
  it('is dated as late as it may have come when the clock was set meanwhile', async () => {
    for (const jump of [48 * hour, -hour]) {
      await db.setTime(start)
      const grant = await granted(db.ledger, asked(freshGroup(), saw(0)))
      await db.advance(jump)
      await db.ledger.settle(grant, 'refused', saw(700))
      expect(await settledAt(grant)).toBe(710)
    }
  })

  it('that comes with its page is dated by what was known when it came', async () => {
    const ask = () => granted(db.ledger, debit('classroom-feed', 1, 1, { rates: [], clockBounds: saw(0) }))
    for (const [jump, expected] of [
      [500, 500],
      [48 * hour, 710],
      [-hour, 710],
    ] as const) {
      await db.setTime(start)
      await db.rows(`truncate ingest.budget, ingest.debit`)
      const grant = await ask()
      await db.advance(jump)
      const { version } = (await db.store.progress(app, 'app-events', ''))!
      const clockBounds = jump === 500 ? saw(500) : saw(700)
      expect(await db.store.commit(feedPage(version, { settles: { ...grant, clockBounds } }))).toMatchObject({
        outcome: 'committed',
      })
      expect(await settledAt(grant)).toBe(expected)
    }
  })

  it('is never dated before its request', async () => {
    const grant = await granted(db.ledger, asked(freshGroup(), anyTime))
    await db.advance(-hour)
    await db.ledger.settle(grant, 'refused', anyTime)
    expect(await settledAt(grant)).toBe(0)
  })
})

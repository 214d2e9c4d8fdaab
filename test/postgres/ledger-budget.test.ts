import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { perDay } from '../../src/provider/limits.ts'
import { anyTime, day, debit, freshGroup, granted, reach } from './debits.ts'
import { app, openStore, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const second = 1_000
const hour = 3_600_000
const budget = (group: string, recent = 0) => db.ledger.budget(app, group, day, recent)
const ask = (group: string) => granted(db.ledger, debit(group, 1, 1, { rates: [perDay(1_000)] }))

describe('what is used of a budget', () => {
  it('is nothing of a group that nobody has asked for', async () => {
    expect(await budget(freshGroup())).toEqual({
      used: 0,
      freesIn: null,
      recent: 0,
      total: 0,
      sinceLast: null,
    })
  })

  it('are the requests that may have arrived within the window', async () => {
    const group = freshGroup()
    await ask(group)
    await db.advance(hour)
    await db.ledger.settle(await ask(group), 'refused', anyTime)
    expect(await budget(group)).toEqual({
      used: 2,
      freesIn: 23 * hour + reach,
      recent: 0,
      total: 2,
      sinceLast: 0,
    })
    await db.advance(23 * hour + reach - 1)
    expect(await budget(group)).toMatchObject({ used: 2, freesIn: 1 })
    await db.advance(1)
    expect(await budget(group)).toMatchObject({ used: 1, freesIn: hour })
    await db.advance(2 * hour)
    expect(await budget(group)).toEqual({
      used: 0,
      freesIn: null,
      recent: 0,
      total: 2,
      sinceLast: 25 * hour + reach,
    })
  })

  it('says how many of them are recent', async () => {
    const group = freshGroup()
    for (let n = 0; n < 6; n++) {
      await ask(group)
      await db.advance(10 * second)
    }
    expect(await budget(group, 35 * second)).toMatchObject({ used: 6, recent: 3 })
    expect(await budget(group, hour)).toMatchObject({ used: 6, recent: 6 })
  })

  it('is the same when the oldest debits have been removed', async () => {
    const group = freshGroup()
    for (let n = 0; n < 5; n++) {
      await ask(group)
      await db.advance(13 * hour)
    }
    const before = await budget(group, 27 * hour)
    expect(before).toMatchObject({ used: 1, recent: 2, total: 5 })
    await db.keepHouse()
    expect(await db.value('select min(n)::int from ingest.debit where limit_group = $1', [group])).toBe(2)
    expect(await budget(group, 27 * hour)).toEqual(before)
  })

  it('agrees with the ledger about the moment when the next request may go', async () => {
    const group = freshGroup()
    const limit = { rates: [perDay(3)] }
    for (let n = 0; n < 3; n++) {
      await granted(db.ledger, debit(group, 1, 1, limit))
      await db.advance(hour)
    }
    const { freesIn } = await budget(group)
    expect(await db.ledger.take(debit(group, 1, 1, limit))).toMatchObject({ granted: false, wait: freesIn })
  })
})

describe('the pace that lasts', () => {
  const pace = (group: string, requests: number) => db.ledger.lastingPace(app, group, day, requests)

  it('is not known of a group that nobody has asked for, or not for a window', async () => {
    const group = freshGroup()
    expect(await pace(group, 10)).toBeNull()
    await ask(group)
    await db.advance(day * second + reach + 1)
    expect(await pace(group, 10)).toBeNull()
  })

  it('is that of the hours in which nothing comes free', async () => {
    const group = freshGroup()
    // A burst of twelve, three hours of silence, four more: nothing comes free for the three hours after the twelve have.
    for (let n = 0; n < 12; n++) await ask(group)
    await db.advance(3 * hour)
    for (let n = 0; n < 4; n++) await ask(group)
    expect(await pace(group, 20)).toBeCloseTo((20 - 16 + 1) / (21 * hour + reach), 12)
    await db.advance(21 * hour)
    // The first of the four is not looked at where its neighbour is: an eighth more at most.
    for (const [requests, left] of [
      [20, 4],
      [10, 0],
    ] as const) {
      const exact = (left + 13) / (3 * hour + reach)
      const told = await pace(group, requests)
      expect(told! / exact).toBeGreaterThanOrEqual(1)
      expect(told! / exact).toBeLessThan(1.125)
    }
  })

  it('looks at few of many', async () => {
    const group = freshGroup()
    for (let n = 0; n < 200; n++) await ask(group)
    await db.advance(hour)
    await ask(group)
    // The last is always looked at: after it all is free.
    expect(await pace(group, 201)).toBeCloseTo(1 / (23 * hour + reach), 12)
    await db.advance(23 * hour + reach - 1)
    expect(await pace(group, 201)).toBeCloseTo(201 / (hour + 1), 12)
  })
})

describe('a debit', () => {
  it('that still counts is not removed when the clock is set forward', async () => {
    const group = freshGroup()
    const limit = { rates: [perDay(1)] }
    await granted(db.ledger, debit(group, 1, 1, limit))
    await db.advance(72 * hour)
    await db.keepHouse()
    await db.advance(-71 * hour)
    expect(await db.ledger.take(debit(group, 1, 1, limit))).toMatchObject({ granted: false })
  })

  it('keeps what it was for', async () => {
    const group = freshGroup()
    await granted(db.ledger, debit(group, 9, 1, { purpose: 'backfill' }))
    expect(await db.value('select purpose from ingest.debit where limit_group = $1', [group])).toBe(
      'backfill',
    )
  })

  it('is shared by all apps of a credential, whichever shard they are in', async () => {
    const group = freshGroup()
    await db.rows(`insert into ingest.ownership values (7, 'you', 3)`)
    const limit = { scope: 'key:0123', rates: [perDay(2)] }
    await granted(db.ledger, debit(group, 1, 1, limit))
    const neighbour = { ...limit, app: 'college', fence: { shard: 7, owner: 'you', epoch: 3 } }
    expect(await granted(db.ledger, debit(group, 1, 1, neighbour))).toMatchObject({ n: 2 })
    expect(await db.ledger.take(debit(group, 1, 1, limit))).toMatchObject({ granted: false })
    const apps = await db.rows('select app_id from ingest.debit where limit_group = $1 order by n', [group])
    expect(apps.map(({ app_id }) => app_id)).toEqual([app, 'college'])
    const stranger = { ...neighbour, fence: { shard: 7, owner: 'me', epoch: 3 } }
    expect(await db.ledger.take(debit(group, 1, 1, stranger))).toEqual({ granted: 'fenced' })
  })
})

describe('where apps stand that share a budget', () => {
  const own = { app: 'first', asApp: 3, asSeries: 0.75, isUrgent: false }
  const stands = (group: string) => db.ledger.stands('key:1', group)

  it('is known to every process, each budget by itself', async () => {
    const [group, other] = [freshGroup(), freshGroup()]
    await db.ledger.stand('key:1', group, own, hour)
    await db.ledger.stand('key:1', group, { ...own, app: 'second', isUrgent: true }, hour)
    const known = await stands(group)
    expect(known.toSorted((a, b) => a.app.localeCompare(b.app))).toEqual([
      { ...own, isAwaited: true },
      { ...own, app: 'second', isUrgent: true, isAwaited: true },
    ])
    expect(await stands(other)).toEqual([])
    expect(await db.ledger.stands('key:2', group)).toEqual([])
  })

  it('is what was said last, and awaited for as long as was said', async () => {
    const group = freshGroup()
    await db.ledger.stand('key:1', group, own, hour)
    await db.ledger.stand('key:1', group, { ...own, asApp: 4, asSeries: 1 }, 2 * hour)
    await db.advance(2 * hour)
    expect(await stands(group)).toEqual([{ ...own, asApp: 4, asSeries: 1, isAwaited: true }])
    await db.advance(1)
    expect(await stands(group)).toMatchObject([{ isAwaited: false }])
  })

  it('keeps nobody waiting for hours when the clock is set back', async () => {
    const group = freshGroup()
    await db.ledger.stand('key:1', group, own, second)
    await db.advance(-hour)
    expect(await stands(group)).toMatchObject([{ isAwaited: false }])
  })
})

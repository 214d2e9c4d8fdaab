import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Debit } from '../../src/engine/ports.ts'
import { perDay, perMinute, perSecond } from '../../src/provider/limits.ts'
import { anyTime, day, debit, freshGroup, granted, reach } from './debits.ts'
import { openStore, start, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.rows('truncate ingest.history, ingest.budget, ingest.debit')
  await db.setTime(start)
})

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** From here on the server writes another history than the one that it has written so far. */
async function changeHistory(): Promise<void> {
  await db.rows(`update ingest.history set mark = 'former/' || mark`)
  await db.rows(`update ingest.budget set history = 'former/' || history`)
}

/** An owner comes by, as every few seconds. */
const comeBy = () => db.rows(`select ingest.attend('me', '{1}', '1 year')`)

const assumed = async (group: string) =>
  Number(
    await db.value(
      `select count(*) from ingest.debit where limit_group = $1 and operation = 'lost history' and settled_at is null
       and outcome is null and purpose is null`,
      [group],
    ),
  )

const rates = [perSecond(3), perDay(2_000)]
const asked = (group: string, more: Partial<Omit<Debit, 'clockBounds'>> = {}) =>
  debit(group, 1, 1, { rates, ...more })

describe('a history that is older than the ledger was', () => {
  it('costs nothing while it stays the same', async () => {
    const group = freshGroup()
    for (let n = 0; n < 3; n++) {
      await granted(db.ledger, asked(group))
      await db.advance(reach + 2 * second)
    }
    expect(await assumed(group)).toBe(0)
    expect(await db.rows('select mark from ingest.history')).toHaveLength(1)
  })

  it('is assumed to lack as many requests as the rates allow between two seconds', async () => {
    const group = freshGroup()
    await granted(db.ledger, asked(group))
    await changeHistory()
    await db.advance(10 * second)
    expect(await db.ledger.take(asked(group))).toMatchObject({ granted: false })
    // Three in each of the seconds in doubt, and as long again as a request may take.
    expect(await assumed(group)).toBe(3 * (10 + reach / second + 1))
    const numbers = await db.rows(
      'select n::int, sent_at from ingest.debit where limit_group = $1 order by n',
      [group],
    )
    expect(numbers.map(({ n }) => n)).toEqual(numbers.map((_, index) => index + 1))
    await db.advance(reach + second - 1)
    expect(await db.ledger.take(asked(group))).toMatchObject({ granted: false, wait: 1 })
  })

  it('is assumed to lack no more than the longest window had left', async () => {
    const group = freshGroup()
    for (let n = 0; n < 5; n++) await granted(db.ledger, asked(group, { rates: [perDay(40)] }))
    await changeHistory()
    await db.advance(3 * hour)
    const taken = await db.ledger.take(asked(group, { rates: [perMinute(3), perDay(40)] }))
    expect(await assumed(group)).toBe(35)
    // The five of before free their slots three hours earlier than what is assumed.
    expect(taken).toMatchObject({ granted: false, wait: day * second + reach - 3 * hour })
  })

  it('lets the budget go on when what is assumed has passed', async () => {
    const group = freshGroup()
    await granted(db.ledger, asked(group))
    await changeHistory()
    await db.ledger.take(asked(group))
    await db.advance(reach + 2 * second)
    await granted(db.ledger, asked(group))
    expect(await assumed(group)).toBeGreaterThan(0)
  })

  it('is assumed to lack nothing of before an owner last came by', async () => {
    const group = freshGroup()
    const slow = [perMinute(3), perDay(40)]
    await granted(db.ledger, asked(group, { rates: slow }))
    await db.advance(6 * hour)
    await comeBy()
    await changeHistory()
    await db.advance(5 * second)
    await db.ledger.take(asked(group, { rates: slow }))
    expect(await assumed(group)).toBe(3)
  })

  it('dates what is assumed to its own beginning, however late a group is used again', async () => {
    const group = freshGroup()
    await granted(db.ledger, asked(group))
    await comeBy()
    await changeHistory()
    await comeBy()
    await db.advance(12 * hour)
    await db.ledger.take(asked(group))
    const [row] = await db.rows(
      `select max(sent_at) filter (where operation = 'lost history') as at from ingest.debit`,
    )
    expect(row!.at).toEqual(new Date(start))
    await db.advance(13 * hour)
    const { used } = await db.ledger.budget('school', group, day, 0)
    expect(used).toBe(1)
  })

  it('is assumed to lack requests of groups too that it does not know', async () => {
    const [known, unknown] = [freshGroup(), freshGroup()]
    await granted(db.ledger, asked(known))
    await changeHistory()
    await db.advance(2 * second)
    await db.ledger.take(asked(unknown))
    expect(await assumed(unknown)).toBeGreaterThan(3)
  })

  it('is assumed to lack nothing of a group that was new long after', async () => {
    const [known, unknown] = [freshGroup(), freshGroup()]
    await granted(db.ledger, asked(known))
    await changeHistory()
    await db.ledger.take(asked(known))
    await db.advance(30 * hour)
    await granted(db.ledger, asked(unknown))
    expect(await assumed(unknown)).toBe(0)
  })

  it('is assumed to lack all that a day allows when the clock cannot tell for how long', async () => {
    const group = freshGroup()
    await db.advance(hour)
    await granted(db.ledger, asked(group))
    await changeHistory()
    await db.setTime(start)
    await comeBy()
    await db.ledger.take(asked(group))
    expect(await assumed(group)).toBe(2_000 - 1)
  })

  it('is noticed once', async () => {
    const group = freshGroup()
    await granted(db.ledger, asked(group))
    await changeHistory()
    await db.advance(second)
    await Promise.all([1, 2, 3, 4].map(() => db.ledger.take(asked(group))))
    const once = await assumed(group)
    await db.advance(minute)
    await db.ledger.take(asked(group))
    expect(await assumed(group)).toBe(once)
  })

  it('still takes the answer to a request that it does not know', async () => {
    const group = freshGroup()
    await granted(db.ledger, asked(group))
    const lost = await granted(db.ledger, asked(group))
    await db.rows('delete from ingest.debit where n = 2 and limit_group = $1', [group])
    await db.rows('update ingest.budget set last_n = 1 where limit_group = $1', [group])
    await db.ledger.settle(lost, 'refused', anyTime)
    await changeHistory()
    await db.advance(second)
    await db.ledger.take(asked(group))
    await db.ledger.settle(lost, 'refused', anyTime)
    expect(await db.value('select outcome from ingest.debit where limit_group = $1 and n = 2', [group])).toBe(
      'refused',
    )
  })
})

describe('an older state that is put back on the same server', () => {
  const slow = [perMinute(3), perDay(40)]

  /** So many debits are made in as many hours after a snapshot, and then the snapshot is put back. */
  async function putBack(group: string, made: number): Promise<void> {
    await granted(db.ledger, asked(group, { rates: slow }))
    await comeBy()
    for (let n = 0; n < made; n++) {
      await db.advance(hour)
      await granted(db.ledger, asked(group, { rates: slow }))
    }
    await db.rows('delete from ingest.debit where n > 1 and limit_group = $1', [group])
    await db.rows(
      'update ingest.budget set last_n = 1, last_sent_at = $2, clock_at = $2 where limit_group = $1',
      [...[group, new Date(start)]],
    )
  }

  it('lacks what may have been debited since, as whoever had some of it tells', async () => {
    const group = freshGroup()
    await putBack(group, 5)
    await db.ledger.wasSetBack(minute)
    expect(await db.ledger.take(asked(group, { rates: slow }))).toMatchObject({ granted: false })
    expect(await assumed(group)).toBe(39)
  })

  it('is told of by several, and counts once', async () => {
    const group = freshGroup()
    await putBack(group, 5)
    await Promise.all([minute, hour, 2 * hour].map(ago => db.ledger.wasSetBack(ago)))
    await db.advance(second)
    await db.ledger.wasSetBack(minute)
    expect(await db.rows('select mark from ingest.history')).toHaveLength(2)
  })

  it('may be put back again', async () => {
    const group = freshGroup()
    await putBack(group, 5)
    await db.ledger.wasSetBack(minute)
    await db.ledger.take(asked(group, { rates: slow }))
    await db.advance(2 * hour)
    await db.ledger.wasSetBack(hour)
    const marks = await db.rows(
      `select split_part(mark, '/', 2) as told from ingest.history order by first_seen_at`,
    )
    expect(marks.map(({ told }) => told)).toEqual(['00000001', '00000001+1', '00000001+2'])
  })

  it('needs no telling where a timeline of its own has begun since', async () => {
    const group = freshGroup()
    await putBack(group, 5)
    await changeHistory()
    await comeBy()
    await db.ledger.wasSetBack(minute)
    expect(await db.rows('select mark from ingest.history')).toHaveLength(2)
  })
})

describe('the mark of a history', () => {
  it('may be read by the daemon, and names server and timeline', async () => {
    const { rows } = await db.pool.query('select ingest.history_mark() as mark')
    expect(rows[0].mark).toMatch(/^\d+\/[0-9A-F]{8}$/)
  })

  it('is kept up by every claim', async () => {
    await comeBy()
    await db.advance(minute)
    await comeBy()
    const [row] = await db.rows('select last_seen_at - first_seen_at as known from ingest.history')
    expect(row!.known).toMatchObject({ minutes: 1 })
  })
})

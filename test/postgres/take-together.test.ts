import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Debit, Ledger, TakeResult } from '../../src/engine/ports.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { anyTime, debit, freshGroup } from './debits.ts'
import { me, openStore, session, type TestStore } from './harness.ts'

let db: TestStore
let ledger: Ledger
/** Names of the statements that were sent. */
let sent: string[]
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(() => {
  sent = []
  const query = (statement: { readonly name: string }) => {
    sent.push(statement.name)
    return db.pool.query(statement as never)
  }
  ledger = createLedger({ query } as never)
})

/** Two go at once, each by itself; what comes meanwhile goes with the last of these. */
async function together(debits: readonly Debit[]): Promise<readonly TakeResult[]> {
  const ahead = [1, 2].map(() => ledger.take(debit(freshGroup(), 9, 1)))
  const results = debits.map(each => ledger.take(each))
  await Promise.all(ahead)
  return Promise.all(results)
}

const granted = (n: number) => ({ granted: true, grant: { n } })
const numbers = async (group: string) =>
  (await db.rows('select n::int from ingest.debit where limit_group = $1 order by n', [group])).map(
    ({ n }) => n,
  )

describe('debits that wait at one time', () => {
  it('go in one statement, each from a head of its own', async () => {
    const debits = Array.from({ length: 50 }, (_, n) => debit(freshGroup(), 1, 2, { app: `app${n}` }))
    const results = await together(debits)
    expect(sent).toEqual(['take', 'take', 'take_together'])
    for (const [i, { group }] of debits.entries()) {
      expect(results[i]).toMatchObject({ granted: true, grant: { group, n: 1 } })
      const stored = await db.rows(
        'select app_id, n::int, operation, purpose from ingest.debit where limit_group = $1',
        [group],
      )
      expect(stored).toEqual([{ app_id: `app${i}`, n: 1, operation: 'feed', purpose: 'live' }])
    }
  })

  it('are answered each for itself: granted, to wait, or fenced', async () => {
    const full = freshGroup()
    await ledger.take(debit(full, 1, 2))
    const debits = [
      debit(freshGroup(), 1, 2),
      debit(full, 1, 2),
      debit(freshGroup(), 1, 2, { fence: { ...me, epoch: 0 } }),
      debit(freshGroup(), 1, 2),
    ]
    expect(await together(debits)).toMatchObject([
      granted(1),
      { granted: false, wait: 2_000 },
      { granted: 'fenced' },
      granted(1),
    ])
    expect(sent).toContain('take_together')
  })

  it('of one head are counted one after the other', async () => {
    const group = freshGroup()
    const results = await together([1, 2, 3].map(() => debit(group, 2, 60)))
    expect(results).toMatchObject([granted(1), granted(2), { granted: false }])
    expect(await numbers(group)).toEqual([1, 2])
  })

  it('do not wait for a head that somebody else holds', async () => {
    const held = freshGroup()
    await ledger.take(debit(held, 9, 1))
    const other = await session(db.url)
    await other.query('begin')
    await other.query('select from ingest.budget where limit_group = $1 for update', [held])
    let isOpen = false
    const ahead = [1, 2].map(() => ledger.take(debit(freshGroup(), 9, 1)))
    const late = ledger.take(debit(held, 9, 1)).finally(() => {
      isOpen = true
    })
    const others = [1, 2].map(() => ledger.take(debit(freshGroup(), 9, 1)))
    expect(await Promise.all([...ahead, ...others])).toMatchObject([1, 1, 1, 1].map(granted))
    expect(isOpen).toBe(false)
    await other.query('rollback')
    expect(await late).toMatchObject(granted(2))
  })

  it('do not fail with one that the database refuses', async () => {
    const debits = [
      debit(freshGroup(), 1, 2),
      debit(freshGroup(), 1, 2, { fence: { ...me, epoch: 0.5 } }),
      debit(freshGroup(), 1, 2),
    ]
    const ahead = [1, 2].map(() => ledger.take(debit(freshGroup(), 9, 1)))
    const results = await Promise.allSettled(debits.map(each => ledger.take(each)))
    await Promise.all(ahead)
    expect(results).toMatchObject([
      { status: 'fulfilled', value: granted(1) },
      { status: 'rejected', reason: { name: 'RefusedRows' } },
      { status: 'fulfilled', value: granted(1) },
    ])
    for (const { group } of [debits[0]!, debits[2]!]) expect(await numbers(group)).toEqual([1])
  })

  it('are asked of what they know of the time when their statement leaves', async () => {
    const clockBounds = vi.fn(() => anyTime)
    const ahead = [1, 2].map(() => ledger.take(debit(freshGroup(), 9, 1)))
    const last = ledger.take({ ...debit(freshGroup(), 9, 1), clockBounds })
    expect(clockBounds).not.toHaveBeenCalled()
    await Promise.all([...ahead, last])
    expect(clockBounds).toHaveBeenCalledOnce()
  })
})

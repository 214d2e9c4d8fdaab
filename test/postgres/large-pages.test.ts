import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ItemCommit, RefusedRows } from '../../src/engine/ports.ts'
import { at, commitNext, itemPage, openItems, samples, work } from './analytics.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const seconds = 5_000
const mids = Array.from({ length: 12 }, (_, i) => 20_001 + i)
/** Sixty thousand values: more than one statement takes. */
const series = mids.map(mid =>
  samples(
    'large',
    's',
    mid,
    Array.from({ length: seconds }, (_, i) => [i, mid] as const),
  ),
)
const page = (...more: object[]) => rowSet({ 'analytics.session_series': [...series, ...more] })

async function owe(): Promise<ItemCommit> {
  const [item] = await openItems(db, 'call-metrics')
  return itemPage(item!)
}

const count = () => db.value(`select count(*)::int from analytics.session_metric where call_id = 'large'`)
const state = () => db.value(`select state from ingest.work_item where item = 'large'`)

beforeEach(async () => {
  await db.rows('delete from ingest.work_item')
  await db.rows('delete from analytics.session_series')
  await db.store.beginWindows(me, app, 'calls', [''], at(0))
  await commitNext(db, 'calls', '', { work: [work('large', { stream: 'call-metrics', to: seconds })] })
})

/** Stops the way of a page after so many of its statements. */
function stopAfter(statements: number): () => void {
  const { pool } = db
  const query = pool.query.bind(pool)
  let left = statements
  Object.assign(pool, {
    query: (...args: Parameters<typeof query>) =>
      left-- > 0 ? query(...args) : Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' })),
  })
  return () => void Object.assign(pool, { query })
}

describe('a page that is larger than one statement takes', () => {
  it('is stored whole, and its item is done once', async () => {
    const result = await db.store.commitItem({ ...(await owe()), rows: page() })
    expect(result).toMatchObject({
      ...{ outcome: 'committed', version: 1 },
      stored: { 'analytics.session_series': mids.length * seconds },
    })
    expect([await count(), await state()]).toEqual([mids.length * seconds, 'done'])
  })

  it('leaves its item owed when it breaks off between two slices, and is complete when it is read again', async () => {
    const mend = stopAfter(2)
    await expect(db.store.commitItem({ ...(await owe()), rows: page() })).rejects.toThrow()
    mend()
    expect(await count()).toBeGreaterThan(0)
    expect(await count()).toBeLessThan(mids.length * seconds)
    expect(await state()).toBe('pending')
    expect((await owe()).item).toMatchObject({ version: 0, page: 1 })
    expect(await db.store.commitItem({ ...(await owe()), rows: page() })).toMatchObject({
      outcome: 'committed',
    })
    expect([await count(), await state()]).toEqual([mids.length * seconds, 'done'])
  })

  it('writes nothing for another owner or of another version', async () => {
    const first = await owe()
    const late = { ...first, item: { ...first.item, version: 5 }, rows: page() }
    expect(await db.store.commitItem(late)).toEqual({ outcome: 'stale' })
    const foreign = { ...first, fence: { ...me, owner: 'other' }, rows: page() }
    expect(await db.store.commitItem(foreign)).toEqual({ outcome: 'fenced' })
    expect(await count()).toBe(0)
  })

  it('is refused with a value that no column takes, wherever that stands, and a rehearsal says so', async () => {
    const refused = { ...samples('large', 's', 20_001, [[0, 1]]), sid: 'odd', mid: 2 ** 31 }
    const bad = { ...(await owe()), rows: page(refused) }
    expect(await db.store.dryRun(bad)).toBe(false)
    expect(await count()).toBe(0)
    await expect(db.store.commitItem(bad)).rejects.toBeInstanceOf(RefusedRows)
    expect(await state()).toBe('pending')
    expect(await db.store.dryRun({ ...bad, rows: page() })).toBe(true)
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readStoreGauges } from '../../src/postgres/status.ts'
import { app, hour, openStore, start, type TestStore, time } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.rows('truncate ingest.gap')
  await db.setTime(start)
})

/** A gap of calls, last changed so many minutes before the start; it can be had until so many minutes after it. */
async function addGap(state: string, changed: number, until: number | null = null): Promise<void> {
  await db.rows(
    `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at,
                             updated_at, recoverable_until)
     values ($1, 'calls', '', 'time', $2::timestamptz - interval '1 minute', $2, 'expired', $3, $2, $2, $4)`,
    [app, time(-changed), state, until === null ? null : time(until)],
  )
}

const losses = async () => (await readStoreGauges(db.pool)).losses

describe('what was lost of late', () => {
  it('is what was given up within the last hour and the last day', async () => {
    for (const minutesAgo of [10, 59, 61, 23 * 60, 25 * 60]) await addGap('lost', minutesAgo)
    expect(await losses()).toEqual([{ stream: 'calls', hour: 2, day: 4 }])
    await db.advance(hour)
    expect(await losses()).toEqual([{ stream: 'calls', hour: 0, day: 3 }])
  })

  it('is nothing that is open, was repaired or never served', async () => {
    for (const [n, state] of ['open', 'repaired', 'absent'].entries()) await addGap(state, n)
    expect(await losses()).toEqual([])
  })

  it('counts from when it was found, however long nobody was there to find it', async () => {
    await addGap('open', 5, 60)
    await db.advance(50 * hour)
    expect(await losses()).toEqual([])
    await db.keepHouse()
    expect(await losses()).toEqual([{ stream: 'calls', hour: 1, day: 1 }])
  })
})

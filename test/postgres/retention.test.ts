import { describe, expect, it } from 'vitest'
import { app, session, start } from './harness.ts'
import {
  db,
  gapStates,
  housekeeping,
  openGap,
  partitions,
  places,
  put,
  useEmptyTables,
} from './partition-harness.ts'

const day = 86_400_000
const fortnight = 14 * day

useEmptyTables()

describe('a clock of the database that jumped ahead', () => {
  const kept = { session_series: 90 * day, quality_realtime: 90 * day }

  it('drops nothing and gives nothing up, until it is right again', async () => {
    await housekeeping(kept)
    await put('2025-12-28', '2099-12-31')
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, recoverable_until)
       values ($1, 'room-events', 'r', 'sequence', 1, 1, 'hole', $2::timestamptz + interval '1 hour')`,
      [app, start],
    )
    const before = await partitions('session_series')
    await db.advance(400 * day)
    expect(await housekeeping(kept, Date.parse(start))).toBe('in doubt')
    expect(await housekeeping(kept, 'nothing')).toBe('in doubt')
    expect(await partitions('session_series')).toEqual(expect.arrayContaining([...before]))
    expect(await places()).toHaveLength(2)
    expect(await gapStates()).toEqual(['open'])

    await db.setTime(start)
    await db.advance(91 * day)
    expect(await housekeeping(kept)).toBe('done')
    expect((await partitions('session_series'))[0]! > before[0]!).toBe(true)
    expect(await gapStates()).toEqual(['lost'])
  })

  it('takes no more away than the provider confirms where it is a little ahead', async () => {
    await openGap()
    await db.rows(`update ingest.gap set recoverable_until = $1`, [start])
    await db.advance(60_000)
    expect(await housekeeping(kept, Date.parse(start))).toBe('done')
    expect(await gapStates()).toEqual(['open'])
  })
})

describe('retention', () => {
  it('drops four partitions a run at most', async () => {
    await housekeeping()
    await db.pool.query(`select ingest.make_partition('session_series', '2025-11-24')`)
    await housekeeping({ session_series: day })
    expect((await partitions('session_series'))[0]).toBe('session_series_20251222')
    await housekeeping({ session_series: day })
    expect((await partitions('session_series'))[0]).toBe('session_series_20251229')
  })

  it('drops what is older than its table keeps, in whole partitions, and such rows of the default one', async () => {
    await housekeeping()
    await put('1970-01-01', '2025-12-21', '2025-12-22', '2025-12-28', '2026-01-05', '2099-01-01')
    await housekeeping({ session_series: fortnight })
    expect(await places()).toEqual([
      ['2025-12-22 00:00:00', '20251222'],
      ['2025-12-28 00:00:00', '20251222'],
      ['2026-01-05 00:00:00', '20260105'],
      ['2099-01-01 00:00:00', 'default'],
    ])
    expect((await partitions('session_series'))[0]).toBe('session_series_20251222')
    expect(await partitions('quality_realtime')).toHaveLength(3)
    await housekeeping({ session_series: fortnight })
    expect((await partitions('session_series'))[0]).toBe('session_series_20251222')
  })

  it('leaves a table that is kept forever as it is', async () => {
    await put('1970-01-01')
    await housekeeping({ session_series: 'forever', quality_realtime: day })
    expect(await places()).toHaveLength(1)
  })

  it('waits for nobody who is reading', async () => {
    await housekeeping()
    await put('2025-12-02')
    const reader = await session(db.url)
    await reader.query('begin; select * from analytics.session_series')
    await housekeeping({ session_series: fortnight })
    expect(await places()).toHaveLength(1)
    await reader.query('commit')
    await housekeeping({ session_series: fortnight })
    expect(await places()).toEqual([])
  })
})

import { describe, expect, it, onTestFinished } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { readStoreGauges } from '../../src/postgres/status.ts'
import { createStore } from '../../src/postgres/store.ts'
import { commitNext } from './analytics.ts'
import { app, me, rowSet, session, start } from './harness.ts'
import {
  db,
  fill,
  fillings,
  gapStates,
  housekeeping,
  openGap,
  partitions,
  places,
  put,
  useEmptyTables,
} from './partition-harness.ts'

const day = 86_400_000
/** Of the other databases of the server nobody is waited for: their tables may go by the same numbers. */
const here = 'database = (select oid from pg_database where datname = current_database())'

useEmptyTables()

describe('partitions', () => {
  it('are made ahead by the week and by the month, from Monday and from the first, UTC', async () => {
    await housekeeping()
    const weeks = ['1201', '1208', '1215', '1222', '1229'].map(date => `session_series_2025${date}`)
    const ahead = ['0105', '0112', '0119', '0126', '0202', '0209'].map(date => `session_series_2026${date}`)
    expect(await partitions('session_series')).toEqual([...weeks, ...ahead])
    expect(await partitions('quality_realtime')).toEqual([
      ...['quality_realtime_20251201', 'quality_realtime_20260101', 'quality_realtime_20260201'],
    ])
    await housekeeping()
    expect(await partitions('session_series')).toHaveLength(11)
  })

  it('find a place for every time, those of 1970 and 2099 too', async () => {
    await housekeeping()
    await put(
      '1970-01-01',
      '2025-12-28 23:59:59.999',
      '2025-12-29',
      '2026-01-04 23:59:59',
      '2099-12-31',
      '0044-03-15 BC',
    )
    expect(await places()).toEqual([
      ['0044-03-15 00:00:00 BC', 'default'],
      ['1970-01-01 00:00:00', 'default'],
      ['2025-12-28 23:59:59.999', '20251222'],
      ['2025-12-29 00:00:00', '20251229'],
      ['2026-01-04 23:59:59', '20251229'],
      ['2099-12-31 00:00:00', 'default'],
    ])
  })

  it('take what belongs to them out of the default one, and leave the rest there', async () => {
    const times = ['1970-01-01', '2025-12-28 23:59:59', '2025-12-29', '2026-02-15 23:59:59', '2026-02-16']
    await put(...times)
    await housekeeping()
    expect((await places()).map(([, place]) => place)).toEqual([
      ...['default', '20251222', '20251229', '20260209', 'default'],
    ])
  })

  it('that cannot be had because the table is in use are made the next time, and rows go on', async () => {
    const reader = await session(db.url)
    await reader.query('begin; select * from analytics.session_series_default')
    const answer = await db.pool.query(`select ingest.make_partition('session_series', '${start}') as answer`)
    expect(answer.rows).toEqual([{ answer: 'busy' }])
    await put(start)
    await reader.query('commit')
    await housekeeping()
    expect(await places()).toEqual([['2026-01-05 08:00:00', '20260105']])
  })

  it('are made once by two daemons at the same moment', async () => {
    await put('2026-01-05', '2026-01-06')
    await Promise.all([housekeeping(), housekeeping(), housekeeping({ session_series: 60 * day })])
    expect(await partitions('session_series')).toHaveLength(11)
    expect(await places()).toHaveLength(2)
  })

  it('are made while values are being written, and no value is lost', async () => {
    const writing = Array.from({ length: 300 }, (_, i) =>
      put(new Date(Date.parse(start) + (i - 150) * 6 * 3_600_000).toISOString()),
    )
    await Promise.all([...writing, housekeeping()])
    await housekeeping()
    const found = await places()
    expect(found).toHaveLength(300)
    const outside = found.filter(([, place]) => place === 'default').map(([at]) => at!)
    expect(outside.every(at => at < '2025-12-01' || at >= '2026-02-16')).toBe(true)
  })
})

describe('a default partition full of rows', () => {
  const step = async (most: number) =>
    (await db.pool.query(`select ingest.make_partition('session_series', $1, $2) as made`, [start, most]))
      .rows[0]!.made

  it('is emptied in steps, between which every row is there once', async () => {
    await fill(10)
    expect(await step(4)).toBe('part')
    expect(await fillings()).toEqual({ '20260105': 4, default: 6 })
    expect(await step(4)).toBe('part')
    expect(await fillings()).toEqual({ '20260105': 4, '20260105_080400000000': 4, default: 2 })
    await put(start, '2026-01-05 08:04:30', '2026-01-05 08:09:00')
    expect(await fillings()).toMatchObject({ '20260105_080400000000': 5, default: 2 })
    expect([await step(4), await step(4)]).toEqual(['made', 'there'])
    expect(Object.values(await fillings())).toEqual([4, 5, 2])
  })

  it('is emptied too where more rows than a step takes are of one moment', async () => {
    await db.rows(
      `insert into analytics.session_series select $1, 'c', s::text, 20001, '0', $2, '{0}', '{1}' from generate_series(1, 5) s`,
      [app, start],
    )
    await fill(1, '2026-01-06')
    expect([await step(2), await step(2)]).toEqual(['part', 'made'])
    expect(Object.values(await fillings())).toEqual([5, 1])
  })

  it('is emptied of weeks long past, as far as they are kept', async () => {
    await put('2025-09-03', '2024-09-03', '2099-01-01')
    await housekeeping({ session_series: 200 * day })
    expect(await places()).toEqual([
      ['2025-09-03 00:00:00', '20250901'],
      ['2099-01-01 00:00:00', 'default'],
    ])
  })

  it('hides no row from one who began to read while its rows moved', async () => {
    await fill(10)
    const mover = await session(db.url)
    await mover.query(`begin; select ingest.make_partition('session_series', '${start}', 4)`)
    const seen = db.pool.query('select count(*)::int as rows from analytics.session_series')
    const waiting = `select count(*)::int from pg_locks where not granted and ${here} and relation::regclass::text like 'analytics.session_series%'`
    while ((await db.value(waiting)) === 0) await Promise.resolve()
    await mover.query('commit')
    expect((await seen).rows).toEqual([{ rows: 10 }])
  })

  it('takes no value that was on its way there when its week got a partition', async () => {
    const mover = await session(db.url)
    await mover.query('begin; lock table analytics.quality_realtime_default in access exclusive mode')
    await db.store.beginWindows(me, app, 'realtime-quality', ['all'], 0)
    const row = { product: 'Native', metric: 'networkDelay', cname: '', uid: '', at: start, value: 7 }
    const rows = rowSet({ 'analytics.quality_realtime': [row] })
    const committed = commitNext(db, 'realtime-quality', 'all', { rows })
    const waiting = `select count(*)::int from pg_locks where not granted and ${here} and relation::regclass::text like 'analytics.quality_realtime%'`
    while ((await db.value(waiting)) === 0) await Promise.resolve()
    await mover.query(`select ingest.make_partition('quality_realtime', '${start}'); commit`)
    expect(await committed).toMatchObject({ outcome: 'committed' })
    expect(await db.value('select value from analytics.quality_realtime_20260101')).toBe(7)
  })

  it('does not keep the other tables, nor what else is to be done, from their turn when it cannot be emptied', async () => {
    await db.rows('create table analytics.session_series_20260105 (x int)')
    onTestFinished(() => db.rows('drop table analytics.session_series_20260105').then(() => {}))
    await openGap()
    await expect(housekeeping()).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await partitions('quality_realtime')).toHaveLength(3)
    expect(await gapStates()).toEqual(['lost'])
  })

  it('is counted, but for rows of a time that gets no partition', async () => {
    await put('1970-01-01', '2025-12-20', start, '2099-12-31')
    expect((await readStoreGauges(db.pool)).leftBehind).toContainEqual({
      table: 'analytics.session_series',
      rows: 2,
    })
    await housekeeping()
    expect((await readStoreGauges(db.pool)).leftBehind).toContainEqual({
      table: 'analytics.session_series',
      rows: 0,
    })
  })
})

describe('before the first page', () => {
  it('there are partitions for what comes', async () => {
    await db.store.prepare()
    expect(await partitions('session_series')).toHaveLength(11)
    await put(start)
    expect(await places()).toEqual([['2026-01-05 08:00:00', '20260105']])
  })
})

describe('the daemon, which makes and drops partitions as their owner', () => {
  const refused = (text: string) => expect(db.pool.query(text)).rejects.toMatchObject({ code: '22023' })

  it('can do so with the known tables only, and never drop what is to come', async () => {
    await refused(`select ingest.make_partition('call', now())`)
    await refused(`select ingest.make_partition('session_series; drop table analytics.call', now())`)
    await refused(`select ingest.make_partition('session_series', 'infinity')`)
    await refused(`select ingest.drop_partitions('call', '2020-01-01')`)
    await refused(`select ingest.drop_partitions('session_series', ingest.clock() + interval '1 second')`)
    await refused(`select ingest.drop_partitions('session_series', null)`)
    expect(await db.value('select count(*)::int from analytics.call')).toBe(0)
  })

  it('cannot bend them by its search path, nor drop a table itself', async () => {
    await housekeeping()
    const client = await db.pool.connect()
    onTestFinished(async () => {
      await client.query('reset search_path')
      client.release()
    })
    await client
      .query(`create temp table pg_class (relname name, oid oid, relpartbound pg_node_tree)`)
      .catch(() => {})
    await client.query('set search_path = pg_temp, public')
    await client.query(`select ingest.drop_partitions('session_series', '2025-12-10')`)
    expect((await partitions('session_series'))[0]).toBe('session_series_20251208')
    await expect(client.query('drop table analytics.session_series_20251208')).rejects.toMatchObject({
      code: '42501',
    })
  })

  it('may write to a new partition at once, and read it', async () => {
    await housekeeping()
    await db.pool.query(
      `insert into analytics.session_series_20260105 values ('a', 'c', 's', 1, '0', $1, '{0}', '{1}')`,
      [start],
    )
    const { rows } = await db.pool.query('select value from analytics.session_series_20260105')
    expect(rows).toEqual([{ value: [1] }])
  })

  it('nobody else may', async () => {
    const stranger = await session(db.url)
    await stranger.query(
      'create role stranger_to_partitions; grant usage on schema ingest to stranger_to_partitions',
    )
    onTestFinished(async () => {
      await stranger.query(
        'reset role; drop owned by stranger_to_partitions; drop role stranger_to_partitions',
      )
    })
    await stranger.query('set role stranger_to_partitions')
    await expect(
      stranger.query(`select ingest.drop_partitions('session_series', '2020-01-01')`),
    ).rejects.toMatchObject({
      code: '42501',
    })
  })

  it('hears of an outage as of any other', async () => {
    const gone = createStore({ query: () => Promise.reject(new Error('down')) } as never, {
      ...{ streams: [], roomMemory: 1, sequenceScope: 'room', region: () => 'ap' },
    })
    await expect(gone.housekeeping(0)).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

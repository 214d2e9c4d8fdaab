import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { readFigures } from '../../src/postgres/figures.ts'
import { createStore } from '../../src/postgres/store.ts'
import { commitNext } from './analytics.ts'
import { app, me, openStore, rowSet, session, start, type TestStore } from './harness.ts'

const day = 86_400_000
const fortnight = 14 * day
let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  for (const name of await partitions('session_metric')) await db.rows(`drop table analytics.${name}`)
  for (const name of await partitions('quality_realtime')) await db.rows(`drop table analytics.${name}`)
  await db.rows('truncate analytics.session_metric, analytics.quality_realtime, ingest.gap')
  await db.setTime(start)
})
afterAll(async () => (await opened)?.close())

/** Names of the partitions besides the default one, in order. */
async function partitions(table: string): Promise<readonly string[]> {
  const found = await db.rows(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = ('analytics.' || $1)::regclass and c.relname not like '%default' order by 1`,
    [table],
  )
  return found.map(({ name }) => String(name))
}

/** Values at these moments, and in which table each lies. */
async function put(...times: readonly string[]): Promise<void> {
  for (const at of times) {
    await db.pool.query(
      `insert into analytics.session_metric values ($1, 'c', 's', '0', 20001, $2, 1)
       on conflict (app_id, call_id, sid, peer_uid, mid, at) do nothing`,
      [app, at],
    )
  }
}
const places = async () => {
  const found = await db.rows(
    `select (at at time zone 'UTC')::text as at, tableoid::regclass::text as place from analytics.session_metric order by at`,
  )
  return found.map(({ at, place }) => [at, String(place).replace('analytics.session_metric_', '')])
}

/** Housekeeping with the rights of the daemon; the provider says that it is this time, else that of the database. */
async function housekeeping(retention: object = {}, confirmed?: number | 'nothing') {
  const settings = { roomMemory: 1, roomStreams: [], feedGroup: 'feed', sequenceScope: 'room' } as const
  const store = createStore(db.pool, { ...settings, region: () => 'ap', retention })
  const told = confirmed ?? Number(await db.value('select ingest.clock()'))
  return store.housekeeping(told === 'nothing' ? undefined : told)
}

/** Names of the partitions and the default one with the rows of each that has some. */
async function fillings(): Promise<Readonly<Record<string, number>>> {
  const found = await db.rows(
    `select tableoid::regclass::text as place, count(*)::int as rows from analytics.session_metric group by 1 order by 1`,
  )
  return Object.fromEntries(
    found.map(({ place, rows }) => [String(place).replace('analytics.session_metric_', ''), Number(rows)]),
  )
}

/** So many values of a week that has no partition yet, a minute apart. */
const fill = (rows: number, from = start) =>
  db.rows(
    `insert into analytics.session_metric select $1, 'c', 's', '0', 20001, $2::timestamptz + n * interval '1 minute', n
     from generate_series(0, $3 - 1) n`,
    [app, from, rows],
  )

describe('partitions', () => {
  it('are made ahead by the week and by the month, from Monday and from the first, UTC', async () => {
    await housekeeping()
    const weeks = ['1201', '1208', '1215', '1222', '1229'].map(date => `session_metric_2025${date}`)
    const ahead = ['0105', '0112', '0119', '0126', '0202', '0209'].map(date => `session_metric_2026${date}`)
    expect(await partitions('session_metric')).toEqual([...weeks, ...ahead])
    expect(await partitions('quality_realtime')).toEqual([
      ...['quality_realtime_20251201', 'quality_realtime_20260101', 'quality_realtime_20260201'],
    ])
    await housekeeping()
    expect(await partitions('session_metric')).toHaveLength(11)
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
    await reader.query('begin; select * from analytics.session_metric_default')
    const answer = await db.pool.query(`select ingest.make_partition('session_metric', '${start}') as answer`)
    expect(answer.rows).toEqual([{ answer: 'busy' }])
    await put(start)
    await reader.query('commit')
    await housekeeping()
    expect(await places()).toEqual([['2026-01-05 08:00:00', '20260105']])
  })

  it('are made once by two daemons at the same moment', async () => {
    await put('2026-01-05', '2026-01-06')
    await Promise.all([housekeeping(), housekeeping(), housekeeping({ session_metric: 60 * day })])
    expect(await partitions('session_metric')).toHaveLength(11)
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
    (await db.pool.query(`select ingest.make_partition('session_metric', $1, $2) as made`, [start, most]))
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
      `insert into analytics.session_metric select $1, 'c', s::text, '0', 20001, $2, 1 from generate_series(1, 5) s`,
      [app, start],
    )
    await fill(1, '2026-01-06')
    expect([await step(2), await step(2)]).toEqual(['part', 'made'])
    expect(Object.values(await fillings())).toEqual([5, 1])
  })

  it('is emptied of weeks long past, as far as they are kept', async () => {
    await put('2025-09-03', '2024-09-03', '2099-01-01')
    await housekeeping({ session_metric: 200 * day })
    expect(await places()).toEqual([
      ['2025-09-03 00:00:00', '20250901'],
      ['2099-01-01 00:00:00', 'default'],
    ])
  })

  it('hides no row from one who began to read while its rows moved', async () => {
    await fill(10)
    const mover = await session(db.url)
    await mover.query(`begin; select ingest.make_partition('session_metric', '${start}', 4)`)
    const seen = db.pool.query('select count(*)::int as rows from analytics.session_metric')
    const waiting = `select count(*)::int from pg_locks where not granted and relation::regclass::text like 'analytics.session_metric%'`
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
    const waiting = `select count(*)::int from pg_locks where not granted and relation::regclass::text like 'analytics.quality_realtime%'`
    while ((await db.value(waiting)) === 0) await Promise.resolve()
    await mover.query(`select ingest.make_partition('quality_realtime', '${start}'); commit`)
    expect(await committed).toMatchObject({ outcome: 'committed' })
    expect(await db.value('select value from analytics.quality_realtime_20260101')).toBe(7)
  })

  it('does not keep the other tables, nor what else is to be done, from their turn when it cannot be emptied', async () => {
    await db.rows('create table analytics.session_metric_20260105 (x int)')
    onTestFinished(() => db.rows('drop table analytics.session_metric_20260105').then(() => {}))
    await openGap()
    await expect(housekeeping()).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await partitions('quality_realtime')).toHaveLength(3)
    expect(await gapStates()).toEqual(['lost'])
  })

  it('is counted, but for rows of a time that gets no partition', async () => {
    await put('1970-01-01', '2025-12-20', start, '2099-12-31')
    expect((await readFigures(db.pool)).leftBehind).toContainEqual({
      table: 'analytics.session_metric',
      rows: 2,
    })
    await housekeeping()
    expect((await readFigures(db.pool)).leftBehind).toContainEqual({
      table: 'analytics.session_metric',
      rows: 0,
    })
  })
})

/** A gap that could be repaired until an hour before the test begins. */
const openGap = () =>
  db.rows(
    `insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, recoverable_until)
     values ($1, 'room-events', 'r', 'sequence', 1, 1, 'hole', $2::timestamptz - interval '1 hour')`,
    [app, start],
  )
const gapStates = async () => (await db.rows('select state from ingest.gap')).map(({ state }) => state)

describe('before the first page', () => {
  it('there are partitions for what comes', async () => {
    await db.store.prepare()
    expect(await partitions('session_metric')).toHaveLength(11)
    await put(start)
    expect(await places()).toEqual([['2026-01-05 08:00:00', '20260105']])
  })
})

describe('a clock of the database that jumped ahead', () => {
  const kept = { session_metric: 90 * day, quality_realtime: 90 * day }

  it('drops nothing and gives nothing up, until it is right again', async () => {
    await housekeeping(kept)
    await put('2025-12-28', '2099-12-31')
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, recoverable_until)
       values ($1, 'room-events', 'r', 'sequence', 1, 1, 'hole', $2::timestamptz + interval '1 hour')`,
      [app, start],
    )
    const before = await partitions('session_metric')
    await db.advance(400 * day)
    expect(await housekeeping(kept, Date.parse(start))).toBe('in doubt')
    expect(await housekeeping(kept, 'nothing')).toBe('in doubt')
    expect(await partitions('session_metric')).toEqual(expect.arrayContaining([...before]))
    expect(await places()).toHaveLength(2)
    expect(await gapStates()).toEqual(['open'])

    await db.setTime(start)
    await db.advance(91 * day)
    expect(await housekeeping(kept)).toBe('done')
    expect((await partitions('session_metric'))[0]! > before[0]!).toBe(true)
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

describe('summaries of the index by time', () => {
  it('are made by the housekeeping, and never asked for by the server', async () => {
    await db.store.prepare()
    const asked = `select count(*)::int from pg_class where 'autosummarize=on' = any (reloptions) and relkind = 'i'`
    expect(await db.value(asked)).toBe(0)
    await fill(5_000)
    const missing = () => db.value(`select ingest.summarize('session_metric', 'session_metric_20260105')`)
    await housekeeping()
    expect(await missing()).toBe(0)
    await fill(30_000, '2026-01-08T20:00:00Z')
    expect(await missing()).toBeGreaterThan(0)
  })
})

describe('retention', () => {
  it('drops four partitions a run at most', async () => {
    await housekeeping()
    await db.pool.query(`select ingest.make_partition('session_metric', '2025-11-24')`)
    await housekeeping({ session_metric: day })
    expect((await partitions('session_metric'))[0]).toBe('session_metric_20251222')
    await housekeeping({ session_metric: day })
    expect((await partitions('session_metric'))[0]).toBe('session_metric_20251229')
  })

  it('drops what is older than its table keeps, in whole partitions, and such rows of the default one', async () => {
    await housekeeping()
    await put('1970-01-01', '2025-12-21', '2025-12-22', '2025-12-28', '2026-01-05', '2099-01-01')
    await housekeeping({ session_metric: fortnight })
    expect(await places()).toEqual([
      ['2025-12-22 00:00:00', '20251222'],
      ['2025-12-28 00:00:00', '20251222'],
      ['2026-01-05 00:00:00', '20260105'],
      ['2099-01-01 00:00:00', 'default'],
    ])
    expect((await partitions('session_metric'))[0]).toBe('session_metric_20251222')
    expect(await partitions('quality_realtime')).toHaveLength(3)
    await housekeeping({ session_metric: fortnight })
    expect((await partitions('session_metric'))[0]).toBe('session_metric_20251222')
  })

  it('leaves a table that is kept forever as it is', async () => {
    await put('1970-01-01')
    await housekeeping({ session_metric: 'forever', quality_realtime: day })
    expect(await places()).toHaveLength(1)
  })

  it('waits for nobody who is reading', async () => {
    await housekeeping()
    await put('2025-12-02')
    const reader = await session(db.url)
    await reader.query('begin; select * from analytics.session_metric')
    await housekeeping({ session_metric: fortnight })
    expect(await places()).toHaveLength(1)
    await reader.query('commit')
    await housekeeping({ session_metric: fortnight })
    expect(await places()).toEqual([])
  })
})

describe('the daemon, which makes and drops partitions as their owner', () => {
  const refused = (text: string) => expect(db.pool.query(text)).rejects.toMatchObject({ code: '22023' })

  it('can do so with the known tables only, and never drop what is to come', async () => {
    await refused(`select ingest.make_partition('call', now())`)
    await refused(`select ingest.make_partition('session_metric; drop table analytics.call', now())`)
    await refused(`select ingest.make_partition('session_metric', 'infinity')`)
    await refused(`select ingest.drop_partitions('call', '2020-01-01')`)
    await refused(`select ingest.drop_partitions('session_metric', ingest.clock() + interval '1 second')`)
    await refused(`select ingest.drop_partitions('session_metric', null)`)
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
    await client.query(`select ingest.drop_partitions('session_metric', '2025-12-10')`)
    expect((await partitions('session_metric'))[0]).toBe('session_metric_20251208')
    await expect(client.query('drop table analytics.session_metric_20251208')).rejects.toMatchObject({
      code: '42501',
    })
  })

  it('may write to a new partition at once, and read it', async () => {
    await housekeeping()
    await db.pool.query(
      `insert into analytics.session_metric_20260105 values ('a', 'c', 's', '0', 1, $1, 1)`,
      [start],
    )
    const { rows } = await db.pool.query('select value from analytics.session_metric_20260105')
    expect(rows).toEqual([{ value: 1 }])
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
      stranger.query(`select ingest.drop_partitions('session_metric', '2020-01-01')`),
    ).rejects.toMatchObject({
      code: '42501',
    })
  })

  it('hears of an outage as of any other', async () => {
    const gone = createStore({ query: () => Promise.reject(new Error('down')) } as never, {
      ...{ roomMemory: 1, roomStreams: [], feedGroup: 'feed', sequenceScope: 'room', region: () => 'ap' },
    })
    await expect(gone.housekeeping(0)).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

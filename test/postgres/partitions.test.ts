import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { createStore } from '../../src/postgres/store.ts'
import { app, openStore, session, start, type TestStore } from './harness.ts'

const day = 86_400_000
const fortnight = 14 * day
let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  for (const name of await partitions('session_metric')) await db.rows(`drop table analytics.${name}`)
  for (const name of await partitions('quality_realtime')) await db.rows(`drop table analytics.${name}`)
  await db.rows('truncate analytics.session_metric, analytics.quality_realtime')
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

/** Housekeeping with the rights of the daemon. */
function housekeeping(retention: object = {}): Promise<void> {
  const settings = { roomMemory: 1, roomStreams: [], feedGroup: 'feed', sequenceScope: 'room' } as const
  return createStore(db.pool, { ...settings, region: () => 'ap', retention }).housekeeping()
}

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

describe('retention', () => {
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
    await expect(gone.housekeeping()).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

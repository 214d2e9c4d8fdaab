import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { at, call, commitNext, iso, itemPage, openItems, samples, work } from './analytics.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

/** Calls that take longer to be summed up than a commit may last. */

let db: TestStore
let other: pg.Client
beforeAll(async () => {
  db = await openStore()
  other = new pg.Client({ connectionString: db.url })
  await other.connect()
})
afterAll(async () => {
  await other.end()
  await db.close()
})

beforeEach(async () => {
  await db.rows(
    `truncate ingest.work_item, ingest.gap, ingest.progress, ingest.summary_due, ingest.forgotten, analytics.call,
              analytics.call_session, analytics.session_series, analytics.session_digest, analytics.session_summary,
              analytics.call_summary, analytics.call_minute`,
  )
  await db.store.beginWindows(me, app, 'calls', [''], at(0))
})

const roundTrip = 20_022
const hour = 3_600

/** A call with a stay of so many hours for each of some people, whose metrics are to be fetched in two items. */
async function begin(hours: number, people = ['u1', 'u2']): Promise<void> {
  const rows = { 'analytics.call': [call('c', { destroyed_at: iso(hours * hour) })] }
  const items = people.map(part => work('c', { stream: 'call-metrics', part, to: hours * hour }))
  await commitNext(db, 'calls', '', { rows: rowSet(rows), work: items })
  for (const uid of people)
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid, joined_at, left_at) values ($1, 'c', 's' || $2, $2, $3, $4)`,
      [app, uid, iso(0), iso(hours * hour)],
    )
}

/** The first item that is open brings values of its person. */
async function read(...values: readonly number[]): Promise<void> {
  const [item] = await openItems(db, 'call-metrics')
  const series = samples('c', `s${item!.part}`, roundTrip, [...values.entries()])
  await db.store.commitItem(itemPage(item!, { rows: rowSet({ 'analytics.session_series': [series] }) }))
}

const summary = () => db.value('select rtt_samples::int from analytics.call_summary')
const due = () => db.rows('select app_id, call_id, times from ingest.summary_due')

it('a call of fifty hours in all is summed up with its last item', async () => {
  await begin(25)
  await read(1, 2)
  await read(3)
  expect(await summary()).toBe(3)
  expect(await due()).toEqual([])
})

describe('a call of more than fifty hours', () => {
  beforeEach(() => begin(26))

  it('is stored whole and summed up by the housekeeping', async () => {
    await read(1, 2)
    await read(3)
    expect(await summary()).toBeNull()
    await db.keepHouse()
    expect(await summary()).toBe(3)
    expect(await due()).toEqual([])
  })

  it('waits for the last of its items', async () => {
    await read(1)
    await db.keepHouse()
    expect(await summary()).toBeNull()
    await read(2)
    await db.keepHouse()
    expect(await summary()).toBe(2)
  })

  it('is summed up again when more of it comes', async () => {
    await read(1)
    await read(2)
    await db.keepHouse()
    await db.rows(`update ingest.work_item set state = 'pending', failures = 1`)
    await read(3, 4, 5)
    expect(await summary()).toBe(2)
    await db.keepHouse()
    expect(await summary()).toBe(4)
  })

  it('is summed up while the providers confirm no time', async () => {
    await read(1)
    await read(2)
    expect(await db.store.housekeeping(undefined)).toBe('in doubt')
    expect(await summary()).toBe(2)
  })

  it('is left to whoever sums it up already', async () => {
    await read(1)
    await read(2)
    await other.query('begin')
    onTestFinished(async () => void (await other.query('rollback')))
    await other.query(
      `select pg_advisory_xact_lock(hashtextextended('penstock summary of ' || $1 || ' c', 0))`,
      [app],
    )
    await db.keepHouse()
    expect(await due()).toHaveLength(1)
  })
})

/** In place of what sums up; the one that was there is put back. */
async function summingUp(body: string): Promise<void> {
  const before = await db.value(`select pg_get_functiondef('analytics.summarize'::regproc)`)
  onTestFinished(async () => void (await db.rows(String(before))))
  await db.rows(`create or replace function analytics.summarize(p_app text, p_calls text[]) returns void language plpgsql as $$
    begin ${body} end $$`)
}

const isSummingUp = `datname = current_database() and query like 'select analytics.summarize(%'
  and pid <> pg_backend_pid() and state = 'active'`

describe('summing up a large call', () => {
  beforeEach(async () => {
    await begin(26)
    await read(1)
    await read(2)
  })

  it('may take as long as it takes, and nothing else may', async () => {
    await summingUp(
      `update analytics.call_summary set rtt_samples = extract(epoch from current_setting('statement_timeout')::interval);`,
    )
    const before = await db.store.housekeeping(undefined).then(() => summary())
    expect(before).toBe(hour)
    const limits = await db.pool.query<{ limit: string }>(
      `select current_setting('statement_timeout') as limit from generate_series(1, 8)`,
    )
    expect(new Set(limits.rows.map(({ limit }) => limit))).toEqual(
      new Set([`${db.connection.statementTimeout / 1_000}s`]),
    )
  })

  it('stores nothing where someone was forgotten meanwhile, and is done by the next run', async () => {
    await summingUp(`
      update analytics.call_summary set rtt_samples = 1;
      insert into ingest.forgotten (app_id, kind, mark, forgotten_at, forgotten_by)
      values (p_app, 'user', sha256('u1'), ingest.clock(), 'me') on conflict do nothing;`)
    await db.keepHouse()
    expect(await summary()).toBeNull()
    expect(await due()).toHaveLength(1)
    await summingUp('update analytics.call_summary set rtt_samples = 7;')
    await db.keepHouse()
    expect(await summary()).toBe(7)
  })

  it('names nobody who was masked while it was reckoned', async () => {
    await summingUp(`
      update analytics.call_summary set persons = '{u1,u2}';
      update analytics.call_session set uid = 'forgotten-0123456789abcdef' where uid = 'u1';`)
    await db.keepHouse()
    expect(await db.value('select persons from analytics.call_summary')).toEqual([
      'forgotten-0123456789abcdef',
      'u2',
    ])
  })

  it('is given up at once when the daemon ends, and done by the next run', async () => {
    await summingUp(`
      perform set_config('lock_timeout', '0', true);
      perform from analytics.call_summary for update;`)
    await other.query('begin')
    await other.query('select from analytics.call_summary for update')
    const stopping = new AbortController()
    const kept = db.store.housekeeping(undefined, stopping.signal)
    await expect
      .poll(() =>
        db.rows(`select pid from pg_stat_activity where ${isSummingUp} and wait_event_type = 'Lock'`),
      )
      .toHaveLength(1)
    stopping.abort()
    await kept
    await expect.poll(() => db.rows(`select pid from pg_stat_activity where ${isSummingUp}`)).toEqual([])
    await other.query('rollback')
    await summingUp('update analytics.call_summary set rtt_samples = 7;')
    await db.keepHouse()
    expect(await summary()).toBe(7)
  })

  it('does not hold up the others where one fails', async () => {
    await summingUp(`perform 1 / (case when p_calls = '{c}' then 0 else 1 end);
      update analytics.call_summary set rtt_samples = 9 where call_id = any (p_calls);`)
    await db.rows(`insert into ingest.summary_due values ($1, 'd', 1, ingest.clock() + interval '1 hour')`, [
      app,
    ])
    await expect(db.keepHouse()).rejects.toThrow()
    expect((await due()).map(({ call_id }) => call_id)).toEqual(['c'])
  })
})

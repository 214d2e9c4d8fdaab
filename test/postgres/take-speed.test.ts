import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { perDay, perSecond } from '../../src/provider/limits.ts'
import { defaultConnection } from '../support/connection.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { debit } from './debits.ts'
import { app } from './harness.ts'

let database: TestDatabase
let pool: pg.Pool
let admin: pg.Pool
beforeAll(async () => {
  database = await cloneDatabase()
  admin = new pg.Pool({ connectionString: database.url, max: 1 })
  await admin.query(`
    create table ingest.yardstick (id int primary key, n int not null);
    insert into ingest.yardstick values (1, 0);
    grant select, update on ingest.yardstick to penstock_runtime;
    insert into ingest.ownership values (0, 'me', 1);
    insert into ingest.history select ingest.history_mark(), now(), now();
    insert into ingest.budget (scope, limit_group, last_n, last_sent_at, clock_at, history)
      select '${app}', g, 10000, now(), now(), ingest.history_mark() from unnest(array['busy', 'full']) g;
    insert into ingest.debit (scope, limit_group, n, app_id, operation, purpose, epoch, sent_at, dead_at, settled_at)
      select '${app}', g, n, '${app}', 'callSearch', 'live', 1, at, at + interval '40 s', at + interval '100 ms'
      from unnest(array['busy', 'full']) g, generate_series(1, 10000) n,
           lateral (select now() - interval '1 day' + n * interval '8.6 s' as at) s`)
  await admin.query('vacuum analyze ingest.debit')
  pool = connect({ ...defaultConnection, url: database.url, poolSize: 1 })
})
afterAll(async () => {
  await pool.end()
  await admin.end()
  await database.drop()
})

async function timeOf(job: () => Promise<unknown>): Promise<number> {
  const begun = systemClock.monotonic()
  await job()
  return systemClock.monotonic() - begun
}

const quantile = (times: readonly number[], share: number) =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * share)]!

it('a debit after ten thousand of the same day costs about what a committed update of one row costs', async () => {
  const ledger = createLedger(pool)
  const update = { name: 'yardstick', text: 'update ingest.yardstick set n = n + 1 where id = 1' }
  const times: Record<'update' | 'take' | 'wait' | 'budget', number[]> = {
    update: [],
    take: [],
    wait: [],
    budget: [],
  }
  const rates = (day: number) => ({ rates: [perSecond(10), perDay(day)] })
  for (let round = 0; round < 600; round++) {
    times.update.push(await timeOf(() => pool.query(update)))
    let taken: Awaited<ReturnType<typeof ledger.take>> | undefined
    times.take.push(
      await timeOf(async () => {
        taken = await ledger.take(debit('busy', 1, 1, rates(20_000)))
      }),
    )
    expect(taken).toMatchObject({ granted: true })
    times.wait.push(await timeOf(() => ledger.take(debit('full', 1, 1, rates(10_000)))))
    times.budget.push(await timeOf(() => ledger.budget(app, 'busy', 86_400, 600_000)))
    await admin.query(
      `update ingest.debit set settled_at = sent_at - interval '2 s' where limit_group = 'busy' and n > 10000 and settled_at is null`,
    )
  }
  const figures = Object.fromEntries(
    Object.entries(times).map(([name, all]) => [name, [quantile(all, 0.5), quantile(all, 0.99)]]),
  ) as Record<keyof typeof times, [number, number]>
  // FIGURES=1 prints the median and the 99th percentile of each, ms.
  if (process.env.FIGURES) process.stderr.write(`${JSON.stringify(figures)}\n`)
  const [median] = figures.update
  expect(figures.take[0] / median).toBeLessThan(5)
  expect(figures.wait[0] / median).toBeLessThan(5)
  expect(figures.budget[0] / median).toBeLessThan(5)
  expect(await ledger.budget(app, 'busy', 86_400, 3_600_000)).toMatchObject({ total: 10_600 })
})

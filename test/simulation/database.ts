import pg from 'pg'
import type { TestDatabase } from '../support/databases.ts'

/** A real database whose clock is the simulation's. */
export interface VirtualDatabase {
  /** Address under which the sessions of one process can be told from all others. */
  readonly urlFor: (process: string) => string
  /** ms since the epoch: what `ingest.clock()` says from now on. */
  readonly setTime: (ms: number) => Promise<void>
  /** Ends the sessions of a process and waits until their locks are gone. */
  readonly terminate: (process: string) => Promise<void>
  readonly rows: <Row extends pg.QueryResultRow>(text: string) => Promise<readonly Row[]>
  readonly drop: () => Promise<void>
}

/** A sequence stands outside of all transactions, so every snapshot sees the same time. */
export const replaceClock = `
  create sequence ingest.virtual_time;
  grant select on ingest.virtual_time to penstock_runtime;
  create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe
    as $$ select timestamptz 'epoch' + last_value * interval '1 millisecond' from ingest.virtual_time $$;`

/** Whoever waits for a lock waits in no time of the simulation, so that it must not tell how fast the machine is. */
export const waitForLocks = `
  do $$
  declare f regprocedure;
  begin
    for f in select oid from pg_proc where array_to_string(proconfig, ' ') like '%lock_timeout=%' loop
      execute format('alter function %s set lock_timeout = 0', f);
    end loop;
  end $$;`

const longestTermination = 10_000

export async function openVirtualDatabase(database: TestDatabase): Promise<VirtualDatabase> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(replaceClock)
  await client.query(waitForLocks)
  let time = 0
  return {
    urlFor: process => {
      const url = new URL(database.url)
      url.searchParams.set('application_name', process)
      return url.href
    },
    setTime: async ms => {
      if (ms === time) return
      time = ms
      await client.query({ name: 'set_time', text: `select setval('ingest.virtual_time', $1)`, values: [ms] })
    },
    terminate: async process => {
      await client.query(
        `select pg_terminate_backend(pid, $2) from pg_stat_activity
         where application_name = $1 and datname = current_database()`,
        [process, longestTermination],
      )
    },
    rows: async <Row extends pg.QueryResultRow>(text: string) => (await client.query<Row>(text)).rows,
    drop: async () => {
      await client.end()
      await database.drop()
    },
  }
}

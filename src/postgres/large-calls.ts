import type pg from 'pg'
import { inTransaction, query } from './connect.ts'
import { isForgottenMeanwhile } from './masks.ts'
import { inTurn } from './partitions.ts'

/** A call of ten thousand hours takes a quarter of an hour. */
const LONGEST_MS = 3_600_000

/** The database finds out by itself that we are gone, which it would not while it reckons; one on Windows cannot. */
const noticeLeaving = `
  do $$ begin set local client_connection_check_interval = '2s'; exception when invalid_parameter_value then null; end $$`

/** Calls of one run; what is left is done by the next. */
const MOST_CALLS = 20

interface Due {
  readonly app: string
  readonly call: string
  readonly times: number
}

/** A call that went on meanwhile, or of which something is still to be tried, is noted again with that. */
const due = `
  select d.app_id as app, d.call_id as call, d.times from ingest.summary_due d
  where analytics.is_tried(d.app_id, d.call_id) order by d.noted_at, d.app_id, d.call_id limit $1`

/** Two processes never sum up the same call. */
const lock = `
  select pg_try_advisory_xact_lock(hashtextextended('penstock summary of ' || $1 || ' ' || $2, 0)) as taken,
         (select count(*) from ingest.forgotten f where f.app_id = $1) as forgotten`

/** Whoever was masked since it was begun is read once more: a summary takes longer than people take to be forgotten. */
const persons = `
  update analytics.call_summary t set persons = coalesce((
    select array_agg(distinct coalesce(s.uid, s.sid)) from analytics.call_session s
    where s.app_id = t.app_id and s.call_id = t.call_id), '{}')
  where t.app_id = $1 and t.call_id = $2`

const done = 'delete from ingest.summary_due where app_id = $1 and call_id = $2 and times = $3'

/**
 * Sums up the calls that are too large to be summed up within a commit, the one that waited longest first, each in a
 * transaction that may take as long as it takes. What is stored of one meanwhile has it summed up again by the next run;
 * so has one that is under way when `signal` aborts. Throws StoreUnavailable.
 */
export async function sumUpLargeCalls(pool: pg.Pool, signal?: AbortSignal): Promise<void> {
  const calls = await query<Due>(pool, { text: due, values: [MOST_CALLS] })
  await inTurn(
    calls.map(call => () => sumUp(pool, call, signal)),
    signal,
  )
}

async function sumUp(pool: pg.Pool, call: Due, signal?: AbortSignal): Promise<void> {
  try {
    await inTransaction(pool, { name: 'sum_up_large_call' }, client => sumUpWith(client, call, signal))
  } catch (error) {
    if (!signal?.aborted && !isForgottenMeanwhile(error)) throw error
  }
}

async function sumUpWith(
  client: pg.PoolClient,
  { app, call, times }: Due,
  signal?: AbortSignal,
): Promise<void> {
  const leave = () => void client.end().catch(() => {})
  signal?.addEventListener('abort', leave, { once: true })
  // It may have been told so while it waited for the session.
  if (signal?.aborted) leave()
  try {
    await client.query(`set local statement_timeout = ${LONGEST_MS}`)
    await client.query(noticeLeaving)
    const { rows } = await client.query<{ taken: boolean; forgotten: string }>(lock, [app, call])
    if (!rows[0]!.taken) return
    await client.query(longer('select analytics.summarize($1, array[$2])', [app, call]))
    // Who was forgotten while the stays were read must not be named by the summary.
    await client.query('select ingest.hold_forgotten($1, $2)', [app, rows[0]!.forgotten])
    await client.query(persons, [app, call])
    await client.query(done, [app, call, times])
  } finally {
    signal?.removeEventListener('abort', leave)
  }
}

/** The driver has a limit of its own, which it lets a statement set. */
function longer(text: string, values: unknown[]): pg.QueryConfig {
  return Object.assign({ text, values }, { query_timeout: LONGEST_MS + 5_000 })
}

import type pg from 'pg'
import { tables } from '../tables/index.ts'
import { shortName } from '../tables/table.ts'
import { query, queryThen } from './connect.ts'

/** Tables of schema analytics that are partitioned by time. */
export const partitionedTables = tables.filter(({ partitioned }) => partitioned).map(shortName)

/** How long rows of a table are kept, ms; one that is not named is kept forever. */
export type Retention = Readonly<Record<string, number | 'forever' | undefined>>

/** A moment as Postgres takes it; null is the database's clock. */
export type Moment = Date | null

/** Partitions are made for as long before and after now; what lies outside goes to the default partition. */
const AROUND = '35 days'

/** Rows of the default partition that are older than this, of a table that is kept forever, stay there. */
const OLDEST = '2 years'

/** At most so many steps a week or month and run: each holds up those who write to it for as long as some 20,000 rows take. */
const MOST_STEPS = 250

/** Rows of the default partition that are removed in one statement, and in how many at most. */
const BATCH = 50_000
const MOST_BATCHES = 20

const make = 'select ingest.make_partition($1, $2) as made'

const now = 'coalesce($2::timestamptz, ingest.clock())'

const due = `select d.at::text as at from ingest.partitions_due($1,
  greatest(${now} - '${AROUND}'::interval, ${now} - $3::interval), ${now} + '${AROUND}'::interval, ${now} - $3::interval) d(at)`

/**
 * Makes the partitions that are or will soon be needed, as far as one step each goes. One whose table is in use is left
 * for the next time, and the failure of one table is told when all others are made. Throws StoreUnavailable.
 */
export function makePartitions(pool: pg.Pool, retention: Retention): Promise<void> {
  return inTurn(partitionedTables.map(table => () => makeOf(pool, table, retention, { at: null, steps: 1 })))
}

/** The same, and moves all that lies in default partitions into partitions of their own: a task for each table. */
export function fillPartitions(pool: pg.Pool, retention: Retention, at: Moment): readonly Task[] {
  return partitionedTables.map(
    table => signal => makeOf(pool, table, retention, { at, steps: MOST_STEPS }, signal),
  )
}

/** Drops what is older than its table keeps: a task for each. */
export function dropPartitions(pool: pg.Pool, retention: Retention, at: Date): readonly Task[] {
  return partitionedTables.map(table => async signal => {
    const kept = retention[table] ?? 'forever'
    if (kept === 'forever') return
    const before = new Date(at.getTime() - kept)
    await query(pool, { text: 'select ingest.drop_partitions($1, $2)', values: [table, before] })
    await inBatches(pool, { text: emptying(table), values: [before, BATCH] }, [BATCH, MOST_BATCHES], signal)
  })
}

/** Leaves to the next run what is not begun when `signal` aborts. */
export type Task = (signal?: AbortSignal) => Promise<void>

/** Does every task until `signal` aborts, whatever becomes of the others; then throws what failed first. */
export async function inTurn(tasks: readonly Task[], signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = []
  for (const task of tasks) if (!signal?.aborted) await task(signal).catch(error => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/** Does so many steps at most, while each says that there is more to do and until `signal` aborts. */
async function inSteps(
  most: number,
  signal: AbortSignal | undefined,
  step: () => Promise<boolean>,
): Promise<void> {
  for (let n = 0; n < most && !signal?.aborted; n++) if (!(await step())) return
}

/**
 * Runs a statement that takes at most `batch` rows and answers of how many it did as `gone`, so many times at most while that
 * is as many as it may; `after` runs in its transaction, after what its triggers have done.
 */
export async function inBatches(
  pool: pg.Pool,
  statement: { readonly text: string; readonly values: unknown[] },
  [batch, most]: readonly [batch: number, most: number],
  signal?: AbortSignal,
  after?: string,
): Promise<void> {
  type Row = { readonly gone: number }
  await inSteps(most, signal, async () => {
    const [row] =
      after === undefined ? await query<Row>(pool, statement) : await queryThen<Row>(pool, statement, after)
    return row!.gone >= batch
  })
}

async function makeOf(
  pool: pg.Pool,
  table: string,
  retention: Retention,
  { at, steps }: { readonly at: Moment; readonly steps: number },
  signal?: AbortSignal,
): Promise<void> {
  const kept = retention[table] ?? 'forever'
  const values = [table, at, kept === 'forever' ? OLDEST : `${kept} milliseconds`]
  for (const { at: begin } of await query<{ at: string }>(pool, { text: due, values })) {
    await inSteps(steps, signal, async () => {
      const [answer] = await query<{ made: string }>(pool, { text: make, values: [table, begin] })
      return answer!.made === 'part'
    })
  }
}

/** Rows go, not the partition: it is where the next row without another one goes. */
function emptying(table: string): string {
  return `with old as (select d.ctid from analytics.${table}_default d where d.at < $1 order by d.at limit $2),
    gone as (delete from analytics.${table}_default d using old where d.ctid = old.ctid returning 1)
    select count(*)::int as gone from gone`
}

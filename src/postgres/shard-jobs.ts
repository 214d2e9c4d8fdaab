import type pg from 'pg'
import { PgBoss } from 'pg-boss'
import { timerless } from '../clock/system.ts'

/** A shard and the epoch under which whoever takes it from the queue may own it: no two takers have the same. */
export interface Turn {
  readonly shard: number
  readonly epoch: number
}

/** The queue by which processes share the shards. Each method throws what the database throws. */
export interface ShardJobs {
  /** Makes what is missing of the jobs; none goes on under an epoch that was already used. */
  readonly prepare: () => Promise<void>
  /** Says that the holder lives; answers which of these are its own still. */
  readonly renew: (turns: readonly Turn[]) => Promise<readonly Turn[]>
  /** Frees what is held by those who were silent for too long. */
  readonly expire: () => Promise<void>
  /** Takes so many at most of some shards. */
  readonly take: (shards: readonly number[], most: number) => Promise<readonly Turn[]>
  /** Frees shards, as far as they are held in these turns still. */
  readonly free: (turns: readonly Turn[]) => Promise<void>
}

/** How long whoever holds a shard may be silent, ms: as short as pg-boss allows. */
export const HEARTBEAT_MS = 10_000

const QUEUE = 'shards'

/** Name of the role, that of the login unless told, where it lacks a right on the queue; undefined where it has all. */
export async function whoMayNotShare(pool: pg.Pool, role: string): Promise<string | undefined> {
  const text = `
    select r.name
    from (select coalesce(nullif($1, ''), current_user::text) as name) r
    where not has_schema_privilege(r.name, 'ingest_jobs', 'usage')
       or exists (select from pg_class c, unnest(array['select', 'insert', 'update', 'delete']) as wanted
                  where c.relnamespace = (select oid from pg_namespace where nspname = 'ingest_jobs') and c.relname = 'job_common'
                    and not has_table_privilege(r.name, c.oid, wanted))`
  const { rows } = await pool.query<{ name: string }>(text, [role])
  return rows[0]?.name
}

/** Runs one statement; without values it may be several. */
export type Ask = (text: string, values?: unknown[]) => Promise<{ readonly rows: unknown[] }>

/** A job that was lost with its table begins again where its shard has got to. */
const catchUp = `
  update ingest_jobs.job_common j set retry_count = o.epoch
  from ingest.ownership o
  where j.name = '${QUEUE}' and j.singleton_key = o.shard::text and j.state < 'active' and j.retry_count + 1 <= o.epoch
    and j.started_on is null`

/**
 * The queue in pg-boss. Nothing in it runs by itself: no timer, no worker and no connection of its own. Whoever owns
 * shards comes by every second, and what is to be done is done then.
 */
export function createShardJobs(ask: Ask, shards: number): ShardJobs {
  const names = [...Array(shards).keys()]
  let started: Promise<PgBoss> | undefined

  function boss(): Promise<PgBoss> {
    const starting = started ?? start(ask)
    started = starting
    starting.catch(() => {
      if (started === starting) started = undefined
    })
    return starting
  }

  async function touched(turns: readonly Turn[]): Promise<number> {
    const answer = await (await boss()).touch(QUEUE, turns.map(jobOf))
    // Documented, and left out of the types.
    return (answer as { readonly affected: number }).affected
  }

  return {
    prepare: async () => {
      const jobs = names.map(shard => {
        return { id: idOf(shard), singletonKey: String(shard), group: { id: String(shard) } }
      })
      // One that began while the database was away knows of no queue.
      started = undefined
      await (await boss()).insert(QUEUE, jobs)
      await ask(catchUp)
    },
    renew: async turns => {
      if (turns.length === 0) return []
      if ((await touched(turns)) === turns.length) return turns
      // It says how many, not which.
      const kept: Turn[] = []
      for (const turn of turns) if ((await touched([turn])) > 0) kept.push(turn)
      return kept
    },
    expire: async () => (await boss()).supervise(QUEUE),
    take: async (wanted, most) => {
      const ignoreGroups = names.filter(shard => !wanted.includes(shard)).map(String)
      const jobs = await (await boss()).fetch(QUEUE, { batchSize: most, ignoreGroups })
      return jobs.map(({ id, retryCount }) => ({ shard: shardIn(id), epoch: retryCount + 1 }))
    },
    free: async turns => {
      if (turns.length > 0) await (await boss()).fail(QUEUE, turns.map(jobOf))
    },
  }
}

function start(ask: Ask): Promise<PgBoss> {
  const boss = new PgBoss({
    db: { executeSql: ask as (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }> },
    clock: timerless,
    schema: 'ingest_jobs',
    ...{ migrate: false, createSchema: false, supervise: false, schedule: false },
    ...{ monitorVacuum: false, reindex: false, monitorIntervalSeconds: 1 },
  })
  boss.on('error', () => {})
  return boss.start()
}

/** The ID of a shard's job tells the shard. */
function idOf(shard: number): string {
  return `00000000-0000-4000-8000-${String(shard).padStart(12, '0')}`
}

function shardIn(id: string): number {
  return Number(id.slice(-12))
}

/** Each time that a job is taken counts as a try. */
function jobOf({ shard, epoch }: Turn): { readonly id: string; readonly retryCount: number } {
  return { id: idOf(shard), retryCount: epoch - 1 }
}

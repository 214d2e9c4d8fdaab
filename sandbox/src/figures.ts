import type pg from 'pg'
import type { DemoWorld } from './demo-world.ts'

/** What is told while the demo runs. */
export interface Figures {
  readonly rows: number
  readonly roomsOpen: number
  readonly roomsEnded: number
  readonly gaps: number
  readonly deadLetters: number
}

const ledger = `
  select (select count(*)::int from classroom.room where state is null or state < 2) as "roomsOpen",
         (select count(*)::int from classroom.room where state >= 2) as "roomsEnded",
         (select count(*)::int from ingest.gap where state in ('open', 'lost')) as gaps`

/** Reads the daemon's own endpoint, as Prometheus would, and from the database what the endpoint has only now and then. */
export async function readFigures(daemonUrl: string, pool: pg.Pool): Promise<Figures> {
  const metrics = await (await fetch(`${daemonUrl}/metrics`)).text()
  const { rows } = await pool.query<Omit<Figures, 'rows' | 'deadLetters'>>(ledger)
  return {
    ...rows[0]!,
    rows: sumOf(metrics, 'penstock_rows_total'),
    deadLetters: sumOf(metrics, 'penstock_dead_letters_total'),
  }
}

/** Adds up all samples of one metric. */
function sumOf(metrics: string, name: string): number {
  return metrics
    .split('\n')
    .filter(line => line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

const lag = `
  select percentile_cont(0.95) within group (
           order by extract(epoch from received_at) - ($1 + (extract(epoch from event_time) - $1) / $2))::float8 as lag
  from classroom.room_event
  where at_source = 'event' and at >= to_timestamp($3) and event_time >= to_timestamp($3)`

/**
 * Seconds from an event to its arrival in the daemon, 95 % being faster, of events that happened since `since`
 * (ms of the world) and say when. Undefined without any.
 */
export async function readLag(
  pool: pg.Pool,
  { origin, speed }: Pick<DemoWorld, 'origin' | 'speed'>,
  since: number,
): Promise<number | undefined> {
  const { rows } = await pool.query<{ lag: number | null }>(lag, [origin / 1_000, speed, since / 1_000])
  const seconds = rows[0]?.lag ?? undefined
  return seconds === undefined ? undefined : Math.max(0, Math.round(seconds * 100) / 100)
}

/** Without the names of metrics, which nobody drains. */
const tablesOfPeople = `
  select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('classroom', 'analytics', 'players') and c.relkind in ('r', 'p') and not c.relispartition
    and c.oid <> to_regclass('analytics.metric') order by 1`

const ledgerCounts = `
  select (select coalesce(sum(occurrences), 0)::int from ingest.dead_letter) as dead_letters,
         (select count(*)::int from ingest.gap where state in ('open', 'lost')) as gaps`

/** What a demo comes to; printed as it is by --json. */
export interface Summary {
  /** Of each table. */
  readonly rows: Readonly<Record<string, number>>
  readonly requests: number
  readonly violations: number
  readonly lost: number
  readonly duplicates: number
  readonly dead_letters: number
  readonly gaps: number
  /** From an event to its arrival, 95 % being faster; null when none happened. */
  readonly lag_seconds: number | null
}

/** Counts what lies in the database. */
export async function readTotals(pool: pg.Pool): Promise<Pick<Summary, 'rows' | 'dead_letters' | 'gaps'>> {
  const tables = await pool.query<{ name: string }>(tablesOfPeople)
  const rows: Record<string, number> = {}
  for (const { name } of tables.rows) {
    const counted = await pool.query<{ rows: number }>(`select count(*)::int as rows from ${name}`)
    rows[name] = counted.rows[0]!.rows
  }
  const rest = await pool.query<Pick<Summary, 'dead_letters' | 'gaps'>>(ledgerCounts)
  return { rows, ...rest.rows[0]! }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { systemClock } from '../src/clock/system.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { copyAgain } from './copy.ts'
import { type Child, cpuSeconds, peakMemory, startChild } from './process.ts'

export interface DrainOptions {
  readonly events: number
  readonly rooms: number
  readonly say: (line: string) => void
}

export interface DrainFigures {
  readonly events: number
  readonly rooms: number
  /** Rows of all tables that were filled. */
  readonly rows: number
  readonly drain_seconds: number
  readonly copy_seconds: number
  readonly drain_rows_per_second: number
  readonly copy_rows_per_second: number
  /** drain_rows_per_second / copy_rows_per_second. */
  readonly ratio: number
  readonly daemon_cpu_seconds_per_million_events: number
  readonly daemon_peak_mebibytes: number
}

const mebibyte = 1_048_576

/**
 * Drains a backlog over HTTP with the daemon as a process of its own, then copies the very same rows into the very
 * same tables and indexes. fsync is on for both.
 */
export async function drain({ events, rooms, say }: DrainOptions): Promise<DrainFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const database = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const children: Child[] = []
  try {
    await migrateUp({ url: database.url })
    const sandbox = await startChild(['bench/sandbox.ts', String(rooms), String(Math.ceil(events / rooms))])
    children.push(sandbox)
    const config = join(folder, 'penstock.yaml')
    await writeFile(config, configText(database.url, sandbox.firstLine), { mode: 0o600 })

    say(`draining ${events} events in ${rooms} rooms`)
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    const began = systemClock.monotonic()
    const daemon = await startChild(['src/main.ts', 'run', '--config', config])
    children.push(daemon)
    await untilStored(pool, daemon, events, say)
    const drainSeconds = (systemClock.monotonic() - began) / 1_000
    const cpu = await cpuSeconds(daemon.pid)
    const memory = await peakMemory(daemon.pid)
    await daemon.stop()

    say('copying the same rows')
    const { rows, seconds: copySeconds } = await copyAgain(pool)
    await pool.end()
    const drainRate = rows / drainSeconds
    const copyRate = rows / copySeconds
    return {
      ...{ events, rooms, rows },
      drain_seconds: round(drainSeconds),
      copy_seconds: round(copySeconds),
      drain_rows_per_second: Math.round(drainRate),
      copy_rows_per_second: Math.round(copyRate),
      ratio: round(drainRate / copyRate),
      daemon_cpu_seconds_per_million_events: round((cpu / events) * 1_000_000),
      daemon_peak_mebibytes: Math.round(memory / mebibyte),
    }
  } finally {
    await Promise.all(children.map(child => child.stop()))
    await database.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Nothing limits the daemon but its own work: rates are far above what two cores can do. */
function configText(databaseUrl: string, providerUrl: string): string {
  return `database: { url: "${databaseUrl}" }
http: { listen: "127.0.0.1:0" }
log: { level: warn }
provider: { classroom: { url: "${providerUrl}" } }
limits: { classroom: { perSecond: 10000, concurrency: 16 } }
apps: [{ id: demo, region: ap, plan: premium, classroom: { uid: penstock, token: demo-token } }]
`
}

const patience = 900_000

async function untilStored(
  pool: pg.Pool,
  daemon: Child,
  events: number,
  say: (line: string) => void,
): Promise<void> {
  const end = systemClock.monotonic() + patience
  let said = systemClock.monotonic()
  for (;;) {
    const { rows } = await pool.query<{ stored: number }>(
      `select count(*)::int as stored from classroom.room_event where source = 'log'`,
    )
    const { stored } = rows[0]!
    if (stored >= events) return
    if (!daemon.alive()) throw new Error('the daemon ended before everything was drained')
    if (systemClock.monotonic() > end) throw new Error(`only ${stored} of ${events} events arrived in time`)
    if (systemClock.monotonic() - said > 5_000) {
      said = systemClock.monotonic()
      say(`${stored} of ${events} events stored`)
    }
    await systemClock.sleep(250)
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

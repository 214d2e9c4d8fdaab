import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { demoApp } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { type Child, cpuSeconds, peakMemory, startChild, treeCpuSeconds } from './process.ts'

interface IdleOptions {
  readonly say: (line: string) => void
  /** For how long what idles is watched. */
  readonly seconds: number
}

const address = 'http://127.0.0.1:9475'

/** A feed is as slow as it becomes after 2, 4, 8 and 16 seconds, and a first look at everything is over by then too. */
const SETTLED_AFTER_MS = 75_000

/** Many apps in which nothing happens. */
export function apps({ apps, ...options }: IdleOptions & { readonly apps: number }) {
  const names = Array.from({ length: apps }, (_, n) => `app${n}`)
  return watchIdle({ ...options, apps: names, rooms: 0 })
}

/** One app with many open rooms in which nothing happens, as the database knows them after some quiet hours. */
export function idle({ rooms, ...options }: IdleOptions & { readonly rooms: number }) {
  return watchIdle({ ...options, apps: [demoApp.id], rooms })
}

async function watchIdle({
  apps,
  rooms,
  seconds,
  say,
}: IdleOptions & { readonly apps: readonly string[]; readonly rooms: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const server = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const pool = new pg.Pool({ connectionString: server.url, max: 1 })
  const children: Child[] = []
  try {
    await migrateUp({ url: server.url })
    if (rooms > 0) await putRooms(pool, rooms)
    const provider = await startChild(['bench/canned.ts', '1', '1'])
    children.push(provider)
    const config = join(folder, 'penstock.yaml')
    await writeFile(config, configText(server.url, provider.firstLine, apps), { mode: 0o600 })
    const begun = systemClock.monotonic()
    const daemon = await startChild(['src/main.ts', 'run', '--config', config])
    children.push(daemon)
    await untilCommitted(pool, daemon)
    const firstCommit = since(begun)
    say(`first commit after ${firstCommit.toFixed(1)} s`)
    await systemClock.sleep(SETTLED_AFTER_MS)
    const usage = await usageOver(seconds * 1_000, { pool, server, daemon })
    return {
      ...{ apps: apps.length, rooms, first_commit_seconds: round(firstCommit) },
      ...usage,
      ...(await scrapes()),
      daemon_peak_mebibytes: round((await peakMemory(daemon.pid)) / 1_048_576),
    }
  } finally {
    await Promise.all(children.map(child => child.stop()))
    await pool.end()
    await server.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Shares of one core, and what a second costs. */
async function usageOver(
  ms: number,
  stage: { readonly pool: pg.Pool; readonly server: { readonly pid: number }; readonly daemon: Child },
) {
  const { pool, server, daemon } = stage
  const read = async () => {
    const { rows } = await pool.query<{ n: string }>(
      `select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()`,
    )
    const requests = [...(await metrics()).matchAll(/^penstock_requests_total\{.*\} (\d+)$/gm)]
    return {
      at: systemClock.monotonic(),
      daemon: await cpuSeconds(daemon.pid),
      server: await treeCpuSeconds(server.pid),
      transactions: Number(rows[0]!.n),
      requests: requests.reduce((sum, [, count]) => sum + Number(count), 0),
    }
  }
  const before = await read()
  await systemClock.sleep(ms)
  const after = await read()
  const perSecond = (figure: keyof typeof before) =>
    round(((after[figure] - before[figure]) * 1_000) / (after.at - before.at))
  return {
    daemon_cores: perSecond('daemon'),
    server_cores: perSecond('server'),
    transactions_per_second: perSecond('transactions'),
    requests_per_second: perSecond('requests'),
  }
}

async function metrics(): Promise<string> {
  return (await fetch(`${address}/metrics`)).text()
}

/** The middle one of five scrapes, and the slowest. */
async function scrapes() {
  const times: number[] = []
  let bytes = 0
  for (let n = 0; n < 5; n++) {
    const begun = systemClock.monotonic()
    bytes = (await metrics()).length
    times.push(Math.round(systemClock.monotonic() - begun))
  }
  times.sort((a, b) => a - b)
  return { scrape_ms: times[2]!, slowest_scrape_ms: times[4]!, scrape_bytes: bytes }
}

async function untilCommitted(pool: pg.Pool, daemon: Child): Promise<void> {
  for (;;) {
    const { rows } = await pool.query('select from ingest.progress where epoch is not null limit 1')
    if (rows.length > 0) return
    if (!daemon.alive()) throw new Error('the daemon ended before its first commit')
    await systemClock.sleep(50)
  }
}

/** Each was read to its end at some moment of the last hour, and nothing was new then for a long time. */
async function putRooms(pool: pg.Pool, rooms: number): Promise<void> {
  await pool.query(
    `insert into classroom.room (app_id, room_uuid, incarnation, region, state, state_sequence, valid_from, last_event_at, verified_at)
     select $1, 'room' || n, 1, 'ap', 1, 1, now() - interval '9 hours', now() - interval '8 hours', now()
     from generate_series(1, $2::int) n`,
    [demoApp.id, rooms],
  )
  await pool.query(
    `insert into ingest.progress (app_id, stream, series, version, stream_state, updated_at, caught_up_at)
     select $1, s, 'room' || n, 1, '{"incarnation": 1}', at, at
     from generate_series(1, $2::int) n, ingest.room_streams() s,
          lateral (select now() - n * interval '1 hour' / $2::int as at) seen`,
    [demoApp.id, rooms],
  )
  await pool.query('vacuum analyze')
}

function configText(databaseUrl: string, providerUrl: string, apps: readonly string[]): string {
  const { uid, token } = demoApp
  return JSON.stringify({
    database: { url: databaseUrl },
    http: { listen: address.slice('http://'.length) },
    log: { level: 'error' },
    provider: { classroom: { url: providerUrl } },
    apps: apps.map(id => ({ id, region: 'ap', plan: 'premium', classroom: { uid, token } })),
  })
}

function since(moment: number): number {
  return (systemClock.monotonic() - moment) / 1_000
}

function round(figure: number): number {
  return Number(figure.toPrecision(3))
}

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { demoApp } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'
import { type DrainOptions, drainOnce, onStage, type Stage } from './drain.ts'
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
export function apps({ apps, say, seconds }: IdleOptions & { readonly apps: number }) {
  const names = Array.from({ length: apps }, (_, n) => `app${n}`)
  return onStage({ events: 0, rooms: 0, say }, async stage => {
    const figures = await watch({ ...stage, url: stage.server.url }, names, seconds)
    return { apps, ...figures }
  })
}

/** One app with many open rooms in which nothing has happened for eight hours, and of which all was read. */
export function idle({ rooms, say, seconds }: IdleOptions & { readonly rooms: number }) {
  return onStage({ events: rooms, rooms, hoursAgo: 8, say }, async stage => {
    const { url, drainSeconds } = await drainOnce(stage, 1)
    say(`drained in ${Math.round(drainSeconds)} s`)
    await letHoursPass(url)
    return { rooms, ...(await watch({ ...stage, url }, [demoApp.id], seconds)) }
  })
}

const quiet = 'quiet'

/** How old what is known of an app in which nothing happens is: alone, and beside one that has a backlog to read. */
export function beside({
  events,
  rooms,
  seconds,
  say,
}: IdleOptions & Pick<DrainOptions, 'events' | 'rooms'>) {
  return onStage({ events, rooms, say }, async ({ folder, server, provider }) => {
    const config = join(folder, 'beside.yaml')
    const have = (apps: readonly string[]) =>
      writeFile(config, configText(server.url, provider.firstLine, apps, asked), { mode: 0o600 })
    await have([quiet])
    const pool = new pg.Pool({ connectionString: server.url, max: 1 })
    const daemon = await startChild(['bin/penstock.mjs', 'run', '--config', config])
    try {
      await untilCommitted(pool, daemon)
      await systemClock.sleep(SETTLED_AFTER_MS)
      const end = systemClock.monotonic() + seconds * 1_000
      const alone = await agesUntil(pool, () => systemClock.monotonic() > end)
      await have([quiet, demoApp.id])
      await provider.says('first 1')
      let isRead = false
      void provider.says('all 1').then(() => (isRead = true))
      const ages = await agesUntil(pool, () => isRead)
      const [before, after] = [p99(alone), p99(ages)]
      return {
        ...{ events, rooms, looks_alone: alone.length, looks_beside: ages.length },
        ...{ p99_alone_seconds: before, p99_beside_seconds: after, times: round(after / before) },
      }
    } finally {
      await daemon.stop()
      await pool.end()
    }
  })
}

/** The feed of the quiet app is asked at its usual pace, and nothing but its own work limits the daemon. */
const asked = {
  streams: { 'app-events': { idleEvery: '2s' } },
  limits: { classroom: { perSecond: 10_000, concurrency: 16 } },
}

async function agesUntil(pool: pg.Pool, isOver: () => boolean): Promise<readonly number[]> {
  const ages: number[] = []
  while (!isOver()) {
    const { rows } = await pool.query<{ age: number }>(
      `select extract(epoch from clock_timestamp() - caught_up_at)::float8 as age
       from ingest.progress where app_id = $1 and stream = 'app-events'`,
      [quiet],
    )
    ages.push(rows[0]!.age)
    await systemClock.sleep(50)
  }
  return ages
}

function p99(values: readonly number[]): number {
  return round(values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1]!)
}

/** Starts a daemon, and watches it once it has settled. */
async function watch(
  { folder, server, provider, url }: Stage & { readonly url: string },
  apps: readonly string[],
  seconds: number,
) {
  const config = join(folder, 'idle.yaml')
  await writeFile(config, configText(url, provider.firstLine, apps), { mode: 0o600 })
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const begun = systemClock.monotonic()
  const daemon = await startChild(['bin/penstock.mjs', 'run', '--config', config])
  try {
    await untilCommitted(pool, daemon)
    const firstCommit = since(begun)
    await systemClock.sleep(SETTLED_AFTER_MS)
    const usage = await usageOver(seconds * 1_000, { pool, server, daemon })
    return {
      first_commit_seconds: round(firstCommit),
      ...usage,
      ...(await scrapes()),
      daemon_peak_mebibytes: round((await peakMemory(daemon.pid)) / 1_048_576),
    }
  } finally {
    await daemon.stop()
    await pool.end()
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

/**
 * As if the daemon had gone on: each series of a room was read last at some moment of the last hour, its feed just now, and
 * nothing was new. A feed that nobody had asked for longer than the provider remembers would have all logs read again.
 */
async function letHoursPass(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `update ingest.progress set updated_at = at, caught_up_at = at, epoch = null
       from (select app_id as a, stream as t, series as s,
                    now() - case when series = '' then 0 else random() end * interval '1 hour' as at from ingest.progress) seen
       where (app_id, stream, series) = (a, t, s)`,
    )
    await client.query('update classroom.room set verified_at = now()')
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}

function configText(
  databaseUrl: string,
  providerUrl: string,
  apps: readonly string[],
  more: object = {},
): string {
  const { uid, token } = demoApp
  return JSON.stringify({
    database: { url: databaseUrl },
    http: { listen: address.slice('http://'.length) },
    log: { level: 'error' },
    provider: { classroom: { url: providerUrl } },
    ...more,
    apps: apps.map(id => ({ id, region: 'ap', plan: 'premium', classroom: { uid, token } })),
  })
}

function since(moment: number): number {
  return (systemClock.monotonic() - moment) / 1_000
}

function round(figure: number): number {
  return Number(figure.toPrecision(3))
}

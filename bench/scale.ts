import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { systemClock } from '../src/clock/system.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { parseDuration } from '../src/settings/values.ts'
import { type DaemonProcess, startDaemonProcess } from '../test/e2e/daemon.ts'
import { type Child, cpuSeconds, peakMemory, startChild, treeCpuSeconds } from './process.ts'

export interface ScaleOptions {
  readonly sizes: readonly number[]
  readonly processes: readonly number[]
  /** How long each is watched. */
  readonly seconds: number
  /** How often the feed of an app is asked at which nothing happens. */
  readonly idle: string
  /** Requests that each process makes before it is watched: what has run so often is compiled. */
  readonly warm: number
  readonly say: (line: string) => void
}

interface Stage {
  readonly folder: string
  readonly server: { readonly url: string; readonly pid: number }
  readonly provider: string
  readonly seconds: number
  readonly idle: string
  readonly warm: number
}

/** What some processes cost in a second. */
interface Watched {
  readonly daemonCpu: number
  readonly serverCpu: number
  readonly transactions: number
  readonly requests: number
}

/** The same processes with nothing to do and with apps. */
interface Compared {
  readonly firstCommitSeconds: number
  readonly allAskedSeconds: number
  readonly empty: Watched
  readonly full: Watched
  readonly scrapeMs: number
  readonly peak: number
}

const mebibyte = 1_048_576
const patience = 300_000

/** What comes after a change of the apps, garbage above all, is over by then, ms. */
const settling = 15_000

/** For so long statements are counted, s. */
const counting = 20

/** Apps that are asked every second until the processes are warm. */
const busyApps = 500

/**
 * Idle apps over several processes on the provider that copies bytes. Each process first makes the same number of requests,
 * then the very same processes are watched with nothing to do and with the apps: the difference is what the apps cost.
 */
export async function scale({ sizes, processes, seconds, idle, warm, say }: ScaleOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  // So that Postgres, and with it its log, lies in it.
  await chmod(folder, 0o755)
  const server = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  let provider: Child | undefined
  try {
    await migrateUp({ url: server.url })
    provider = await startChild(['bench/canned.ts', '0', '0', '0'])
    const stage = { folder, server, provider: provider.firstLine, seconds, idle, warm }
    const own = await countOwn(stage)
    say(`an empty process: ${own.queue} transactions/s of pg-boss, ${own.ownership} of ownership beside it`)
    const rows: object[] = []
    for (const count of processes) {
      for (const each of sizes) {
        const row = rowOf(each, count, await compare(stage, each, count))
        say(JSON.stringify(row))
        rows.push(row)
      }
    }
    return { seconds, idle, warm, transactions_of_an_empty_process: own, rows }
  } finally {
    await provider?.stop()
    await server.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

function rowOf(apps: number, processes: number, compared: Compared) {
  const { empty, full } = compared
  const perApp = (all: number, nothing: number) => rounded((all - nothing) / apps, 3)
  const perRequest = (all: number, nothing: number) =>
    rounded(((all - nothing) * 1_000) / (full.requests - empty.requests), 2)
  return {
    ...{ apps, processes },
    empty_daemon_cpu_percent: rounded(empty.daemonCpu * 100, 1),
    daemon_cpu_percent: rounded(full.daemonCpu * 100, 1),
    empty_server_cpu_percent: rounded(empty.serverCpu * 100, 1),
    server_cpu_percent: rounded(full.serverCpu * 100, 1),
    daemon_cpu_ms_per_app: perApp(full.daemonCpu * 1_000, empty.daemonCpu * 1_000),
    server_cpu_ms_per_app: perApp(full.serverCpu * 1_000, empty.serverCpu * 1_000),
    daemon_cpu_ms_per_request: perRequest(full.daemonCpu, empty.daemonCpu),
    server_cpu_ms_per_request: perRequest(full.serverCpu, empty.serverCpu),
    requests_per_second: rounded(full.requests, 1),
    empty_transactions_per_second: rounded(empty.transactions, 1),
    transactions_per_second: rounded(full.transactions, 1),
    first_commit_seconds: compared.firstCommitSeconds,
    all_asked_seconds: compared.allAskedSeconds,
    scrape_ms: compared.scrapeMs,
    daemon_peak_mebibytes: Math.round(compared.peak / mebibyte),
  }
}

async function compare(stage: Stage, apps: number, processes: number): Promise<Compared> {
  const name = `apps_${apps}_of_${processes}`
  return await withDatabase(stage.server.url, name, async (url, ask) => {
    const config = await configOf(stage, url, apps)
    const began = systemClock.monotonic()
    const daemons = Array.from({ length: processes }, () => startDaemonProcess(config, { ownSession: true }))
    try {
      const asked = (least: number) =>
        until(async () => Number(await ask(askedApps)) >= least, began).catch(async () => {
          const troubles = daemons.map(({ lines }) => lines.filter(({ level }) => level !== 'info').slice(-5))
          throw new Error(
            `${await ask(askedApps)} of ${apps} apps were asked in time; ${await ask(unasked)}; ${JSON.stringify(troubles)}`,
          )
        })
      const firstCommitSeconds = await asked(1)
      const allAskedSeconds = await asked(apps)
      const addresses = await Promise.all(daemons.map(({ ready }) => ready))
      await until(async () => Number(await ask(owners)) === processes, systemClock.monotonic())
      const made = () => Promise.all(addresses.map(requestsOf))
      const have = async (idle: number, busy: number) => {
        await configOf(stage, url, apps, idle, busy)
        for (const { pid } of daemons) process.kill(pid, 'SIGHUP')
      }
      const cold = await made()
      await have(apps, busyApps)
      await until(
        async () => (await made()).every((each, n) => each >= cold[n]! + stage.warm),
        systemClock.monotonic(),
      )
      await have(0, 0)
      const empty = await watch(stage, daemons, addresses, ask)
      const since = systemClock.now()
      await have(apps, 0)
      await until(async () => Number(await ask(askedSince(since))) >= apps, systemClock.monotonic())
      const full = await watch(stage, daemons, addresses, ask)
      return {
        ...{ firstCommitSeconds, allAskedSeconds, empty, full },
        scrapeMs: await scrapeMs(addresses[0]!),
        peak: Math.max(...(await Promise.all(daemons.map(({ pid }) => peakMemory(pid))))),
      }
    } finally {
      await Promise.all(daemons.map(daemon => daemon.terminate()))
    }
  })
}

async function watch(
  stage: Stage,
  daemons: readonly DaemonProcess[],
  addresses: readonly string[],
  ask: Ask,
): Promise<Watched> {
  await systemClock.sleep(settling)
  const before = await taken(stage, daemons, addresses, ask)
  await systemClock.sleep(stage.seconds * 1_000)
  const after = await taken(stage, daemons, addresses, ask)
  const lasted = (after.at - before.at) / 1_000
  return {
    daemonCpu: (after.daemons - before.daemons) / lasted,
    serverCpu: (after.server - before.server) / lasted,
    transactions: (after.transactions - before.transactions) / lasted,
    requests: (after.requests - before.requests) / lasted,
  }
}

const askedApps = `select count(*)::int from ingest.progress where stream = 'app-events' and updated_at is not null`
const askedSince = (moment: number) =>
  `select count(*)::int from ingest.progress where stream = 'app-events' and app_id like 'app-%'
   and updated_at > to_timestamp(${moment / 1_000})`
const unasked = `
  select string_agg(a.app_id || coalesce(' of series from ' || p.series, ' without series'), ', ')
  from (select app_id from ingest.app a where a.app_id <> 'nothing' and not exists (
          select from ingest.progress p where p.app_id = a.app_id and p.stream = 'app-events' and p.updated_at is not null) limit 5) a
  left join ingest.progress p on p.app_id = a.app_id and p.stream = 'app-events'`
const owners = `
  select case when count(distinct owner) filter (where shards > 0) > 0 and count(*) = 64 then count(distinct owner) else 0 end
  from (select owner, count(*) over (partition by owner) as shards from ingest.ownership) o`

type Ask = (text: string) => Promise<unknown>

async function taken(
  { server }: Stage,
  daemons: readonly DaemonProcess[],
  addresses: readonly string[],
  ask: Ask,
) {
  const requests = await Promise.all(addresses.map(requestsOf))
  const cpu = await Promise.all(daemons.map(({ pid }) => cpuSeconds(pid)))
  return {
    at: systemClock.monotonic(),
    requests: sum(requests),
    daemons: sum(cpu),
    server: await treeCpuSeconds(server.pid),
    transactions: Number(
      await ask(
        'select xact_commit + xact_rollback from pg_stat_database where datname = current_database()',
      ),
    ),
  }
}

/** A connection that was kept may be closed by the other side just as it is used again. */
async function metricsOf(address: string): Promise<string> {
  return (await fetch(`${address}/metrics`, { headers: { connection: 'close' } })).text()
}

/** Requests that a daemon has made so far. */
async function requestsOf(address: string): Promise<number> {
  const text = await metricsOf(address)
  return sum([...text.matchAll(/^penstock_requests_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count)))
}

/** Median of some scrapes, ms; between them the figures of the database grow old, so that they are read anew. */
async function scrapeMs(address: string): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < 3; n++) {
    const began = systemClock.monotonic()
    await metricsOf(address)
    times.push(systemClock.monotonic() - began)
    await systemClock.sleep(3_000)
  }
  return Math.round(times.sort((a, b) => a - b)[1]!)
}

/** How many transactions one process makes that has nothing to do, told by the log of its database. */
async function countOwn(stage: Stage) {
  return await withDatabase(stage.server.url, 'counted', async (url, ask) => {
    await ask(`alter database counted set log_statement = 'all'`)
    const daemon = startDaemonProcess(await configOf(stage, url, 0))
    try {
      await daemon.ready
      await until(
        async () => Number(await ask('select count(*)::int from ingest.ownership')) === 64,
        systemClock.monotonic(),
      )
      const pid = await ask(
        `select pid from pg_stat_activity where application_name = 'penstock ownership' and datname = 'counted'`,
      )
      const log = join(stage.folder, 'postgres', 'postgres.log')
      const already = (await readFile(log, 'utf8')).length
      await systemClock.sleep(counting * 1_000)
      const lines = (await readFile(log, 'utf8'))
        .slice(already)
        .split(/\n(?=\d{4}-\d\d-\d\d )/)
        .filter(line => line.includes(`[${String(pid)}] LOG:`))
      const queue = lines.filter(line => line.includes('ingest_jobs')).length
      return {
        queue: rounded(queue / counting, 1),
        ownership: rounded((lines.length - queue) / counting, 1),
      }
    } finally {
      await daemon.terminate()
    }
  })
}

async function withDatabase<T>(
  template: string,
  name: string,
  use: (url: string, ask: Ask) => Promise<T>,
): Promise<T> {
  const at = (database: string) => Object.assign(new URL(template), { pathname: `/${database}` }).href
  const admin = new pg.Client({ connectionString: at('postgres') })
  await admin.connect()
  await admin.query(`create database ${name} template ${new URL(template).pathname.slice(1)}`)
  const session = new pg.Client({ connectionString: at(name) })
  await session.connect()
  try {
    return await use(at(name), async text => {
      const [row] = (await session.query<Record<string, unknown>>(text)).rows
      return row && Object.values(row)[0]
    })
  } finally {
    await session.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
}

/** Writes the file of the run: one app that is asked nothing, `idle` of those of the run, and `busy` ones. */
async function configOf(
  { folder, provider, idle: idleEvery }: Stage,
  url: string,
  ofApps: number,
  idle = ofApps,
  busy = 0,
): Promise<string> {
  const path = join(folder, `penstock-${ofApps}.yaml`)
  const off = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources', 'app-events']
  const app = (id: string) => ({ id, region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } })
  const always = { 'app-events': { every: '1s', idleEvery: '1s' } }
  const settings = {
    database: { url, poolSize: 4 },
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: { url: provider } },
    // Nearly as often from the beginning: else 10,000 are asked ever less for a minute.
    streams: { 'app-events': { every: `${parseDuration(idleEvery)! / 2}ms`, idleEvery } },
    apps: [
      { ...app('nothing'), streams: Object.fromEntries(off.map(stream => [stream, 'off'])) },
      ...Array.from({ length: idle }, (_, n) => app(`app-${n}`)),
      ...Array.from({ length: busy }, (_, n) => ({ ...app(`busy-${n}`), streams: always })),
    ],
  }
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 })
  return path
}

/** Seconds from `began` until it is so. */
async function until(isDone: () => Promise<boolean>, began: number): Promise<number> {
  while (!(await isDone())) {
    if (systemClock.monotonic() - began > patience) throw new Error('the daemons took too long')
    await systemClock.sleep(100)
  }
  return rounded((systemClock.monotonic() - began) / 1_000, 1)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}

function rounded(number: number, digits: number): number {
  return Number(number.toFixed(digits))
}

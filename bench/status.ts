import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { demoApp } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'
import { connect } from '../src/postgres/connect.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { readStatus, readStoreGauges } from '../src/postgres/status.ts'
import { defaultConnection } from '../test/support/connection.ts'
import { fillPast, fiveYears } from '../test/support/years.ts'
import { type Child, startChild } from './process.ts'

const readers = 40
const readingFor = 45_000
const address = 'http://127.0.0.1:9474'

/**
 * Five synthetic years lie in the database, and the daemon drains a lively school. Then its page and its status are asked
 * for: cold, warm, and by many at once for a while.
 */
export async function status({ say }: { readonly say: (line: string) => void }) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const database = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  const children: Child[] = []
  try {
    await migrateUp({ url: database.url })
    say('filling the database with five years')
    await fillPast(text => pool.query(text), fiveYears)
    await pool.query('vacuum analyze')
    const inDatabase = {
      status: await median(readStatus, database.url),
      metrics: await median(readStoreGauges, database.url),
    }
    const sandbox = await startChild(['bin/penstock.mjs', 'sandbox', '--port', '0', '--profile', 'lively'])
    children.push(sandbox)
    const provider = /http:\/\/\S+/.exec(sandbox.firstLine)![0]
    const config = join(folder, 'penstock.yaml')
    await writeFile(config, configText(database.url, provider), { mode: 0o600 })
    children.push(await startChild(['bin/penstock.mjs', 'run', '--config', config]))
    await untilReady()
    const cold: Record<string, number> = {}
    const warm: Record<string, number> = {}
    for (const path of ['/status', '/', '/metrics']) {
      // What is kept from the reading before is too old by then.
      await systemClock.sleep(6_000)
      cold[path] = await timed(path)
      warm[path] = await timed(path)
    }
    say('alone for a while')
    const alone = await watched(pool, 0)
    say(`${readers} readers for a while`)
    const beside = await watched(pool, readers)
    return { database_ms: inDatabase, cold_ms: cold, warm_ms: warm, alone, beside_readers: beside }
  } finally {
    await Promise.all(children.map(child => child.stop()))
    await pool.end()
    await database.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

/** ms that one reading takes, half of eleven being faster, with nothing else going on in the database. */
async function median(read: (pool: pg.Pool) => Promise<unknown>, url: string): Promise<number> {
  const pool = connect({ ...defaultConnection, url, poolSize: 1 })
  const times: number[] = []
  for (let count = 0; count < 11; count++) {
    const began = systemClock.monotonic()
    await read(pool)
    times.push(systemClock.monotonic() - began)
  }
  await pool.end()
  return Math.round(times.sort((a, b) => a - b)[5]!)
}

async function untilReady(): Promise<void> {
  for (;;) {
    const ready = await fetch(`${address}/readyz`).catch(() => undefined)
    if (ready?.status === 200) return
    await systemClock.sleep(100)
  }
}

/** ms until an answer is read whole. */
async function timed(path: string): Promise<number> {
  const began = systemClock.monotonic()
  const answer = await fetch(`${address}${path}`)
  await answer.text()
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`)
  return Math.round(systemClock.monotonic() - began)
}

/** How the daemon does while so many read its status, each some ten times a second. */
async function watched(pool: pg.Pool, count: number) {
  const end = systemClock.monotonic() + readingFor
  const stored = async () =>
    Number((await pool.query('select count(*) as events from classroom.room_event')).rows[0].events)
  const before = await stored()
  const times: number[] = []
  let refused = 0
  const read = async (path: string) => {
    while (systemClock.monotonic() < end) {
      await timed(path).then(
        ms => times.push(ms),
        () => (refused += 1),
      )
      await systemClock.sleep(100)
    }
  }
  const lag: number[] = []
  let notReady = 0
  const watch = async () => {
    while (systemClock.monotonic() < end) {
      await systemClock.sleep(1_000)
      const ready = await fetch(`${address}/readyz`).catch(() => undefined)
      if (ready?.status !== 200) notReady += 1
      const metrics = await fetch(`${address}/metrics`).then(answer => answer.text())
      const found = [...metrics.matchAll(/^penstock_lag_seconds\{[^}]*\} ([\d.]+)$/gm)]
      lag.push(Math.max(0, ...found.map(([, seconds]) => Number(seconds))))
    }
  }
  const reading = Array.from({ length: count }, (_, n) => read(n % 2 ? '/' : '/status'))
  await Promise.all([watch(), ...reading])
  times.sort((a, b) => a - b)
  return {
    answers: times.length,
    refused,
    median_ms: times[times.length >> 1] ?? null,
    slowest_ms: times.at(-1) ?? null,
    not_ready: notReady,
    worst_lag_seconds: Math.max(...lag),
    events_stored: (await stored()) - before,
  }
}

function configText(databaseUrl: string, providerUrl: string): string {
  const { id, uid, token } = demoApp
  return JSON.stringify({
    database: { url: databaseUrl },
    http: { listen: address.slice('http://'.length) },
    log: { level: 'error' },
    provider: { classroom: { url: providerUrl } },
    apps: [{ id, region: 'ap', plan: 'premium', classroom: { uid, token } }],
  })
}

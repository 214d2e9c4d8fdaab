import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { seededRandom } from '../sandbox/src/seeded.ts'
import { systemClock } from '../src/clock/system.ts'
import type { Fence, Store } from '../src/engine/ports.ts'
import { connect } from '../src/postgres/connect.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { createStore } from '../src/postgres/store.ts'
import { streams } from '../src/streams/index.ts'
import type { SessionSeriesRow } from '../src/tables/analytics.ts'
import { defaultConnection } from '../test/support/connection.ts'

export interface SamplesOptions {
  /** Values in all, more or less. */
  readonly values: number
  /** Values of one metric of one session. */
  readonly length: number
  readonly say: (line: string) => void
}

const app = 'school'
const me: Fence = { shard: 0, owner: 'bench', epoch: 1 }
/** Sessions of a call, two pages of them, and metrics of each, as operation call/metrics tells of them. */
const sessions = 40
const perPage = 20
const mids = Array.from({ length: 26 }, (_, n) => 20_001 + n)
const everySeconds = 2
const dayMs = 86_400_000

interface Page {
  readonly call: string
  readonly part: string
  readonly rows: readonly SessionSeriesRow[]
}

/**
 * Commits pages of metrics as the daemon does, the summaries of each call included, and copies the same values into a table
 * of one row a value; the two take turns, so that both meet the same machine.
 */
export async function samples({ values, length, say }: SamplesOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const database = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const admin = new pg.Pool({ connectionString: database.url, max: 1 })
  admin.on('error', () => {})
  const pool = connect({ ...defaultConnection, url: database.url, poolSize: 2 })
  try {
    await migrateUp({ url: database.url })
    await admin.query(`insert into ingest.ownership values (0, 'bench', 1)`)
    await admin.query(oneRowAValue)
    const store = createStore(pool, {
      ...{ streams: Object.values(streams), roomMemory: 0, region: () => 'ap', sequenceScope: 'room' },
    })
    const calls = Math.max(1, Math.round(values / (sessions * mids.length * length)))
    const seconds = { commit: 0, copy: 0 }
    let cpu = 0
    for (let n = 0; n < calls; n++) {
      const pages = pagesOf(n, length)
      await beginCall(admin, n, pages)
      const before = process.cpuUsage()
      seconds.commit += await timed(() => commit(store, pages))
      const { user, system } = process.cpuUsage(before)
      cpu += user + system
      seconds.copy += await timed(() => copy(admin, pages))
      say(`${n + 1} of ${calls} calls`)
    }
    const stored = calls * sessions * mids.length * length
    const size = async (text: string) => Number((await admin.query(`select (${text})::text as n`)).rows[0].n)
    const bytes =
      await size(`select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'analytics' and c.relkind in ('r', 'm') and c.relname ~ '^session_(metric|series)'`)
    const summaries =
      await size(`select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'analytics' and c.relkind = 'r' and c.relname in ('session_summary', 'call_summary', 'call_minute')`)
    const told = Number((await admin.query('select count(*) as n from analytics.session_metric')).rows[0].n)
    if (told !== stored) throw new Error(`${told} values are told of ${stored}`)
    const round = (value: number, digits: number) => Number(value.toFixed(digits))
    return {
      ...{ values: stored, values_per_series: length, calls },
      commit_seconds: round(seconds.commit, 2),
      copy_seconds: round(seconds.copy, 2),
      values_per_second: Math.round(stored / seconds.commit),
      copy_values_per_second: Math.round(stored / seconds.copy),
      ratio: round(seconds.copy / seconds.commit, 2),
      daemon_cpu_seconds_per_million_values: round(cpu / stored, 2),
      bytes_per_value: round(bytes / stored, 2),
      summary_bytes_per_value: round(summaries / stored, 2),
      copy_bytes_per_value: round((await size(`pg_total_relation_size('bench.value')`)) / stored, 1),
    }
  } finally {
    await pool.end()
    await admin.end()
    await database.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

/** The plainest table that could hold them. */
const oneRowAValue = `create schema bench;
  create table bench.value (
    app_id text not null, call_id text not null, sid text not null, peer_uid text not null, mid int not null,
    at timestamptz not null, value double precision not null, extra jsonb,
    primary key (app_id, call_id, sid, peer_uid, mid, at)
  )`

/** Freezes that are nearly always none, bit rates that wander, shares with two digits: each a third of the metrics. */
function pagesOf(n: number, length: number): readonly Page[] {
  const random = seededRandom(n)
  const start = Math.floor((systemClock.now() - dayMs) / dayMs) * 86_400 + n * 60
  const call = idOf('c', n)
  const series = (sid: string, mid: number): SessionSeriesRow => {
    let level = 40 + random.next() * 400
    const next = () => {
      if (mid % 3 === 0) return random.next() < 0.04 ? Math.round(random.next() * 600) : 0
      if (mid % 3 === 2) return Math.round(random.next() * 500) / 100
      level = Math.max(1, level + (random.next() - 0.5) * 20)
      return Math.round(level)
    }
    const at = Array.from({ length }, (_, i) => start + i * everySeconds)
    return { call_id: call, sid, peer_uid: '0', mid, at, value: at.map(next) }
  }
  return Array.from({ length: sessions / perPage }, (_, page) => ({
    call,
    part: String(page),
    rows: Array.from({ length: perPage }, (_, s) => idOf('d', n * 100 + page * perPage + s)).flatMap(sid =>
      mids.map(mid => series(sid, mid)),
    ),
  }))
}

/** As long as those of the provider. */
function idOf(letter: string, n: number): string {
  return letter + n.toString(16).padStart(31, '0')
}

/** What the daemon knows of a call before it asks for its metrics. */
async function beginCall(admin: pg.Pool, n: number, pages: readonly Page[]): Promise<void> {
  const { call, rows } = pages[0]!
  const [from, to] = [rows[0]!.at[0]!, rows[0]!.at.at(-1)!]
  const sids = [...new Set(pages.flatMap(page => page.rows.map(row => row.sid)))]
  await admin.query(
    `insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished)
     values ($1, $2, $3, to_timestamp($4), to_timestamp($5), true)`,
    [app, call, `room-${n}`, from, to],
  )
  await admin.query(
    `insert into analytics.call_session (app_id, call_id, sid, uid, network, platform, joined_at, left_at, finished)
     select $1, $2, sid, sid, 'WiFi', 'Android', to_timestamp($4), to_timestamp($5), true from unnest($3::text[]) sid`,
    [app, call, sids, from, to],
  )
  await admin.query(
    `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to)
     select $1, 'call-metrics', $2, part, to_timestamp($4), to_timestamp($5) from unnest($3::text[]) part`,
    [app, call, pages.map(({ part }) => part), from, to],
  )
}

async function commit(store: Store, pages: readonly Page[]): Promise<void> {
  for (const { call, part, rows } of pages) {
    const bounds = { after: 0, before: systemClock.now() }
    const items = await store.items(app, 'call-metrics', bounds, 1_000)
    const item = items.find(each => each.key === call && each.part === part)
    const { outcome } = await store.commitItem({
      ...{ app, fence: me, item: item!, nextPage: null, streamState: null, rejects: [], again: 0, work: [] },
      rows: { 'analytics.session_series': rows },
    })
    if (outcome !== 'committed') throw new Error(outcome)
  }
}

async function copy(admin: pg.Pool, pages: readonly Page[]): Promise<void> {
  const client = await admin.connect()
  try {
    await pipeline(Readable.from(linesOf(pages)), client.query(copyFrom('copy bench.value from stdin')))
  } finally {
    client.release()
  }
}

/** One text a series: a chunk a value would measure Node. */
function* linesOf(pages: readonly Page[]): Generator<string> {
  for (const { rows } of pages) {
    for (const { call_id, sid, peer_uid, mid, at, value } of rows) {
      const key = `${app}\t${call_id}\t${sid}\t${peer_uid}\t${mid}`
      yield at
        .map((second, n) => `${key}\t${new Date(second * 1_000).toISOString()}\t${value[n]}\t\\N\n`)
        .join('')
    }
  }
}

/** Seconds. */
async function timed(work: () => Promise<void>): Promise<number> {
  const began = systemClock.monotonic()
  await work()
  return (systemClock.monotonic() - began) / 1_000
}

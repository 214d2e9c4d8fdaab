/**
 * Commits pages of metrics of the largest size side by side, minute after minute, while ownership is renewed as the
 * daemon renews it:
 *
 *   npm run ownership-soak -- --minutes 5
 *
 * Prints one JSON object. Ends with 1 where nobody owned the shards for a moment, or a commit was refused for it.
 */
import { parseArgs } from 'node:util'
import { systemClock, systemRandom } from '../../src/clock/system.ts'
import { shards } from '../../src/commands/engine-settings.ts'
import { appsOfShards, type Fence, type ItemCommit, type OpenItem } from '../../src/engine/ports.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createOwnership, isAnyShardOwned } from '../../src/postgres/ownership.ts'
import { createStore } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import { defaultConnection } from '../support/connection.ts'
import { startTestServer } from '../support/postgres.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    values: { type: 'string', default: '200000' },
    writers: { type: 'string', default: '4' },
  },
})
const [minutes, size, writers] = [values.minutes, values.values, values.writers].map(Number)
if (![minutes, size, writers].every(amount => amount! > 0)) throw new TypeError('amounts are above 0')

const app = 'school'
const second = 1_000
const renewEvery = second
const lookEvery = second / 4
/** A page asks for so many sessions at once. */
const sessions = 20

const server = await startTestServer()
const database = await server.clone()
const connection = { ...defaultConnection, url: database.url }
const pool = connect(connection)
const store = createStore(pool, {
  ...{ roomMemory: 3_600 * second, streams: Object.values(streams), region: () => 'ap' },
  ...{ sequenceScope: 'room' },
})
const ownership = createOwnership({
  ...{ ...connection, owner: systemRandom.uuid(), clock: systemClock },
  knows: () => appsOfShards([app], shards),
})
const figures = { commits: 0, longestCommit: 0, renewals: 0, failedRenewals: 0, lapses: 0, failedCommits: 0 }

const [fence] = (await ownership.claim()).fences
const end = systemClock.monotonic() + minutes! * 60 * second
const isOn = () => systemClock.monotonic() < end
await Promise.all([renew(), watch(), write(fence!)])
process.stdout.write(`${JSON.stringify({ minutes, values: size, writers, ...figures })}\n`)
await ownership.close()
await pool.end()
await server.stop()
if (figures.lapses > 0) process.exitCode = 1

async function renew(): Promise<void> {
  while (isOn()) {
    const isRenewed = await ownership.claim().then(
      ({ fences }) => fences.length === shards,
      () => false,
    )
    figures[isRenewed ? 'renewals' : 'failedRenewals'] += 1
    await systemClock.sleep(isRenewed ? renewEvery : second)
  }
}

/** Counts how often ownership was there and is gone. */
async function watch(): Promise<void> {
  const own = connect({ ...connection, poolSize: 1 })
  let wasOwned = true
  while (isOn()) {
    const isOwned = await isAnyShardOwned(own)
    if (wasOwned && !isOwned) figures.lapses += 1
    wasOwned = isOwned
    await systemClock.sleep(lookEvery)
  }
  await own.end()
}

/** Round after round; what was written is thrown away in between, so that any time fits on the disk. */
async function write(fence: Fence): Promise<void> {
  await pool.query(
    `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to)
     select $1, 'call-metrics', w::text, '', ingest.clock(), ingest.clock() from generate_series(1, $2::int) w`,
    [app, writers],
  )
  const admin = connect({ ...connection, poolSize: 1, role: '' })
  for (let round = 0; isOn(); round++) {
    const keys = Array.from({ length: writers! }, (_, index) => String(index + 1))
    await Promise.all(keys.map(key => commit(page(fence, key, round))))
    await admin.query('truncate analytics.session_series')
    await admin.query(`update ingest.work_item set version = $1`, [round + 1])
  }
  await admin.end()
}

async function commit(one: ItemCommit): Promise<void> {
  const began = systemClock.monotonic()
  const outcome = await store.commitItem(one).then(
    result => result.outcome,
    () => 'failed',
  )
  figures.longestCommit = Math.max(figures.longestCommit, Math.round(systemClock.monotonic() - began))
  if (outcome === 'committed') figures.commits += 1
  else figures.failedCommits += 1
  if (outcome === 'fenced') figures.lapses += 1
}

function page(fence: Fence, key: string, version: number): ItemCommit {
  const now = Math.floor(systemClock.now() / second)
  const item: OpenItem = {
    ...{ stream: 'call-metrics', key, part: '', from: now, to: now, ask: null },
    ...{
      version,
      page: 1,
      streamState: null,
      origin: 'live',
      failures: 0,
      wasRefused: false,
      inHandOf: null,
    },
  }
  const length = Math.ceil(size! / sessions)
  const at = Array.from({ length }, (_, index) => now - 2 * index)
  const rows = Array.from({ length: sessions }, (_, session) => ({
    ...{ call_id: key, sid: String(session), peer_uid: '0', mid: 20005 },
    ...{ at, value: at.map(time => time % 97) },
  }))
  const rowSet = { 'analytics.session_series': rows }
  return { app, fence, item, nextPage: 2, streamState: null, rows: rowSet, rejects: [], again: 0, work: [] }
}

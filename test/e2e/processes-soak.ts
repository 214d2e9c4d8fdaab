/**
 * Three daemons share the projects of one credential; every twenty seconds one of them is killed, stopped for a while
 * or told to end, or two are killed at once, in turn, and started again:
 *
 *   npm run processes-soak -- --minutes 2 [--rollout]
 *
 * With --rollout the first has an older list of apps than the two others. Prints one JSON object. Ends with 1 where a limit
 * was broken at the provider, a shard had two owners, or a call is missing where the database says that all are there.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type AppOptions, createSandbox, listen } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { shards } from '../../src/commands/engine-settings.ts'
import { shardOf } from '../../src/engine/ports/ledger.ts'
import { ask } from '../support/embedded.ts'
import { startTestServer } from '../support/postgres.ts'
import { startDaemonProcess } from './daemon.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, rollout: { type: 'boolean', default: false } },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new TypeError('--minutes is above 0')

const second = 1_000
const between = 20 * second
/** Longer than a silent process is waited for. */
const pause = 15 * second
const patience = 40 * second

const server = await startTestServer()
const { url } = await server.clone()
const rest = { key: 'key', secret: 'secret' }
const apps = Array.from(
  { length: 12 },
  (_, n): AppOptions => ({ id: `app-${n}`, uid: 'penstock', token: `token-${n}`, plan: 'enterprise', rest }),
)
const sandbox = createSandbox({
  ...{ clock: systemClock, seed: 'processes', apps },
  profile: { kind: 'calls', callsPerDay: 72, users: 5, minutes: 12, days: 1 },
})
const provider = await listen(sandbox)
const directory = await mkdtemp(join(tmpdir(), 'penstock-processes-'))
const off = ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources']
const address = { url: provider.url, deadline: '2s' }
/** Of each daemon, what it knows. */
const lists = [values.rollout ? apps.slice(0, 8) : apps, apps, apps]
const configs = await Promise.all(
  lists.map(async (list, place) => {
    const config = join(directory, `penstock-${place}.yaml`)
    const settings = {
      database: { url, poolSize: 4 },
      http: { listen: '127.0.0.1:0' },
      provider: { classroom: address, analytics: address },
      streams: Object.fromEntries(off.map(stream => [stream, 'off'])),
      apps: list.map(({ id, uid, token }) => ({
        ...{ id, region: 'eu', plan: 'enterprise', rest, classroom: { uid, token } },
      })),
    }
    await writeFile(config, JSON.stringify(settings), { mode: 0o600 })
    return config
  }),
)
/** Of each daemon, the shards that it must not own: of apps that others know and it does not. */
const strange = lists.map(list =>
  apps.filter(app => !list.includes(app)).map(({ id }) => shardOf(id, shards)),
)

/** Unix seconds: what began before is listed by now. */
const oldest = Math.floor(sandbox.status().now / second) - 3_600

/** Seconds until what one process owned was owned by others. */
const took: Record<'killed' | 'stopped' | 'ended' | 'twoKilled', number[]> = {
  ...{ killed: [], stopped: [], ended: [], twoKilled: [] },
}
const unowned: string[] = []
const daemons = configs.map(config => startDaemonProcess(config))
await Promise.all(daemons.map(daemon => daemon.ready))
await shared()

const end = systemClock.monotonic() + minutes * 60 * second
const ways = ['killed', 'ended', 'stopped', 'twoKilled'] as const
for (let turn = 0; systemClock.monotonic() < end; turn++) {
  const place = turn % daemons.length
  // Each process meets each way in the end.
  const way = ways[(turn + Math.floor(turn / ways.length)) % ways.length]!
  const began = systemClock.monotonic()
  await strike(way === 'twoKilled' ? [place, (place + 1) % daemons.length] : [place], way)
  await shared()
  await systemClock.sleep(Math.max(0, between - (systemClock.monotonic() - began)))
}
await Promise.all(daemons.map(daemon => daemon.terminate()))

const { requests, violationsByKind } = sandbox.status()
const violations = Object.fromEntries(Object.entries(violationsByKind).filter(([, count]) => count > 0))
// Debits of a counter are numbered in the order in which they were granted: no epoch may follow a later one.
const [twice] = await ask(
  url,
  `select count(*)::int as debits from (
     select epoch, max(epoch) over (partition by scope, limit_group, app_id order by n) as latest
     from ingest.debit where operation <> 'lost history') d where epoch < latest`,
)
const missing = await missingCalls()
const most = Object.fromEntries(Object.entries(took).map(([way, all]) => [way, Math.max(0, ...all)]))
process.stdout.write(
  `${JSON.stringify({ minutes, requests, violations, ownedTwice: twice!.debits, ...missing, mostSeconds: most, took, unowned })}\n`,
)
await provider.close()
await server.stop()
await rm(directory, { recursive: true, force: true })
const faults = [Object.keys(violations).length, twice!.debits, missing.lost, missing.invented, unowned.length]
if (faults.some(fault => fault !== 0)) process.exitCode = 1

async function strike(places: readonly number[], way: keyof typeof took): Promise<void> {
  const struck = places.map(place => daemons[place]!)
  const theirs = await Promise.all(struck.map(({ pid }) => shardsOf(pid)))
  const began = systemClock.monotonic()
  if (way === 'stopped') for (const { pid } of struck) process.kill(pid, 'SIGSTOP')
  const ended = struck.map(daemon =>
    way === 'stopped' ? undefined : way === 'ended' ? daemon.terminate() : daemon.kill(),
  )
  const isOver = await until(async () => {
    const left = await Promise.all(struck.map(({ pid }, n) => shardsOf(pid, theirs[n])))
    return left.flat().length === 0
  })
  took[way].push(Math.round((systemClock.monotonic() - began) / 100) / 10)
  if (!isOver) unowned.push(`${way} after ${patience / second} s`)
  if (way === 'stopped') {
    await systemClock.sleep(Math.max(0, pause - (systemClock.monotonic() - began)))
    for (const { pid } of struck) process.kill(pid, 'SIGCONT')
    return
  }
  await Promise.all(ended)
  for (const place of places) daemons[place] = startDaemonProcess(configs[place]!)
  await Promise.all(places.map(place => daemons[place]!.ready))
}

/**
 * Calls that began in what was read, long enough before the first daemon that none was listed late, and are not stored; and
 * stored ones that never were.
 */
async function missingCalls() {
  const ranges = await ask(
    url,
    `select app_id as app, extract(epoch from lower(r))::float8 as from, extract(epoch from upper(r))::float8 as to
     from ingest.progress, unnest(covered + seen) r where stream = 'calls'`,
  )
  const stored = new Set((await ask(url, 'select call_id as call from analytics.call')).map(row => row.call))
  const truth = apps.flatMap(({ id }) =>
    [...sandbox.analytics(id).calls()].map(({ callId, createdAt }) => ({
      app: id,
      callId,
      at: createdAt / second,
    })),
  )
  const isRead = (app: string, at: number) =>
    ranges.some(range => range.app === app && Number(range.from) <= at && at < Number(range.to))
  const due = truth.filter(({ app, at }) => at < oldest && isRead(app, at))
  const known = new Set(truth.map(({ callId }) => callId))
  return {
    calls: due.length,
    lost: due.filter(({ callId }) => !stored.has(callId)).length,
    invented: [...stored].filter(call => !known.has(String(call))).length,
  }
}

/** Shards, of these or of all, that a process owns. */
async function shardsOf(pid: number, among?: readonly number[]): Promise<readonly number[]> {
  const rows = await ask(url, `select shard from ingest.ownership where split_part(owner, '/', 2) = '${pid}'`)
  return rows.map(row => Number(row.shard)).filter(shard => among?.includes(shard) ?? true)
}

/** Every process has its share, and none an app that it does not know and others do. */
async function shared(): Promise<void> {
  const isShared = await until(async () => {
    const owned = await Promise.all(daemons.map(({ pid }) => shardsOf(pid)))
    const isKnown = owned.every((all, place) => !all.some(shard => strange[place]!.includes(shard)))
    const isFair = owned.every(all => all.length > 0 && all.length <= Math.ceil(shards / daemons.length))
    return isKnown && isFair && owned.flat().length === shards
  })
  if (!isShared) unowned.push(`not shared after ${patience / second} s`)
}

async function until(isDone: () => Promise<boolean>): Promise<boolean> {
  const giveUp = systemClock.monotonic() + patience
  while (!(await isDone())) {
    if (systemClock.monotonic() > giveUp) return false
    await systemClock.sleep(100)
  }
  return true
}

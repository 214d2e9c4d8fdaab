/**
 * Three daemons share the projects of one credential; every twenty seconds one of them is killed, stopped for a while
 * or told to end, in turn, and started again:
 *
 *   npm run processes-soak -- --minutes 2
 *
 * Prints one JSON object. Ends with 1 where a limit was broken at the provider, or a shard had two owners.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type AppOptions, createSandbox, listen } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from '../support/embedded.ts'
import { startTestServer } from '../support/postgres.ts'
import { type DaemonProcess, startDaemonProcess } from './daemon.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
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
const config = join(directory, 'penstock.yaml')
const off = ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources']
const address = { url: provider.url, deadline: '2s' }
await writeFile(
  config,
  JSON.stringify({
    database: { url, poolSize: 4 },
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: address, analytics: address },
    streams: Object.fromEntries(off.map(stream => [stream, 'off'])),
    apps: apps.map(({ id, uid, token }) => ({
      ...{ id, region: 'eu', plan: 'enterprise', rest, classroom: { uid, token } },
    })),
  }),
  { mode: 0o600 },
)

/** Seconds until what one process owned was owned by others. */
const took: Record<'killed' | 'stopped' | 'ended', number[]> = { killed: [], stopped: [], ended: [] }
const unowned: string[] = []
const daemons = [1, 2, 3].map(() => startDaemonProcess(config))
await Promise.all(daemons.map(daemon => daemon.ready))
await shared()

const end = systemClock.monotonic() + minutes * 60 * second
const ways = ['killed', 'ended', 'stopped'] as const
for (let turn = 0; systemClock.monotonic() < end; turn++) {
  const place = turn % daemons.length
  // Each process meets each way in the end.
  const way = ways[(turn + Math.floor(turn / ways.length)) % ways.length]!
  const began = systemClock.monotonic()
  daemons[place] = await strike(daemons[place]!, way)
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
const most = Object.fromEntries(Object.entries(took).map(([way, all]) => [way, Math.max(0, ...all)]))
process.stdout.write(
  `${JSON.stringify({ minutes, requests, violations, ownedTwice: twice!.debits, mostSeconds: most, took, unowned })}\n`,
)
await provider.close()
await server.stop()
await rm(directory, { recursive: true, force: true })
if (Object.keys(violations).length > 0 || twice!.debits !== 0 || unowned.length > 0) process.exitCode = 1

async function strike(daemon: DaemonProcess, way: keyof typeof took): Promise<DaemonProcess> {
  const theirs = await shardsOf(daemon.pid)
  const began = systemClock.monotonic()
  if (way === 'stopped') process.kill(daemon.pid, 'SIGSTOP')
  const ended = way === 'killed' ? daemon.kill() : way === 'ended' ? daemon.terminate() : undefined
  const isOver = await until(async () => (await shardsOf(daemon.pid, theirs)).length === 0)
  took[way].push(Math.round((systemClock.monotonic() - began) / 100) / 10)
  if (!isOver) unowned.push(`${way} after ${patience / second} s`)
  if (way === 'stopped') {
    await systemClock.sleep(Math.max(0, pause - (systemClock.monotonic() - began)))
    process.kill(daemon.pid, 'SIGCONT')
    return daemon
  }
  await ended
  const next = startDaemonProcess(config)
  await next.ready
  return next
}

/** Shards, of these or of all, that a process owns. */
async function shardsOf(pid: number, among?: readonly number[]): Promise<readonly number[]> {
  const rows = await ask(url, `select shard from ingest.ownership where split_part(owner, '/', 2) = '${pid}'`)
  return rows.map(row => Number(row.shard)).filter(shard => among?.includes(shard) ?? true)
}

/** Every process has its share. */
async function shared(): Promise<void> {
  const isShared = await until(async () => {
    const counts = await Promise.all(daemons.map(async ({ pid }) => (await shardsOf(pid)).length))
    return (
      counts.every(count => count <= Math.ceil(64 / daemons.length)) && counts.reduce((a, b) => a + b) === 64
    )
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

/**
 * Several daemons share the projects of one credential; every twenty seconds one of them is killed, stopped for a while
 * or told to end, or two are killed at once, in turn, and started again:
 *
 *   npm run processes-soak -- --minutes 2 [--rollout] [--failover] [--processes 8] [--pods]
 *
 * With --rollout the first has an older list of apps than the others. With --failover the database is cut off at half of
 * the time and its standby promoted, and all processes are restarted one after the other. With more than three processes
 * one that is told to end stays away until others come. With --pods they run as the chart has them run, under its limits, and
 * in the restart the next one is ready before one ends. Prints one JSON object: seconds until all shards were with others, what
 * was logged where that took long, and each request that broke a limit with what came before it. Ends with 1 where a limit was broken at the provider, a
 * shard had two owners or for too long none, or a call is missing where the database says that all are there.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock/system.ts'
import { shards } from '../../src/commands/engine-settings.ts'
import { shardOf } from '../../src/engine/ports/ledger.ts'
import { ask } from '../support/embedded.ts'
import { startTestServer } from '../support/postgres.ts'
import { type DaemonProcess, startDaemonProcess } from './daemon.ts'
import { startPair } from './failover.ts'
import { openPods } from './pods.ts'
import {
  brokenRequests,
  debitsOfFormerOwners,
  missingCalls,
  openStage,
  projects,
  watchOwners,
} from './processes-stage.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rollout: { type: 'boolean', default: false },
    failover: { type: 'boolean', default: false },
    processes: { type: 'string', default: '3' },
    pods: { type: 'boolean', default: false },
  },
})
const [minutes, count] = [Number(values.minutes), Number(values.processes)]
if (!(minutes > 0)) throw new TypeError('--minutes is above 0')
if (!Number.isInteger(count) || count < 3) throw new TypeError('--processes is 3 or more')

const second = 1_000
const between = 20 * second
/** Longer than a silent process is waited for. */
const pause = 15 * second
const patience = 40 * second
/** What took longer, seconds, is told with what was logged meanwhile. */
const long = 5

const { url, pair, close } = await openDatabase()
/** Of each daemon, what it knows. */
const lists = Array.from({ length: count }, (_, place) =>
  values.rollout && place === 0 ? projects.slice(0, 8) : projects,
)
const stage = await openStage(url, lists)
const pods = values.pods ? await openPods(url) : undefined
/** Of each daemon, the shards that it must not own: of apps that others know and it does not. */
const strange = lists.map(list =>
  projects.filter(app => !list.includes(app)).map(({ id }) => shardOf(id, shards)),
)

type Way = 'killed' | 'stopped' | 'ended' | 'twoKilled' | 'left'
/** Seconds until what they owned was owned by others. */
const took: Record<Way, number[]> = { killed: [], stopped: [], ended: [], twoKilled: [], left: [] }
const faults: string[] = []
const slow: object[] = []
let failover: object | undefined
/** Undefined where it stays away. */
const daemons: (DaemonProcess | undefined)[] = await Promise.all([...lists.keys()].map(start))
const struck = new Set<DaemonProcess>()
/** Stand by to take the places of others. */
let standing: readonly DaemonProcess[] = []
await Promise.all(present().map(daemon => daemon.ready))
await shared()
const record = watchOwners(url, () => present().filter(daemon => !struck.has(daemon)))
const loop = monitorEventLoopDelay()
loop.enable()

const end = systemClock.monotonic() + minutes * 60 * second
const half = systemClock.monotonic() + minutes * 30 * second
const ways: readonly Way[] =
  count === 3
    ? ['killed', 'ended', 'stopped', 'twoKilled']
    : ['killed', 'left', 'stopped', 'twoKilled', 'left']
for (let turn = 0; systemClock.monotonic() < end; turn++) {
  const began = systemClock.monotonic()
  if (pair && !failover && began > half) {
    failover = await failOver(pair.failOver)
    await restartAll()
  } else {
    await come(turn)
    // Each process meets each way in the end.
    const way = ways[(turn + Math.floor(turn / ways.length)) % ways.length]!
    const places = [...daemons.keys()].filter(place => daemons[place])
    const place = places[turn % places.length]!
    const next = places[(turn + 1) % places.length]!
    await strike(way === 'twoKilled' ? [place, next] : [place], way)
  }
  await shared()
  await systemClock.sleep(Math.max(0, between - (systemClock.monotonic() - began)))
}
const { ownedTwice, ...longest } = await record.stop()
if (longest.unfairSeconds > 30 && !values.rollout)
  faults.push('one process had more than its share for too long')
loop.disable()
await Promise.all(present().map(daemon => daemon.terminate()))

const { requests, violationsByKind } = stage.sandbox.status()
const violations = Object.fromEntries(Object.entries(violationsByKind).filter(([, each]) => each > 0))
const formerOwners = await debitsOfFormerOwners(url)
const missing = await missingCalls(url, stage)
const mostSeconds = Object.fromEntries(Object.entries(took).map(([way, all]) => [way, Math.max(0, ...all)]))
process.stdout.write(
  `${JSON.stringify({
    ...{ minutes, processes: count, requests, violations, formerOwners, ownedTwice, ...longest },
    ...{ ...missing, mostSeconds, took, failover, pods: pods?.figures(), slow, faults },
    broken: await brokenRequests(url, stage),
  })}\n`,
)
const killed = pods?.figures().kills ?? 0
await pods?.close()
await stage.close()
await close()
const bad = [Object.keys(violations), ownedTwice, faults].some(list => list.length > 0)
if (bad || [killed, formerOwners, missing.lost, missing.invented].some(each => each !== 0))
  process.exitCode = 1

async function openDatabase() {
  if (values.failover) {
    const standing = await startPair()
    return { url: standing.url, pair: standing, close: standing.stop }
  }
  const server = await startTestServer()
  return { url: (await server.clone()).url, pair: undefined, close: server.stop }
}

function start(place: number): DaemonProcess | Promise<DaemonProcess> {
  return pods ? pods.start(stage.settings[place]!) : startDaemonProcess(stage.configs[place]!)
}

function present(): readonly DaemonProcess[] {
  return [...daemons.filter(daemon => daemon !== undefined), ...standing]
}

/** Every third turn those that stayed away come back. */
async function come(turn: number): Promise<void> {
  if (turn % 3 !== 0 || present().length === count) return
  const absent = [...daemons.keys()].filter(place => !daemons[place])
  for (const place of absent) daemons[place] = await start(place)
  await Promise.all(absent.map(place => daemons[place]!.ready))
  await shared()
}

/** Those that end are followed by those that stand by. */
async function strike(places: readonly number[], way: Way): Promise<void> {
  const them = places.map(place => daemons[place]!)
  const theirs = await Promise.all(them.map(daemon => shardsOf(daemon)))
  loop.reset()
  const said = present().map(daemon => [daemon, daemon.lines.length] as const)
  const began = systemClock.monotonic()
  for (const daemon of them) {
    struck.add(daemon)
    if (way === 'stopped') process.kill(daemon.pid, 'SIGSTOP')
  }
  const isEnding = way === 'ended' || way === 'left'
  const ended = way === 'stopped' ? [] : them.map(daemon => (isEnding ? daemon.terminate() : daemon.kill()))
  let meanwhile: object | undefined
  const isOver = await until(async () => {
    if (way !== 'stopped' && secondsSince(began) > long / 2) meanwhile ??= await lookAround()
    const left = await Promise.all(them.map((daemon, n) => shardsOf(daemon, theirs[n])))
    return left.flat().length === 0
  })
  const seconds = secondsSince(began)
  took[way].push(seconds)
  if (!isOver) faults.push(`${way}: still theirs after ${patience / second} s`)
  if (way === 'stopped') {
    await systemClock.sleep(Math.max(0, pause - (systemClock.monotonic() - began)))
    for (const daemon of them) {
      struck.delete(daemon)
      process.kill(daemon.pid, 'SIGCONT')
    }
    return
  }
  await Promise.all(ended)
  if (seconds > long)
    slow.push({
      ...{ way, seconds, ownStallSeconds: Math.round(loop.max / 1e8) / 10, meanwhile },
      said: said.map(([daemon, before]) => daemon.lines.slice(before)),
    })
  for (const [n, place] of places.entries())
    daemons[place] = way === 'left' ? undefined : (standing[n] ?? (await start(place)))
  standing = []
  await Promise.all(places.map(place => daemons[place]?.ready))
}

/** Who owns what by fence and by queue, who was seen when, and what the sessions of the database do and wait for. */
async function lookAround(): Promise<object> {
  const owners = await ask(
    url,
    `select owner, count(*)::int as shards, bool_or(pg_try_advisory_xact_lock(hashtextextended(owner, 0))) as is_gone
     from ingest.ownership group by 1`,
  )
  const replicas = await ask(
    url,
    `select owner, extract(epoch from ingest.clock() - seen_at)::float8 as seen from ingest.replica`,
  )
  const jobs = await ask(
    url,
    `select state::text, count(*)::int as jobs, max(extract(epoch from now() - heartbeat_on))::float8 as silent
     from ingest_jobs.job_common where name = 'shards' group by 1`,
  )
  const sessions = await ask(
    url,
    `select pid, application_name, state, wait_event, pg_blocking_pids(pid) as behind,
            extract(epoch from clock_timestamp() - xact_start)::float8 as since, left(query, 100) as query
     from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
  )
  return { owners, replicas, jobs, sessions }
}

/** Seconds from the cut until every process has claimed again, and until pages are stored. */
async function failOver(cut: () => Promise<void>): Promise<object> {
  const began = systemClock.monotonic()
  const since = `to_timestamp(${systemClock.now()} / 1000.0)`
  await cut()
  const promotedSeconds = secondsSince(began)
  record.forget()
  const is = async (question: string, otherwise: string) => {
    const isSo = () => ask(url, `select (${question}) as yes`).then(([row]) => row!.yes === true)
    if (!(await until(() => isSo().catch(() => false)))) faults.push(otherwise)
  }
  const claimed = `select count(*) = ${present().length} from ingest.replica where seen_at > ${since}`
  await is(claimed, 'not every process claimed again after the failover')
  const claimedSeconds = secondsSince(began)
  await is(`select max(updated_at) > ${since} from ingest.progress`, 'nothing was stored after the failover')
  return { promotedSeconds, claimedSeconds, storedSeconds: secondsSince(began) }
}

/** A rolling restart: each is told to end when the one before drains again, a pod when the next one is ready. */
async function restartAll(): Promise<void> {
  for (const place of daemons.keys()) {
    await shared()
    if (pods) standing = [await start(place)]
    await Promise.all(standing.map(({ ready }) => ready))
    await strike([place], 'ended')
  }
}

/** Shards, of these or of all, that a process owns. */
async function shardsOf(daemon: DaemonProcess, among?: readonly number[]): Promise<readonly number[]> {
  const rows = await ask(url, 'select shard, owner from ingest.ownership')
  const own = rows.filter(({ owner }) => daemon.isOwner(String(owner))).map(({ shard }) => Number(shard))
  return own.filter(shard => among?.includes(shard) ?? true)
}

/** Every process has its share, and none an app that it does not know and others do. */
async function shared(): Promise<void> {
  const isShared = await until(async () => {
    const owned = await Promise.all(
      daemons.map(async daemon => (daemon ? await shardsOf(daemon) : undefined)),
    )
    const isKnown = owned.every((all, place) => !all?.some(shard => strange[place]!.includes(shard)))
    const shares = owned.filter(all => all !== undefined)
    const isFair = shares.every(all => all.length > 0 && all.length <= Math.ceil(shards / shares.length))
    return isKnown && isFair && shares.flat().length === shards
  })
  if (!isShared) faults.push(`not shared after ${patience / second} s`)
}

function secondsSince(began: number): number {
  return Math.round((systemClock.monotonic() - began) / 100) / 10
}

async function until(isDone: () => Promise<boolean>): Promise<boolean> {
  const giveUp = systemClock.monotonic() + patience
  while (!(await isDone())) {
    if (systemClock.monotonic() > giveUp) return false
    await systemClock.sleep(100)
  }
  return true
}

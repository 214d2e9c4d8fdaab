/**
 * Runs the daemon as the chart does, its user, its root and its memory limit included, between a played school and a
 * database, and tells what it took. Twice a minute the image's health check and a command of the runbook run beside it,
 * within the same memory:
 *
 *   npm run chart-soak -- --for 10m --seed 1
 *
 * Ends with 1 where it was killed, a visitor failed, a limit was broken, or it did not have everything at the end.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareWith } from '../../sandbox/src/compare.ts'
import { openDemoWorld } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import type { World } from '../../src/commands/demo/setting.ts'
import { connect } from '../../src/postgres/connect.ts'
import { families } from '../../src/provider/operation.ts'
import { parseDuration } from '../../src/settings/values.ts'
import { type Cell, obstacle } from '../container/cell.ts'
import { execForm, readDockerfile, stageOf } from '../container/dockerfile.ts'
import { repository, textOf } from '../container/image.ts'
import { openMemoryGroup } from '../container/memory.ts'
import { ask } from '../support/embedded.ts'
import { startTestServer } from '../support/postgres.ts'
import { bytesOf } from './cluster.ts'
import { objectOf, reasonToSkip } from './helm.ts'
import { daemonPod, podOf } from './pods.ts'
import { openTrial, type Trial } from './trial.ts'

const { values } = parseArgs({
  options: { for: { type: 'string', default: '10m' }, seed: { type: 'string', default: '1' } },
})
const duration = parseDuration(values.for)
const reason = reasonToSkip ?? obstacle()
if (!duration) throw new Error(`--for ${values.for} is no duration: write one such as 10m`)
if (reason) throw new Error(`the chart's daemon cannot be started: ${reason}`)

/** ms between two looks at the daemon, and for which it may take in what is left: it looks at some lists once a minute. */
const lookEvery = 5_000
const patience = 180_000
const mebibyte = 1_048_576
/** Looks between two visits: as often as an engine asks for the health of a container. */
const visitEvery = 6

interface Look {
  readonly residentMiB: number
  /** Seconds that each stream is late. */
  readonly lags: readonly (readonly [stream: string, seconds: number])[]
}

await soak(duration, Number(values.seed))

async function soak(length: number, seed: number): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const server = await startTestServer()
  stack.defer(server.stop)
  const world: World = {
    ...openDemoWorld(systemClock, { speed: 1, seed }),
    services: new Set(families),
  }
  const trial = await openTrial({ set: 'production', sandbox: world.sandbox, server: server.url })
  stack.defer(trial.close)
  const migration = podOf(objectOf(trial.release, 'Job'))!
  const migrated = trial.node.start(migration, migration.containers[0]!)
  if ((await migrated.ended) !== 0) throw new Error(migrated.lines.join('\n'))

  const pod = daemonPod(trial.release)
  const [container] = pod.containers
  const limit = bytesOf(container!.resources!.limits!.memory!)
  const group = openMemoryGroup(limit)
  const memory = typeof group === 'string' ? undefined : group
  const daemon = trial.node.start(pod, container!, memory)
  await daemon.line(/"msg":"draining"/)
  const before = systemClock.now() - systemClock.monotonic()
  const visits = [readHealthcheck(), ['penstock', 'status', '--config', '/etc/penstock/penstock.yaml']]
  /** Runs what shares the container with its daemon now and then, and answers the exit codes that are not 0. */
  const visit = async () => {
    const codes: (number | null)[] = []
    for (const command of visits) {
      codes.push(await trial.node.start(pod, { ...container!, command, args: [] }, memory).ended)
    }
    return codes.filter(code => code !== 0)
  }
  const { looks, failedVisits } = await watch(daemon, trial, { length, visit })
  const jumped = systemClock.now() - systemClock.monotonic() - before

  world.sandbox.universe.pause()
  const { lost, duplicates } = await settle(world, trial)
  const heap = daemon.status().VmHWM
  const asked = systemClock.monotonic()
  daemon.terminate()
  const exit = await daemon.ended
  const { requests, violations, violationsByKind } = world.sandbox.status()
  const kinds = Object.entries(violationsByKind).filter(([, count]) => count > 0)
  const told = {
    seconds: length / 1_000,
    limitMiB: typeof group === 'string' ? group : limit / mebibyte,
    peakResidentMiB: Math.round(Number(heap?.[0]) / 1_024),
    lastResidentMiB: looks.at(-1)?.residentMiB,
    peakGroupMiB: memory?.peak() && Math.round(memory.peak()! / mebibyte),
    kills: memory?.kills(),
    failedVisits,
    ...{ rows: await rowsOf(trial), requests, violations, lost, duplicates },
    ...(kinds.length > 0 && { violationsByKind: Object.fromEntries(kinds) }),
    mostLagSeconds: mostLag(looks),
    // A machine that was put to sleep in between explains figures that are out of the way.
    clockJumpSeconds: Math.round(jumped / 1_000),
    ...{ exit, exitSeconds: Math.round(systemClock.monotonic() - asked) / 1_000 },
  }
  memory?.close()
  process.stdout.write(`${JSON.stringify(told)}\n`)
  if (exit !== 0 || told.kills || failedVisits || violations || lost || duplicates) process.exitCode = 1
}

/** The health check that an engine runs within the memory of the container. */
function readHealthcheck(): readonly string[] {
  const last = stageOf(readDockerfile(join(repository, 'Dockerfile')), 'daemon')
  return execForm(textOf(last, 'HEALTHCHECK').replace(/^CMD /, ''))
}

interface Watch {
  readonly length: number
  readonly visit: () => Promise<readonly (number | null)[]>
}

async function watch(daemon: Cell, trial: Trial, { length, visit }: Watch) {
  const looks: Look[] = []
  let failedVisits = 0
  const end = systemClock.monotonic() + length
  for (let left = length; left > 0; left = end - systemClock.monotonic()) {
    await systemClock.sleep(Math.min(left, lookEvery))
    const metrics = await fetch(`${trial.url}/metrics`).then(response => response.text())
    const lags = [...metrics.matchAll(/^penstock_lag_seconds\{.*stream="([^"]+)"\} (\S+)$/gm)].map(
      ([, stream, seconds]) => [stream!, Number(seconds)] as const,
    )
    const residentMiB = Math.round(Number(daemon.status().VmRSS![0]) / 1_024)
    looks.push({ residentMiB, lags })
    if (looks.length % visitEvery === 0) failedVisits += (await visit()).length
    process.stderr.write(`${Math.round((length - left) / 1_000)} s: ${residentMiB} MiB\n`)
  }
  return { looks, failedVisits }
}

/** How late each stream was at worst, in tenths of a second. */
function mostLag(looks: readonly Look[]): Readonly<Record<string, number>> {
  const most = new Map<string, number>()
  for (const [stream, seconds] of looks.flatMap(({ lags }) => lags)) {
    most.set(stream, Math.max(most.get(stream) ?? 0, Math.round(seconds * 10) / 10))
  }
  return Object.fromEntries(most)
}

/** Waits until the database has all that happened, or patience is over, and says what it lacks. */
async function settle({ sandbox, origin }: World, { databaseUrl }: Trial) {
  const pool = connect({
    url: databaseUrl,
    poolSize: 2,
    statementTimeout: 30_000,
    lockTimeout: 5_000,
    role: '',
  })
  try {
    const { check } = compareWith(pool, sandbox.truth(), { servedSince: origin })
    const giveUp = systemClock.monotonic() + patience
    for (;;) {
      const difference = await check()
      if (difference.lost === 0 || systemClock.monotonic() > giveUp) return difference
      await systemClock.sleep(500)
    }
  } finally {
    await pool.end()
  }
}

async function rowsOf({ databaseUrl }: Trial): Promise<Readonly<Record<string, number>>> {
  const tables = ['classroom.room', 'classroom.room_event', 'analytics.call', 'analytics.session_series']
  const counts = tables.map(async table => {
    const [row] = await ask(databaseUrl, `select count(*)::int as count from ${table}`)
    return [table, Number(row!.count)] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

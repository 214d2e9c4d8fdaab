import { once } from 'node:events'
import { createServer } from 'node:net'
import type pg from 'pg'
import type { Difference, Summary, TruthLine } from '../../sandbox/src/index.ts'
import { systemClock } from '../clock/system.ts'
import { connect } from '../postgres/connect.ts'
import { type Family, families } from '../provider/operation.ts'
import { createLog } from '../telemetry/log.ts'
import { countOf } from '../telemetry/wording.ts'
import { CommandError, type Ending, exitUsage, outputLost, untilToldToStop } from './cli/exit.ts'
import { leftLine, openScreen, printLines, type Screen } from './cli/output.ts'
import { head, type LogFile, openLogFile, progressColour, progressLine, summaryLines } from './demo/screen.ts'
import { type DemoSetting, demoConfig, freshDatabase, type World } from './demo/setting.ts'
import { type Daemon, startDaemon } from './run.ts'
import { loadEmbeddedPostgres, loadSandbox } from './wiring/installation.ts'

interface DemoOptions {
  /** ms after which it ends by itself. */
  readonly for?: number
  readonly json?: boolean
  readonly speed: number
  readonly seed: number
  readonly dataDir: string
  /** The services that are drained; all of them where it is absent. */
  readonly only?: readonly Family[]
}

/**
 * How long none of the rest may come once the world stands still, ms: at the end of its time, and when told to stop. While
 * some of it comes, the machine is slow and nothing is lost.
 */
const timeout = { timeUp: 20_000, told: 8_000 } as const

/** A call that began longer than this before the demo, ms, could be found in a search all the time. */
const callsServedAfter = 120_000

/** A player that was made or destroyed longer ago than this, ms, has been listed, or missing from lists, often enough. */
const playersServedAfter = 30_000

/** The port of Penstock's endpoints; any other is taken where this one is not free. */
const usualPort = 9464

/** Embedded Postgres, sandbox and daemon in one process, until SIGINT, SIGTERM, SIGHUP or the end of `for`. */
export async function demo(options: DemoOptions): Promise<void> {
  const drained = servicesOf(options)
  const judge = await loadSandbox()
  const screen = openScreen(options.json ? 'json' : 'text')
  const timeUp = new AbortController()
  const stopped = untilToldToStop(timeUp.signal)
  await using stack = new AsyncDisposableStack()

  screen.say(`starting Postgres in ${options.dataDir}`)
  const postgres = await startPostgres(options.dataDir)
  stack.defer(() => postgres.stop())
  const log = await openLogFile(options.dataDir)
  stack.defer(() => log.close())
  const databaseUrl = await freshDatabase(postgres.url)
  screen.say('made the database "demo" anew: each start begins a new school')

  const world: World = { ...judge.openDemoWorld(systemClock, options), services: drained }
  const provider = await judge.listen(world.sandbox)
  stack.defer(() => provider.close())
  const setting = { app: world.app, services: drained, dataDir: options.dataDir, providerUrl: provider.url }
  const daemon = await startDemoDaemon(setting, databaseUrl, log)
  let why: Ending | undefined
  stack.defer(() => daemon.stop(why))
  const pool = connect({
    url: databaseUrl,
    poolSize: 2,
    statementTimeout: 30_000,
    lockTimeout: 5_000,
    role: '',
  })
  stack.defer(() => pool.end())

  for (const line of head({
    ...{ ...wordsOf(options), url: daemon.url },
    ...{ databaseUrl, dataDir: options.dataDir, logPath: log.path },
  }))
    screen.say(line)
  const ended = new AbortController()
  if (options.for !== undefined) void systemClock.sleep(options.for, ended.signal).then(() => timeUp.abort())
  const telling = tellProgress({ judge, screen, daemon, pool, world, signal: ended.signal })
  why = await stopped
  ended.abort()
  await telling

  if (why === 'SIGHUP') screen.say('hung up: the demo ends as at Ctrl-C')
  const enough = why === 'time is up' ? timeout.timeUp : timeout.told
  const summary = await finish({ judge, screen, pool, world }, enough)
  await stack.disposeAsync()
  if (options.json) printLines([JSON.stringify(summary)])
  const { warnings, errors } = log.counts()
  const counts = `${warnings} warnings, ${errors} errors`
  for (const line of summaryLines(summary, { path: log.path, counts })) screen.say(line)
}

/** Call analytics counts in real time, so it is drained only where the world runs at the speed of the clock. */
function servicesOf({ speed, only = families }: DemoOptions) {
  const chosen = new Set(only.filter(service => service !== 'analytics' || speed === 1))
  if (chosen.size === 0) throw new CommandError('call analytics needs --speed 1', exitUsage)
  return chosen
}

function wordsOf({ speed, for: duration, only }: DemoOptions) {
  const off = only
    ? ` It drains nothing but ${only.join(' and ')}.`
    : speed === 1
      ? ''
      : ' Call analytics is off: its limits are in real time, so it needs --speed 1.'
  const pace = speed === 1 ? 'in real time' : `at ${speed} times the speed of the clock`
  return {
    classes: `A sandbox plays a school ${pace}; the daemon drains it into Postgres.${off}`,
    ends:
      duration === undefined
        ? 'Ctrl-C drains what is left and stops everything.'
        : `Ends after ${duration / 1_000} s; Ctrl-C ends it earlier.`,
  }
}

async function startPostgres(dataDir: string) {
  const { EmbeddedPostgresError, startEmbedded } = await loadEmbeddedPostgres()
  try {
    return await startEmbedded({ dataDir, clock: systemClock, whenOwned: 'refuse' })
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError) || error.kind !== 'owned') throw error
    const who = /process \d+/.exec(error.message)?.[0] ?? 'another process'
    throw new CommandError(
      `a demo or daemon is running here already (${who} uses ${dataDir}): stop it first, or choose another directory with --data-dir`,
      1,
      { cause: error },
    )
  }
}

async function startDemoDaemon(
  setting: Omit<DemoSetting, 'listenPort'>,
  databaseUrl: string,
  destination: LogFile,
): Promise<Daemon> {
  const listenPort = (await isFree(usualPort)) ? usualPort : 0
  const config = await demoConfig({ ...setting, listenPort })
  const log = createLog({ level: 'info', clock: systemClock, secrets: () => [], destination })
  return startDaemon({ config, databaseUrl, log })
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (free) await new Promise(resolve => server.close(resolve))
  return free
}

interface Scene {
  /** What holds the rows against the played world. */
  readonly judge: Awaited<ReturnType<typeof loadSandbox>>
  readonly screen: Screen
  readonly pool: pg.Pool
  readonly world: World
}

/** Tells how it goes until the signal aborts. What cannot be read now is told the next time. */
async function tellProgress(scene: Scene & { readonly daemon: Daemon; readonly signal: AbortSignal }) {
  const { judge, screen, daemon, pool, world, signal } = scene
  let last = { rows: 0, at: systemClock.monotonic() }
  for (;;) {
    await systemClock.sleep(screen.every, signal)
    if (signal.aborted) return
    try {
      const figures = await judge.readFigures(daemon.url, pool)
      const at = systemClock.monotonic()
      const rowsPerSecond = ((figures.rows - last.rows) * 1_000) / (at - last.at)
      last = { rows: figures.rows, at }
      const lag = await judge.readLag(pool, world, recently(world))
      const { violations } = world.sandbox.status()
      screen.progress(
        progressLine(figures, { rowsPerSecond, lag, violations }),
        progressColour(figures, violations),
      )
    } catch {
      screen.progress('the daemon or its database does not answer; see the log', 'red')
    }
  }
}

/** Ten seconds ago, in the world's time, and never before its beginning. */
function recently({ sandbox, speed, origin }: World): number {
  return Math.max(origin, sandbox.universe.now() - 10_000 * speed)
}

/** Lets the world stand still, waits until the daemon has everything, brings no more or nobody looks, and counts. */
async function finish(scene: Scene, timeoutMs: number): Promise<Summary> {
  const { judge, screen, pool, world } = scene
  const { sandbox, app, origin, services, speed } = world
  sandbox.universe.pause()
  screen.say('the school stands still; the daemon reads what is left')
  const playersUntil = sandbox.universe.happened() - playersServedAfter * speed
  const { check: compare } = judge.compareWith(pool, drainedOf(world), {
    servedSince: origin,
    ...(services.has('analytics') && { callsUntil: origin - callsServedAfter }),
  })
  const check = async () => {
    const players = services.has('players')
      ? await judge.comparePlayers(pool, app.id, sandbox.players(app.id), playersUntil)
      : judge.noDifference
    return judge.addDifferences(await compare(), players)
  }
  let difference: Difference = await check()
  const [most, begun] = [difference.lost, systemClock.monotonic()]
  let giveUp = begun + timeoutMs
  let told = begun
  while (difference.lost > 0 && systemClock.monotonic() < giveUp && !outputLost.aborted) {
    await systemClock.sleep(250)
    const { lost } = difference
    difference = await check()
    const now = systemClock.monotonic()
    if (difference.lost < lost) giveUp = now + timeoutMs
    if (now - told < screen.every) continue
    told = now
    screen.progress(leftLine(difference.lost, most, now - begun, left => countOf(left, 'row')))
  }
  const lag = await judge.readLag(pool, world, origin)
  const { requests, violations } = sandbox.status()
  const { rows, dead_letters, gaps } = await judge.readTotals(pool)
  return { rows, requests, violations, ...difference, dead_letters, gaps, lag_seconds: lag ?? null }
}

/** What happened, without the rooms where nobody drains them. */
function* drainedOf({ sandbox, services }: World): Iterable<TruthLine> {
  for (const line of sandbox.truth()) if (line.kind === 'call' || services.has('classroom')) yield line
}

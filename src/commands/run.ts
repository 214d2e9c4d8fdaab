import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { within } from '../clock/clock.ts'
import { exitWithin } from '../clock/system.ts'
import { offTexts } from '../config/availability.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { Engine } from '../engine/supervisor.ts'
import { createNotificationHandler } from '../http/notifications.ts'
import { connectionProblem, readOnlyProblem } from '../postgres/connect.ts'
import { migrateUp } from '../postgres/migrate.ts'
import { isAnyShardOwned } from '../postgres/ownership.ts'
import { createNotificationStore } from '../postgres/players.ts'
import { readStatus, readTimelines } from '../postgres/status.ts'
import { cloudPlayers } from '../streams/cloud-players.ts'
import { type Access, readAccess } from '../telemetry/access.ts'
import { startHeartbeat } from '../telemetry/event-loop.ts'
import type { FlushableLog, LogLevel } from '../telemetry/log.ts'
import { type Notifications, startNotifications } from '../telemetry/notifications.ts'
import { createPage } from '../telemetry/page/page.ts'
import type { ProcessStatus } from '../telemetry/process-status.ts'
import { startServer } from '../telemetry/server.ts'
import { createStatus, type Status, watchVerdict } from '../telemetry/status.ts'
import { restOf } from './app-settings.ts'
import { CommandError, type Ending, hasTerminal, untilToldToStop } from './cli/exit.ts'
import { forecastWarnings } from './forecast.ts'
import { followFile, type Reloading, sightingOf, type Trigger, takeOver } from './reload.ts'
import { assertMigrated, briefly, missingMigrations, openDatabase } from './wiring/database.ts'
import { openEndpoints } from './wiring/endpoints.ts'
import { version } from './wiring/installation.ts'
import { type DaemonOptions, openParts, type Parts } from './wiring/parts.ts'

/** Connections are closed at once, or by a database that does not answer, ms. */
const CLOSE_DEADLINE_MS = 500

/** What is open still then, a connection to a database that does not answer, holds the process no longer than this, ms. */
const LEFT_OPEN_MS = 250

/**
 * The daemon, until SIGTERM or SIGINT, or the end of its terminal; without one SIGHUP has the configuration read again. An
 * embedded database is migrated; any other must have been. It also ends when nobody reads its log any more: one that runs
 * mute would hide what goes wrong, and whoever started it starts it anew, with a log.
 */
export async function run({ config: path }: { readonly config: string }): Promise<void> {
  const seen = await sightingOf(path)
  const read = () => loadConfig(path, { env: process.env })
  const config = await read()
  let isAsked = false
  let ask = () => {
    isAsked = true
  }
  const stopped = untilToldToStop(undefined, hasTerminal() ? undefined : () => ask())
  const database = await openDatabase(config, 'refuse')
  try {
    if (database.isEmbedded) await migrateUp({ url: database.url })
    const away = database.isEmbedded ? undefined : await assertMigrated(config, database.url)
    const daemon = await startDaemon({ config, databaseUrl: database.url })
    if (away) daemon.log.warn('waiting for the database', { reason: away })
    followLevel(daemon)
    ask = daemon.follow({ path, seen, read })
    if (isAsked) ask()
    for (const warning of [...config.warnings, ...forecastWarnings(config)]) daemon.log.warn(warning)
    await daemon.stop(await stopped)
  } finally {
    await database.stop()
    exitWithin(LEFT_OPEN_MS)
  }
}

/** SIGUSR2 has everything logged, and once more what the configuration says. */
function followLevel(daemon: Daemon): void {
  let isAll = false
  process.on('SIGUSR2', () => {
    isAll = !isAll
    const level = isAll ? 'debug' : daemon.configuredLevel
    daemon.log.setLevel(level)
    daemon.log.warn('the log level was changed', { to: level })
  })
}

/** Connects everything to everything and begins to drain. Rejects when the endpoints cannot be served. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const daemon = await openDaemon(options)
  await daemon.serve()
  return daemon
}

/** The same, without endpoints as long as they are not served. */
export async function openDaemon(options: DaemonOptions): Promise<Daemon> {
  const parts = await openParts(options, () => engine.owned().apps)
  const engine = new Engine(parts)
  return new Daemon({ ...parts, engine })
}

type DaemonParts = Parts & { readonly engine: Engine }

/** A running daemon with its endpoints. */
export class Daemon {
  readonly log: FlushableLog
  readonly #parts: DaemonParts
  readonly #endpoints: ReturnType<typeof openEndpoints>
  readonly #heartbeat: ReturnType<typeof startHeartbeat>
  /** Takes what the provider tells of cloud players; undefined where the configuration does not know their service. */
  readonly notifications: Notifications | undefined
  readonly #startedAt: string
  readonly #status: () => Promise<Status>
  readonly #watching = new AbortController()
  #url = ''
  #isDraining = false
  #isServed = false
  #isListening = false
  #stopping: Promise<void> | undefined

  constructor(parts: DaemonParts) {
    const { current, log, meter } = parts
    this.#parts = parts
    this.log = log
    this.#startedAt = new Date(parts.clock.now()).toISOString()
    this.#heartbeat = startHeartbeat(parts.clock)
    this.#status = createStatus({
      ...{ clock: parts.clock, log, own: () => this.#own() },
      pauseOf: (id, stream) => {
        const app = parts.current.app(id)
        return app && restOf(app, stream)
      },
      read: () => parts.ask(readStatus),
      answers: parts.answers,
    })
    this.notifications = notificationsOf(parts)
    this.#endpoints = openEndpoints(current.config(), log, section => meter.connectionRefused(section))
  }

  /** Address of the endpoints. */
  get url(): string {
    return this.#url
  }

  /** What the configuration says now. */
  get configuredLevel(): LogLevel {
    return this.#parts.current.config().log.level
  }

  /** Takes over what the file of the configuration says when it changes. What is answered asks for it at once. */
  follow(file: Pick<Reloading, 'path' | 'seen' | 'read'>): () => void {
    const { clock, credentials, log, meter } = this.#parts
    const { hasNewKey } = credentials
    const refused = (why: object) => {
      log.error('the configuration cannot be taken over: nothing changes', why)
      meter.configured('refused')
      meter.configInForce(false)
    }
    const signal = this.#watching.signal
    const takingOver = (next: Config, on: Trigger) => this.takeOver(next, on)
    return followFile({ ...file, clock, hasNewKey, signal, refused, takeOver: takingOver }).ask
  }

  /** Takes over another configuration, as `takeOver` says. Throws SecretError, and nothing has changed then. */
  takeOver(next: Config, on: Trigger): Promise<void> {
    const listen = () =>
      this.#listen().then(
        () => undefined,
        (error: unknown) => String(error instanceof Error ? error.message : error),
      )
    return takeOver({ ...this.#parts, listen }, next, on)
  }

  /** All metrics, as /metrics shows them. */
  scrape(): Promise<string> {
    return this.#parts.meter.scrape()
  }

  /** How it goes, as /status tells it. */
  status(): Promise<Status> {
    return this.#status()
  }

  /** Gives everything back where the endpoints cannot be served. */
  async serve(): Promise<void> {
    const { log } = this.#parts
    const config = this.#parts.current.config()
    this.#isServed = true
    try {
      const noticesUrl = await this.#listen()
      this.#url = await this.#serveHttp()
      this.#watchVerdict()
      for (const text of offTexts(config)) log.info('streams are off', { reason: text })
      log.info('draining', {
        ...{ url: this.#url, apps: config.apps.length, version },
        ...(noticesUrl && { notifications: noticesUrl }),
      })
    } catch (error) {
      await this.#release()
      throw error
    }
  }

  /** Says why, drains, gives everything back, and resolves. A second call waits for the first. */
  stop(why?: Ending): Promise<void> {
    this.#stopping ??= this.#stop(why)
    return this.#stopping
  }

  /** Once, as soon as an app has a secret for notifications; answers where. Throws CommandError. */
  async #listen(): Promise<string | undefined> {
    const { notifications } = this
    const isIdle =
      !this.#isServed || this.#isListening || this.#isDraining || this.#parts.signers.length === 0
    if (!notifications || isIdle) return undefined
    const url = await this.#endpoints.serve('notifications', listening =>
      startNotifications(notifications, listening),
    )
    this.#isListening = true
    this.log.info('notifications are taken', { url: `${url}/notifications` })
    return `${url}/notifications`
  }

  async #serveHttp(): Promise<string> {
    const { clock, current, log, meter, pool, readings, streams } = this.#parts
    const status = this.#status
    const page = createPage({ clock, log, status, streams, readTimelines: () => readTimelines(readings) })
    const access = await accessOf(current.config().http.accessFile)
    const health = { alive: this.#heartbeat.alive, notReady: () => notReady(pool, this.#isDraining) }
    return await this.#endpoints.serve('http', listening =>
      startServer({ ...listening, meter, health, status, page, access }),
    )
  }

  #watchVerdict(): void {
    const { clock, log, meter } = this.#parts
    void watchVerdict({
      ...{ clock, log, status: this.#status, signal: this.#watching.signal },
      told: state => meter.verdict(state),
    })
  }

  /** What this process knows without asking the database. */
  #own() {
    const { current, engine, meter, owner } = this.#parts
    const owned = engine.owned()
    const process: ProcessStatus = {
      ...{ owner, startedAt: this.#startedAt, isDraining: this.#isDraining, apps: owned.apps },
      acceptedLosses: current
        .config()
        .apps.flatMap(({ id, acceptLoss }) => acceptLoss.map(stream => ({ app: id, stream }))),
      ...meter.reading(owned.apps),
    }
    return { version, ...owned, process }
  }

  async #stop(why: Ending | undefined): Promise<void> {
    this.#isDraining = true
    this.#watching.abort()
    this.log.info('stopping: pages in hand are finished first', why && { why })
    await this.#release()
    this.log.info('stopped')
    this.log.flush()
  }

  async #release(): Promise<void> {
    const { clock, engine, transport, ownership, pool, readings, meter } = this.#parts
    await engine.stop()
    // What is under way still was given up: nobody would store it.
    transport.giveUp()
    const closing = Promise.all([transport.close(), ownership.close(), pool.end(), readings.end()])
    await within(clock, CLOSE_DEADLINE_MS, closing, undefined)
    this.#heartbeat.stop()
    meter.close()
    await this.#endpoints.close()
  }
}

/** Who may see page, status and metrics. Throws CommandError where the file does not say. */
async function accessOf(file: string | undefined): Promise<Access | undefined> {
  if (file === undefined) return undefined
  const line = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`http.accessFile cannot be read (${error.code ?? 'unknown'})`)
  })
  const access = readAccess(line)
  if (!access) throw new CommandError('http.accessFile does not hold a line that `penstock password` prints')
  return access
}

/** What answers POST /notifications; undefined where there are no players. */
function notificationsOf({
  current,
  signers,
  store,
  pool,
  engine,
  meter,
  log,
}: DaemonParts): Notifications | undefined {
  const { players } = current.config().provider
  if (!players) return undefined
  const take = createNotificationHandler({
    ...{ signers, store, meter, log, notifications: createNotificationStore(pool, current.config().store) },
    // A notice makes the list of the app's players due.
    want: app => engine.schedule(app, cloudPlayers.name),
    stream: cloudPlayers.name,
    headers: { sha1: players.signatureHeader, sha256: players.signatureHeaderV2 },
  })
  return { take, turnAway: why => meter.notification(undefined, why) }
}

/**
 * Why this process cannot do its work now, as words for the readiness probe. One that waits beside the owner of the
 * apps is ready: it takes over within seconds.
 */
async function notReady(pool: pg.Pool, draining: boolean): Promise<readonly string[]> {
  if (draining) return ['draining']
  const problem = (await connectionProblem(pool)) ?? (await readOnlyProblem(pool))
  if (problem) return [problem]
  const missing = await missingMigrations(pool)
  if (missing.length > 0) return [`migrations are missing: ${briefly(missing)}; run \`penstock migrate up\``]
  return (await isAnyShardOwned(pool)) ? [] : ['nobody owns the apps']
}

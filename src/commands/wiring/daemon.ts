import { hostname } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type pg from 'pg'
import type { Clock, Random } from '../../clock/clock.ts'
import { systemClock, systemRandom } from '../../clock/system.ts'
import { offTexts } from '../../config/availability.ts'
import type { Config } from '../../config/config.ts'
import { knownSecrets } from '../../config/known-secrets.ts'
import { createLoad } from '../../engine/admission/load.ts'
import { createQueue, type Queue } from '../../engine/admission/queue.ts'
import { type Ownership, StoreUnavailable } from '../../engine/ports.ts'
import type { AppSettings } from '../../engine/settings.ts'
import { Engine } from '../../engine/supervisor.ts'
import type { Agency } from '../../http/exchange.ts'
import { createNotificationHandler, noticeOutcomes } from '../../http/notifications.ts'
import { connect, connectionProblem, type Driver } from '../../postgres/connect.ts'
import { storeError } from '../../postgres/errors.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { createOwnership, isAnyShardOwned, type OwnershipSession } from '../../postgres/ownership.ts'
import { createNotificationStore } from '../../postgres/players.ts'
import { readStatus, readStoreGauges } from '../../postgres/status.ts'
import { createStore } from '../../postgres/store.ts'
import { called } from '../../provider/operation.ts'
import { cloudPlayers } from '../../streams/cloud-players.ts'
import { configuredStreams } from '../../streams/index.ts'
import { rejectReasons } from '../../streams/page.ts'
import type { Stream } from '../../streams/stream.ts'
import { startHeartbeat } from '../../telemetry/event-loop.ts'
import type { QualityQuestion } from '../../telemetry/gauges.ts'
import { createLog, type FlushableLog } from '../../telemetry/log.ts'
import { PrometheusMeter } from '../../telemetry/metrics.ts'
import { type Notifications, startNotifications, turnedAway } from '../../telemetry/notifications.ts'
import { startServer } from '../../telemetry/server.ts'
import { createStatus } from '../../telemetry/status.ts'
import type { Ending } from '../cli/exit.ts'
import { deploymentOf, engineSettings, ownershipTtl, shards } from '../engine-settings.ts'
import { connectOptions, missingMigrations } from './database.ts'
import { Endpoints } from './endpoints.ts'
import { version } from './installation.ts'
import { credentialsOf, databasePassword, openTransport, signersIn } from './services.ts'

interface DaemonOptions {
  readonly config: Config
  /** Postgres address; the one of an embedded Postgres where the config says so. */
  readonly databaseUrl: string
  readonly log?: FlushableLog
  /** The one that this program runs on, unless told. */
  readonly machine?: Machine
}

/** What a daemon is given by the machine that it runs on: time, chance, and its ways to the provider and the database. */
export interface Machine {
  readonly clock: Clock
  readonly random: Random
  readonly queue: Queue
  readonly agent?: Agency | undefined
  readonly driver?: Driver | undefined
  /** Tells processes apart, also on one machine and after a restart. */
  readonly owner: string
}

/** The real-time values of whole projects that are asked for, of the apps named. */
export function qualityAsked(
  streams: readonly Stream[],
  apps: readonly AppSettings[],
  owned: readonly string[],
): readonly QualityQuestion[] {
  const mine = new Set(owned)
  const telling = streams.filter(stream => stream.kind === 'window' && stream.tellsQuality)
  return apps
    .filter(({ id }) => mine.has(id))
    .flatMap(({ id, windows }) =>
      telling
        .flatMap(({ name }) => windows[name]?.series ?? [])
        .filter(({ ask }) => ask.cname === undefined && ask.uids === undefined)
        .map(({ ask }) => ({ app: id, product: ask.productType!, metric: ask.metric! })),
    )
}

/** Connects everything to everything and begins to drain. Rejects when the endpoints cannot be served. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const daemon = await openDaemon(options)
  await daemon.serve()
  return daemon
}

/** The same, without endpoints as long as they are not served. */
export async function openDaemon(options: DaemonOptions): Promise<Daemon> {
  return new Daemon(await openParts(options))
}

function thisMachine(): Machine {
  return {
    ...{ clock: systemClock, random: systemRandom, queue: createQueue() },
    owner: `${hostname()}/${process.pid}/${systemRandom.uuid().slice(0, 8)}`,
  }
}

/** How long the database may take for one statement of what is read for people and for metrics, ms. */
const readingTimeout = 3_000

type Parts = Awaited<ReturnType<typeof openParts>>

/** Everything that the engine stands on. */
async function openParts({ config, databaseUrl, machine = thisMachine(), ...options }: DaemonOptions) {
  const { clock, random, queue, agent, driver, owner } = machine
  const credentials = await credentialsOf(config, clock)
  const signers = await signersIn(config, clock)
  const secrets = () => [...credentials.known(), ...knownSecrets(config)]
  const log = options.log ?? createLog({ level: config.log.level, clock, secrets })
  const settings = engineSettings(config)
  const streams = configuredStreams(deploymentOf(config), config.streams)
  const password = await databasePassword(config, clock)
  const connection = { ...connectOptions(config, databaseUrl), password, driver }
  const pool = connect(connection)
  /** Reading how it goes must not keep a page from being stored. */
  const readings = connect({ ...connection, poolSize: 1, statementTimeout: readingTimeout })
  const store = createStore(pool, {
    streams,
    roomMemory: settings.roomMemory,
    region: app => settings.apps.find(each => each.id === app)?.region ?? '',
    sequenceScope: settings.reading.sequenceScope,
    retention: config.retention,
  })
  const meter = new PrometheusMeter({
    clock,
    version,
    streams: streams.map(stream => stream.name),
    operations: streams.map(stream => stream.operation.name),
    rejectReasons,
    noticeOutcomes: [...noticeOutcomes, ...turnedAway],
    noticeApps: signers.map(({ app }) => app),
    qualityAsked: () => qualityAsked(streams, settings.apps, engine.owned().apps),
    storeGauges: () => readStoreGauges(readings),
  })
  const ownership = onceMigrated(createOwnership({ ...connection, owner, shards, ttl: ownershipTtl }), pool)
  const transport = await openTransport(config, {
    ...{ clock, random, agent, credentials },
    deadline: settings.deadline,
    onUnframed: operation => {
      meter.unframed(operation)
      log.debug('an answer ended only with its connection', { operation: called(operation) })
    },
  })
  const engine = new Engine({
    ...{ store, ledger: createLedger(pool), ownership, transport, meter, log, settings, streams },
    ...{ clock, random, queue },
    load: createLoad(roomForAnswers()),
  })
  return { clock, config, log, signers, pool, readings, store, meter, ownership, transport, engine }
}

/** A running daemon with its endpoints. */
export class Daemon {
  readonly log: FlushableLog
  readonly #parts: Parts
  readonly #endpoints: Endpoints
  readonly #heartbeat: ReturnType<typeof startHeartbeat>
  /** Takes what the provider tells of cloud players; undefined where no app has a secret for it. */
  readonly notifications: Notifications | undefined
  #url = ''
  #isDraining = false
  #stopping: Promise<void> | undefined

  constructor(parts: Parts) {
    const { config, log, meter } = parts
    this.#parts = parts
    this.log = log
    this.#heartbeat = startHeartbeat(parts.clock)
    this.notifications = notificationsOf(parts)
    this.#endpoints = new Endpoints(config, log, section => meter.connectionRefused(section))
  }

  /** Address of the endpoints. */
  get url(): string {
    return this.#url
  }

  /** Gives everything back where the endpoints cannot be served. */
  async serve(): Promise<void> {
    const { config, log } = this.#parts
    const { notifications } = this
    try {
      const noticesUrl =
        notifications &&
        (await this.#endpoints.serve('notifications', listening =>
          startNotifications(notifications, listening),
        ))
      this.#url = await this.#serveHttp()
      for (const text of offTexts(config)) log.info('streams are off', { reason: text })
      log.info('draining', {
        ...{ url: this.#url, apps: config.apps.length, version },
        ...(noticesUrl && { notifications: `${noticesUrl}/notifications` }),
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

  #serveHttp(): Promise<string> {
    const { log, meter, engine, pool, readings } = this.#parts
    const status = createStatus({
      ...{ clock: this.#parts.clock, log, own: () => ({ version, ...engine.owned() }) },
      read: () => readStatus(readings),
    })
    const health = { alive: this.#heartbeat.alive, notReady: () => notReady(pool, this.#isDraining) }
    return this.#endpoints.serve('http', listening => startServer({ ...listening, meter, health, status }))
  }

  async #stop(why: Ending | undefined): Promise<void> {
    this.#isDraining = true
    this.log.info('stopping: pages in hand are finished first', why && { why })
    await this.#release()
    this.log.info('stopped')
    this.log.flush()
  }

  async #release(): Promise<void> {
    const { engine, transport, ownership, pool, readings, meter } = this.#parts
    await engine.stop()
    await transport.close()
    await ownership.close()
    await Promise.all([pool.end(), readings.end()])
    this.#heartbeat.stop()
    meter.close()
    await this.#endpoints.close()
  }
}

/** What answers POST /notifications; undefined where no app has a secret for them. */
function notificationsOf({
  config,
  signers,
  store,
  pool,
  engine,
  meter,
  log,
}: Parts): Notifications | undefined {
  const { players } = config.provider
  if (!players || signers.length === 0) return undefined
  const take = createNotificationHandler({
    ...{ signers, store, meter, log, notifications: createNotificationStore(pool) },
    // A notice makes the list of the app's players due.
    want: app => engine.schedule(app, cloudPlayers.name),
    stream: cloudPlayers.name,
    headers: { sha1: players.signatureHeader, sha256: players.signatureHeaderV2 },
  })
  return { take, turnAway: why => meter.notification(undefined, why) }
}

/** SQLSTATE of what migrations would have made. */
const undefinedTable = '42P01'

/** A database that was away at the start is looked at once more before anything is owned in it. */
function onceMigrated(ownership: OwnershipSession, pool: pg.Pool) {
  let isMigrated = false
  const claim: Ownership['claim'] = async () => {
    const missing = isMigrated
      ? []
      : await missingMigrations(pool).catch((error: unknown) => {
          throw storeError(error)
        })
    if (missing.length > 0) throw new StoreUnavailable(undefinedTable)
    isMigrated = true
    return await ownership.claim()
  }
  return { ...ownership, claim }
}

/**
 * Why this process cannot do its work now, as words for the readiness probe. One that waits beside the owner of the
 * apps is ready: it takes over within seconds.
 */
async function notReady(pool: pg.Pool, draining: boolean): Promise<readonly string[]> {
  if (draining) return ['draining']
  const problem = await connectionProblem(pool)
  if (problem) return [problem]
  const missing = await missingMigrations(pool)
  if (missing.length > 0) return [`migrations are missing: ${missing.join(', ')}`]
  return (await isAnyShardOwned(pool)) ? [] : ['nobody owns the apps']
}

/** Bytes of heap, and of buffers beside it, that a page takes for each byte of its body before it is stored. */
const COPIES = 18

/** Share of the heap that may be pages; the rest is the program, and what has not been collected yet. */
const SHARE = 0.5

/** Bytes of answers that may be under way and being worked on together, as the heap of this process allows. */
function roomForAnswers(): number {
  return Math.floor((getHeapStatistics().heap_size_limit * SHARE) / COPIES)
}

import { hostname } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type pg from 'pg'
import type { Clock, Random } from '../../clock/clock.ts'
import { offTexts } from '../../config/availability.ts'
import type { Config } from '../../config/config.ts'
import { knownSecrets } from '../../config/known-secrets.ts'
import { createLoad } from '../../engine/admission/load.ts'
import { createQueue } from '../../engine/admission/queue.ts'
import { type Ownership, StoreUnavailable } from '../../engine/ports.ts'
import { type Engine, startEngine } from '../../engine/supervisor.ts'
import { createTransport } from '../../http/transport.ts'
import { connect, connectionProblem } from '../../postgres/connect.ts'
import { storeError } from '../../postgres/errors.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { createNotificationStore } from '../../postgres/notifications.ts'
import { createOwnership, isAnyShardOwned } from '../../postgres/ownership.ts'
import { readStatus } from '../../postgres/status.ts'
import { createStore } from '../../postgres/store.ts'
import { readStoreGauges } from '../../postgres/store-gauges.ts'
import { called } from '../../provider/operation.ts'
import { configuredStreams } from '../../streams/index.ts'
import { rejectReasons } from '../../streams/stream.ts'
import { startHeartbeat } from '../../telemetry/event-loop.ts'
import type { RunningServer } from '../../telemetry/listener.ts'
import type { FlushableLog } from '../../telemetry/log.ts'
import { createLog } from '../../telemetry/log.ts'
import { PrometheusMeter } from '../../telemetry/metrics.ts'
import { startNotifications } from '../../telemetry/notifications.ts'
import { startServer } from '../../telemetry/server.ts'
import { createStatus } from '../../telemetry/status.ts'
import { qualityAsked } from '../analytics-settings.ts'
import type { Ending } from '../cli/exit.ts'
import { CommandError, exitFailed } from '../cli/exit.ts'
import { deploymentOf, engineSettings, ownershipTtl, shards } from '../engine-settings.ts'
import { connectOptions, missingMigrations } from './database.ts'
import { allNoticeOutcomes, notificationsOf, signersIn } from './endpoints.ts'
import { version } from './installation.ts'
import { credentialsOf, databasePassword, providersOf } from './services.ts'

/** A running daemon with its endpoints. */
export interface Daemon {
  /** Address of the endpoints. */
  readonly url: string
  readonly engine: Engine
  readonly log: FlushableLog
  /** Says why, drains, gives everything back, and resolves. A second call waits for the first. */
  readonly stop: (why?: Ending) => Promise<void>
}

export interface DaemonOptions {
  readonly config: Config
  /** Postgres address; the one of an embedded Postgres where the config says so. */
  readonly databaseUrl: string
  readonly clock: Clock
  readonly random: Random
  readonly log?: FlushableLog
}

/** Connects everything to everything and begins to drain. Rejects when the endpoints cannot be served. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, clock, random } = options
  const credentials = await credentialsOf(config, clock)
  const signers = await signersIn(config)
  const secrets = () => [...credentials.known(), ...knownSecrets(config)]
  const log = options.log ?? createLog({ level: config.log.level, clock, secrets })
  const settings = engineSettings(config)
  const password = await databasePassword(config, clock)
  const connection = { ...connectOptions(config, options.databaseUrl), password }
  const streams = configuredStreams(deploymentOf(config))
  const pool = connect(connection)
  /** Whoever reads how it goes must not keep a page from being stored. */
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
    noticeOutcomes: allNoticeOutcomes,
    noticeApps: signers.map(({ app }) => app),
    qualityAsked: () => qualityAsked(settings.apps, engine.owned().apps),
    storeGauges: () => readStoreGauges(readings),
  })
  const ownership = onceMigrated(
    createOwnership({ ...connection, owner: ownerName(random), shards, ttl: ownershipTtl }),
    pool,
  )
  const transport = createTransport({
    clock,
    random,
    providers: providersOf(config),
    proxy: await config.provider.proxy?.reveal(),
    credentials,
    limits: { total: settings.deadline },
    userAgent: `penstock/${version}`,
    onUnframed: operation => {
      meter.unframed(operation)
      log.debug('an answer ended only with its connection', { operation: called(operation) })
    },
  })
  const context = { store, ledger: createLedger(pool), ownership, transport, meter, log, clock, random }
  const engine = startEngine({
    ...context,
    settings,
    streams,
    queue: createQueue(),
    load: createLoad(roomForAnswers()),
  })

  const heartbeat = startHeartbeat({ clock })
  const draining = { now: false }
  const release = async () => {
    await engine.stop()
    await transport.close()
    await ownership.close()
    await Promise.all([pool.end(), readings.end()])
    heartbeat.stop()
    meter.close()
  }
  const servers: RunningServer[] = []
  const listenAt = (section: 'http' | 'notifications') => ({
    ...{
      listen: listenAddress(config, section),
      refused: () => meter.connectionRefused(section),
      clock,
      log,
    },
  })
  const closeServers = () => Promise.all(servers.map(server => server.close()))
  const serve = async (section: 'http' | 'notifications', server: Promise<RunningServer>) => {
    const running = await server.catch(async (error: unknown) => {
      await release()
      await closeServers()
      throw unservable(config, section, error)
    })
    servers.push(running)
    return running.url
  }
  const notifications = notificationsOf({
    ...{ config, signers, store, meter, log },
    notifications: createNotificationStore(pool),
    want: app => engine.schedule(app, 'cloud-players'),
  })
  const noticesUrl =
    notifications &&
    (await serve('notifications', startNotifications(notifications, listenAt('notifications'))))
  const endpoints = startServer({
    ...listenAt('http'),
    meter,
    health: { alive: heartbeat.alive, notReady: () => notReady(pool, draining.now) },
    status: createStatus({
      ...{ clock, log, own: () => ({ version, ...engine.owned() }), read: () => readStatus(readings) },
    }),
  })
  const url = await serve('http', endpoints)
  for (const text of offTexts(config)) log.info('streams are off', { reason: text })
  log.info('draining', {
    ...{ url, apps: config.apps.length, version },
    ...(noticesUrl && { notifications: `${noticesUrl}/notifications` }),
  })

  let stopping: Promise<void> | undefined
  const stop = async (why?: Ending) => {
    draining.now = true
    log.info('stopping: pages in hand are finished first', why && { why })
    await release()
    await closeServers()
    log.info('stopped')
    log.flush()
  }
  return {
    url,
    engine,
    log,
    stop: why => {
      stopping ??= stop(why)
      return stopping
    },
  }
}

/** How long the database may take for one statement of what is read for people and for metrics, ms. */
const readingTimeout = 3_000

/** Tells processes apart, also on one machine and after a restart. */
function ownerName(random: Random): string {
  return `${hostname()}/${process.pid}/${random.uuid().slice(0, 8)}`
}

function listenAddress(config: Config, section: 'http' | 'notifications'): string {
  const { listen } = config[section]
  return listen.host.includes(':') ? `[${listen.host}]:${listen.port}` : `${listen.host}:${listen.port}`
}

/** What to do when the endpoints cannot be served. */
function unservable(config: Config, section: 'http' | 'notifications', cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code !== 'EADDRINUSE' && code !== 'EADDRNOTAVAIL' && code !== 'EACCES') return cause
  return new CommandError(
    `${section === 'http' ? 'the endpoints' : 'notifications'} cannot be served at ${listenAddress(config, section)} (${code}): choose another ${section}.listen`,
    exitFailed,
    { cause },
  )
}

/** SQLSTATE of what migrations would have made. */
const undefinedTable = '42P01'

function refuse(error: unknown): never {
  throw storeError(error)
}

/** A database that was away at the start is looked at once more before anything is owned in it. */
function onceMigrated<O extends Ownership>(ownership: O, pool: pg.Pool): O {
  let isMigrated = false
  const claim = async () => {
    const missing = isMigrated ? [] : await missingMigrations(pool).catch(refuse)
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

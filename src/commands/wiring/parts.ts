import { hostname } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type pg from 'pg'
import type { Clock, Random } from '../../clock/clock.ts'
import { systemClock, systemRandom } from '../../clock/system.ts'
import { byId } from '../../config/changes.ts'
import { type Config, knownSecrets } from '../../config/config.ts'
import { type AnswerRoom, createLoad, MOST_ROOM } from '../../engine/admission/load.ts'
import { createQueue, type Queue } from '../../engine/admission/queue.ts'
import { appsOfShards, type Ownership, StoreUnavailable } from '../../engine/ports.ts'
import type { AppSettings, EngineSettings } from '../../engine/settings.ts'
import type { Agency } from '../../http/exchange.ts'
import { noticeOutcomes } from '../../http/notifications.ts'
import type { Grouping } from '../../postgres/commit/group-commits.ts'
import { connect, type Driver } from '../../postgres/connect.ts'
import { storeError } from '../../postgres/errors.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { createOwnership, type OwnershipSession } from '../../postgres/ownership.ts'
import type { ShardJobs } from '../../postgres/shard-jobs.ts'
import { askDatabase, readStoreGauges } from '../../postgres/status.ts'
import { createStore } from '../../postgres/store.ts'
import { called } from '../../provider/operation.ts'
import { configuredStreams } from '../../streams/index.ts'
import { rejectReasons } from '../../streams/page.ts'
import type { Stream } from '../../streams/stream.ts'
import { createLog, type FlushableLog } from '../../telemetry/log.ts'
import { PrometheusMeter } from '../../telemetry/metrics.ts'
import { turnedAway } from '../../telemetry/notifications.ts'
import type { QualityQuestion } from '../../telemetry/quality-gauge.ts'
import { thresholds } from '../../telemetry/thresholds.ts'
import { pauseOf, restOf } from '../app-settings.ts'
import { deploymentOf, engineSettings } from '../engine-settings.ts'
import { connectionsOf, missingMigrations } from './database.ts'
import { version } from './installation.ts'
import { credentialsOf, openTransport, signersIn } from './services.ts'

export interface DaemonOptions {
  readonly config: Config
  /** Address of Postgres itself, past any pooler; the one of an embedded Postgres where the config says so. */
  readonly databaseUrl: string
  readonly log?: FlushableLog
  /** The one that this program runs on, unless told. */
  readonly machine?: Machine
}

/** What a daemon is given by the machine that it runs on: time, chance, and its ways to the provider and the database. */
interface Machine {
  readonly clock: Clock
  readonly random: Random
  readonly queue: Queue
  readonly agent?: Agency | undefined
  readonly driver?: Driver | undefined
  readonly grouping?: Grouping | undefined
  /** Stands for the queue of shards. */
  readonly jobs?: ShardJobs | undefined
  /** How often ownership is renewed instead, ms. */
  readonly renewEvery?: number
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

/** Of streams that are silent on purpose for longer than the alert allows, for how long, seconds. */
export function longestPauses(streams: readonly Stream[], apps: readonly AppSettings[]) {
  const longest = streams.map(stream => {
    const { name } = stream
    const isList = stream.kind === 'snapshot' && stream.scope === 'app'
    const rest = (app: AppSettings) => {
      const own = isList ? (restOf(app, name) ?? 0) : 0
      return own > thresholds.stall_seconds ? own : pauseOf(app, name)
    }
    return [name, apps.reduce((most, app) => Math.max(most, rest(app)), 0)] as const
  })
  return new Map(longest.filter(([, pause]) => pause > 0))
}

/** What a daemon runs with, which may change under way. */
function createCurrent(config: Config, settings: EngineSettings) {
  const inForce = (config: Config, settings: EngineSettings) => {
    const { apps, shards } = settings
    const ids = apps.map(({ id }) => id)
    return { config, settings, apps: byId(settings), appsOfShards: appsOfShards(ids, shards) }
  }
  let now = inForce(config, settings)
  /** Secrets of configurations that held before: an answer may still tell them. */
  const former = new Set<string>()
  return {
    config: () => now.config,
    settings: () => now.settings,
    /** How many apps each shard has. */
    appsOfShards: () => now.appsOfShards,
    /** Undefined where the configuration does not name it. */
    app: (id: string) => now.apps.get(id),
    /** Plain texts of all secrets so far. */
    secrets: () => [...former, ...knownSecrets(now.config)],
    /** Runs with these from now on. */
    note: (config: Config, settings: EngineSettings) => {
      for (const secret of knownSecrets(now.config)) former.add(secret)
      now = inForce(config, settings)
    },
  }
}

function thisMachine(): Machine {
  return {
    ...{ clock: systemClock, random: systemRandom, queue: createQueue() },
    owner: `${hostname()}/${process.pid}/${systemRandom.uuid().slice(0, 8)}`,
  }
}

/** How long the database may take for one statement of what is read for people and for metrics, ms. */
const readingTimeout = 3_000

export type Parts = Awaited<ReturnType<typeof openParts>>

/** Everything that the engine stands on. `owned`: the apps that this process owns at the moment. */
export async function openParts(
  { config, databaseUrl, machine = thisMachine(), ...options }: DaemonOptions,
  owned: () => readonly string[],
) {
  const { clock, random, queue, agent, driver, grouping, jobs, owner } = machine
  const credentials = await credentialsOf(config, clock)
  const signers = await signersIn(config, clock)
  const { renewEvery, ...usual } = engineSettings(config)
  const settings = { ...usual, renewEvery: machine.renewEvery ?? renewEvery }
  const current = createCurrent(config, settings)
  const secrets = () => [...credentials.known(), ...current.secrets()]
  const log = options.log ?? createLog({ level: config.log.level, clock, secrets })
  const streams = configuredStreams(
    deploymentOf(config, () => current.config().apps),
    config.streams,
  )
  const { direct, pooled, reading } = await connectionsOf(config, databaseUrl, clock)
  const pool = connect({ ...pooled, driver })
  /** Reading how it goes must not keep a page from being stored. */
  const alone = { driver, poolSize: 1, statementTimeout: readingTimeout }
  const readings = connect({ ...reading, ...alone })
  /** Whether the database itself is there, of which a replica says nothing. */
  const databaseAnswers = () => askDatabase({ ...direct, ...alone })
  const answers = reading === direct ? undefined : databaseAnswers
  /** Reads for people and for metrics. Rejects where the database is away, whatever a replica says. */
  const ask = async <T>(read: (pool: pg.Pool) => Promise<T>): Promise<T> => {
    const [told] = await Promise.all([read(readings), answers?.()])
    return told
  }
  const store = createStore(pool, {
    streams,
    roomMemory: settings.roomMemory,
    region: app => current.app(app)?.region ?? '',
    sequenceScope: settings.reading.sequenceScope,
    retention: config.retention,
    keeping: config.store,
    ...{ grouping, clock },
  })
  const meter = new PrometheusMeter({
    clock,
    version,
    apps: settings.apps.map(({ id }) => id),
    perApp: config.metrics.perApp,
    streams: streams.map(stream => stream.name),
    operations: streams.map(stream => stream.operation.name),
    rejectReasons,
    noticeOutcomes: [...noticeOutcomes, ...turnedAway],
    noticeApps: signers.map(({ app }) => app),
    qualityAsked: () => qualityAsked(streams, current.settings().apps, owned()),
    storeGauges: () => ask(readStoreGauges),
    databaseAnswers,
    pauses: () => longestPauses(streams, current.settings().apps),
  })
  const ownership = onceMigrated(
    createOwnership({ ...direct, driver, owner, knows: current.appsOfShards, clock, jobs }),
    pool,
  )
  const transport = await openTransport(config, {
    ...{ clock, random, agent, credentials },
    onUnframed: operation => {
      meter.unframed(operation)
      log.debug('an answer ended only with its connection', { operation: called(operation) })
    },
  })
  return {
    current,
    log,
    credentials,
    signers,
    pool,
    readings,
    ask,
    answers,
    store,
    meter,
    ownership,
    transport,
    settings,
    streams,
    ...{ clock, random, queue, owner, ledger: createLedger(pool), load: createLoad(roomForAnswers()) },
  }
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

/** Bytes of heap, and of buffers beside it, that a page takes for each byte of its body before it is stored. */
const COPIES = 18

/** Share of the heap that may be pages; the rest is the program, and what has not been collected yet. */
const SHARE = 0.5

/** Bytes of answers that may be under way and being worked on together, less where the heap of this process is small. */
function roomForAnswers(): AnswerRoom {
  const { heavy, light } = MOST_ROOM
  const share = Math.min(1, (getHeapStatistics().heap_size_limit * SHARE) / COPIES / (heavy + light))
  return { heavy: Math.floor(heavy * share), light: Math.floor(light * share) }
}

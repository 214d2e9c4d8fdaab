import type pg from 'pg'
import { type Client, type ClientPorts, createClient } from '../../client/client.ts'
import type { ClientApp, Deployed, Fences, Note, Question } from '../../client/ports.ts'
import { createTurns } from '../../clock/clock.ts'
import { systemClock, systemRandom } from '../../clock/system.ts'
import { noAccess, whyUnreachable } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { createQueue } from '../../engine/admission/queue.ts'
import { appsOfShards, shardOf } from '../../engine/ports/ledger.ts'
import type { Fence } from '../../engine/ports.ts'
import type { GroupLimit } from '../../engine/settings.ts'
import { type ConnectOptions, connect, query } from '../../postgres/connect.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { migrateUp } from '../../postgres/migrate.ts'
import { createOwnership, type OwnershipSession } from '../../postgres/ownership.ts'
import { createIntentStore } from '../../postgres/players.ts'
import { HEARTBEAT_MS } from '../../postgres/shard-jobs.ts'
import {
  countedBy,
  defaultParameterNames,
  type ParameterNames,
  type SeriesParameter,
  withParameterNames,
} from '../../provider/analytics/index.ts'
import { widgetOperations, withRegion } from '../../provider/classroom/index.ts'
import type { Operation } from '../../provider/operation.ts'
import { createPlayer, deletePlayer, playerGroupOf } from '../../provider/players/index.ts'
import { analyticsLimits, classroomLimits, playerLimits } from '../app-settings.ts'
import { CommandError } from '../cli/exit.ts'
import { engineSettings, shards } from '../engine-settings.ts'
import { assertMigrated, connectionsOf, openDatabase } from './database.ts'
import { credentialsOf, openTransport } from './services.ts'

/** Connections of a client to the database: it asks little of it. */
const poolSize = 2

/**
 * The client of a configuration over real connections. The database is opened by the first request that is counted
 * there: most of the classroom's are not.
 */
export async function openConfigured(config: Config, tell: (note: Note) => void): Promise<Client> {
  const { deadline } = engineSettings(config)
  const here = { clock: systemClock, random: systemRandom }
  const credentials = await credentialsOf(config, systemClock)
  const transport = await openTransport(config, { ...here, credentials })
  let stored: Promise<StoredPorts> | undefined
  const open = () => {
    const opening = stored ?? openStored(config)
    stored = opening
    // One that was away is asked anew by whoever comes next.
    opening.catch(() => {
      if (stored === opening) stored = undefined
    })
    return opening
  }
  return createClient({
    ...{ ...here, transport, deadline, tell, ...openedWhenUsed(open) },
    queue: createQueue(),
    apps: clientApps(config),
    release: async () => {
      await transport.close()
      await (await stored?.catch(() => undefined))?.close()
    },
  })
}

/** The ports that the database stands behind. */
type DatabasePorts = Pick<ClientPorts, 'ledger' | 'fences' | 'intents'>
type StoredPorts = DatabasePorts & { readonly close: () => Promise<void> }

async function openStored(config: Config): Promise<StoredPorts> {
  const database = await openDatabase(config, 'join')
  try {
    const away = database.isEmbedded
      ? await migrateUp({ url: database.url }).then(() => undefined)
      : await assertMigrated(config, database.url)
    if (away) throw new CommandError(away)
  } catch (error) {
    await database.stop()
    throw error
  }
  const { direct } = await connectionsOf(config, database.url, systemClock)
  const connection = { ...direct, poolSize }
  const pool = connect(connection)
  const fences = new CommandFences(connection)
  return {
    ledger: createLedger(pool),
    intents: createIntentStore(pool),
    fences,
    close: async () => {
      await fences.close()
      await pool.end()
      await database.stop()
    },
  }
}

function openedWhenUsed(open: () => Promise<StoredPorts>): DatabasePorts {
  return {
    ledger: {
      take: async debit => (await open()).ledger.take(debit),
      settle: async (...all) => (await open()).ledger.settle(...all),
      wasSetBack: async ago => (await open()).ledger.wasSetBack(ago),
    },
    fences: { acquire: async app => (await open()).fences.acquire(app) },
    intents: {
      find: async (app, name) => (await open()).intents.find(app, name),
      attempt: async intent => (await open()).intents.attempt(intent),
      done: async (...all) => (await open()).intents.done(...all),
      failed: async (app, name) => (await open()).intents.failed(app, name),
    },
  }
}

/** The apps of a configuration, as the client needs them: what each may ask, and how the deployment wants it asked. */
export function clientApps(config: Config): readonly ClientApp[] {
  return config.apps.map(app => ({
    id: app.id,
    region: app.region,
    deploy: (operation, question) => deploy(config, app, operation, question),
  }))
}

function deploy(config: Config, app: AppConfig, operation: Operation, question: Question): Deployed {
  switch (operation.family) {
    case 'classroom':
      return ofClassroom(config, app, operation, question)
    case 'analytics':
      return ofAnalytics(config, app, operation)
    case 'players':
      return ofPlayers(config, app, operation, question)
  }
}

function asItIs(name: string): string {
  return name
}

function ofClassroom(
  config: Config,
  app: AppConfig,
  operation: Operation,
  { region = app.region }: Question,
): Deployed {
  const { classroom } = config.provider
  if (!classroom || !app.classroom) return { off: whyUnreachable(config, app, 'classroom')! }
  const isWidget = widgetOperations.some(each => each === operation)
  const deployed = isWidget && classroom.widgetPath === 'with-region' ? withRegion(operation) : operation
  // What the feed hands out by hand must be missed by the series of that region.
  const limits = app.regions.length > 1 ? classroomLimits(app, region) : classroomLimits(app)
  return { operation: deployed, nameOf: asItIs, limit: limits[operation.limitGroup]! }
}

function ofAnalytics(config: Config, app: AppConfig, operation: Operation): Deployed {
  const { analytics } = config.provider
  if (!analytics || !app.rest) return { off: whyUnreachable(config, app, 'analytics')! }
  const counted = countedBy(operation, analytics.limits)
  const limit = analyticsLimits(config, app)[counted.limitGroup]
  if (!limit) return { off: noAccess(app) }
  const words: ParameterNames = hasParameterNames(operation) ? analytics : defaultParameterNames
  const nameOf = (name: string) => words.parameters[name as SeriesParameter] ?? name
  return { operation: withParameterNames(counted, words), nameOf, limit }
}

/** Only the names of insights and real-time values are open. */
function hasParameterNames({ queryParams }: Operation): boolean {
  return 'startTs' in queryParams
}

function ofPlayers(config: Config, app: AppConfig, operation: Operation, question: Question): Deployed {
  const { players } = config.provider
  if (!players || !app.rest) return { off: whyUnreachable(config, app, 'players')! }
  const { group, counter } = playerGroupOf(operation, question, players.limits)
  const limit: GroupLimit = playerLimits(config, app)[group]!
  return {
    operation: { ...operation, path: pathOf(operation, players.paths), limitGroup: group },
    nameOf: asItIs,
    limit: counter === '' ? limit : { ...limit, scope: `${limit.scope} ${counter}` },
  }
}

function pathOf({ name }: Operation, paths: Readonly<Record<'create' | 'delete' | 'list', string>>): string {
  if (name === createPlayer.name) return paths.create
  return name === deletePlayer.name ? paths.delete : paths.list
}

const owners = `
  select shard, owner, epoch::float8 as epoch from ingest.ownership join ingest.replica using (owner)
  where shard = $1 and seen_at > ingest.clock() - $2::interval`

/**
 * The right of a command to debit requests. Its debits count as those of the daemon that owns the shard of an app. A
 * shard without an owner is taken as long as it is lent, so that a daemon that starts meanwhile waits for one request
 * at most, and for that shard alone.
 */
export class CommandFences implements Fences {
  readonly #connection: ConnectOptions
  readonly #pool: pg.Pool
  readonly #owner = `command/${process.pid}/${systemRandom.uuid().slice(0, 8)}`
  #own: OwnershipSession | undefined
  /** To how many requests each shard is lent. */
  readonly #lent = new Map<number, number>()
  /** Taking and giving back go one after the other. */
  readonly #inOrder = createTurns(1)

  constructor(connection: ConnectOptions) {
    this.#connection = connection
    this.#pool = connect({ ...connection, poolSize: 1 })
  }

  /** The fence of the daemon that owns the app's shard, else one of our own for the moment. */
  acquire(app: string): ReturnType<Fences['acquire']> {
    return this.#inOrder(async () => {
      const shard = shardOf(app, shards)
      const theirs = await this.#fenceOf(shard)
      if (theirs && theirs.owner !== this.#owner) return { fence: theirs, giveBack: async () => {} }
      const fence = await this.#take(shard)
      if (!fence) return undefined
      this.#lent.set(shard, (this.#lent.get(shard) ?? 0) + 1)
      return { fence, giveBack: () => this.#inOrder(() => this.#giveBack(shard)) }
    })
  }

  async close(): Promise<void> {
    await this.#inOrder(async () => {
      await this.#own?.release().catch(() => {})
      await this.#own?.close()
      await this.#pool.end()
    })
  }

  async #fenceOf(shard: number): Promise<Fence | undefined> {
    const values = [shard, `${HEARTBEAT_MS} milliseconds`]
    const [fence] = await query<Fence>(this.#pool, { text: owners, values })
    return fence
  }

  async #take(shard: number): Promise<Fence | undefined> {
    this.#own ??= createOwnership({
      ...{ ...this.#connection, owner: this.#owner, clock: systemClock },
      knows: () => appsOfShards([], shards),
    })
    return await this.#own.borrow(shard)
  }

  async #giveBack(shard: number): Promise<void> {
    const left = this.#lent.get(shard)! - 1
    this.#lent.set(shard, left)
    if (left === 0) await this.#own?.release([shard])
  }
}

import type { Sandbox } from '../../sandbox/src/index.ts'
import { createClient } from '../../src/client/client.ts'
import { CallError } from '../../src/client/errors.ts'
import type { Random } from '../../src/clock/clock.ts'
import { engineSettings, shards } from '../../src/commands/engine-settings.ts'
import { DeadLetterReplay } from '../../src/commands/replay/dead-letters.ts'
import { nameOfPart } from '../../src/commands/replay/letter-reader.ts'
import { rebuildWith } from '../../src/commands/replay/rebuild.ts'
import { replayRooms } from '../../src/commands/replay/rooms.ts'
import { clientApps } from '../../src/commands/wiring/client.ts'
import { connectionsOf } from '../../src/commands/wiring/database.ts'
import { credentialsOf, openTransport } from '../../src/commands/wiring/services.ts'
import { readConfig } from '../../src/config/load.ts'
import { createPlainQueue } from '../../src/engine/admission/queue.ts'
import { type Fence, StoreUnavailable, shardOf } from '../../src/engine/ports.ts'
import { markRoom, markWanted } from '../../src/postgres/backfill.ts'
import { connect } from '../../src/postgres/connect.ts'
import { storeError } from '../../src/postgres/errors.ts'
import { Forgetting } from '../../src/postgres/forget.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { createIntentStore } from '../../src/postgres/players.ts'
import { openReplay } from '../../src/postgres/replay.ts'
import { ParameterError } from '../../src/provider/operation.ts'
import { streams } from '../../src/streams/index.ts'
import type { Reject } from '../../src/streams/page.ts'
import type { Kernel, Process } from './kernel.ts'
import { lessonOf } from './lessons.ts'
import { networkThrough } from './network.ts'
import type { Person } from './oracle/forgotten.ts'
import type { Create, Hand } from './oracle/hands.ts'
import type { Lesson, SentRequest } from './oracle/lessons.ts'
import type { Mark } from './oracle/marks.ts'
import type { Wanted } from './oracle/wanted.ts'
import type { Server } from './server.ts'
import { sessionsThrough } from './session.ts'

export interface HandsOptions {
  readonly kernel: Kernel
  readonly server: Server
  readonly sandbox: () => Sandbox
  readonly random: Random
  /** The configuration, as an operator would write it. */
  readonly config: string
}

/** People who make and destroy players, and ask, as `penstock api` does: by the same ledger as the daemons, and by the same client. */
export interface Hands {
  /** Answers the player's ID where it was told one. */
  readonly create: (app: string, given: Given) => Promise<string | undefined>
  readonly destroy: (app: string, region: string, id: string) => Promise<void>
  /** Asks for insights of some days ago, where the budget of the app has room for it. */
  readonly ask: (app: string) => Promise<void>
  /** Has a room read again, once each, whose log was asked for just now: the answer may be on its way. */
  readonly mark: () => Promise<void>
  readonly marks: readonly Mark[]
  /** Has a range, or the details of a call, fetched once more. */
  readonly want: (what: Omit<Wanted, 'at'>) => Promise<Wanted>
  readonly wanted: readonly Wanted[]
  /** Has a room read again. */
  readonly readAgain: (app: string, room: string) => Promise<void>
  /** Takes somebody out of all that is stored. */
  readonly forget: (person: Person) => Promise<void>
  /** Has the tables of classrooms compared with what is kept raw, or made anew from it; answers how many rows differed. */
  readonly replay: (mode: 'compare' | 'write') => Promise<number>
  /** Has what could not be read tried again. */
  readonly tryLetters: () => Promise<void>
  /** How many letters that closed. */
  readonly closedLetters: () => number
  /** Uses the next one of the operations that change a classroom, in one that goes on; one at a time. */
  readonly teach: (app: string) => Promise<void>
  readonly lessons: readonly Lesson[]
  /** Numbers of its requests among all that arrived. */
  readonly arrived: readonly number[]
  /** What came of it, in their order. */
  readonly done: readonly Hand[]
  /** What was sent to make players. */
  readonly creates: readonly Create[]
}

type Given = Readonly<Record<string, unknown>> & { readonly region: string; readonly streamUrl: string }

/** Streams of a room, and the operations of those that are logs. */
const ofRooms = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources']
const ofLogs: readonly unknown[] = ['roomEvents', 'popupQuiz', 'poll']
/** Among so many requests it is looked for one of a log, that arrived so many ms ago at most. */
const lastRequests = 50
const justNow = 2_000

/** State of a room. */
const started = 1
/** Seconds. */
const day = 86_400
/** Who asks waits no longer for room, ms. */
const patience = 5_000

export async function createHands({
  kernel,
  server,
  sandbox,
  random,
  config: text,
}: HandsOptions): Promise<Hands> {
  const arrived: number[] = []
  const process: Process = { name: 'hand', isAlive: true, frozenUntil: 0, arrived }
  const config = await readConfig(text, { name: 'simulation', env: {}, folder: '.' })
  const clock = kernel.clockOf(process)
  const { direct } = await connectionsOf(config, server.urlFor(process.name), clock)
  const pool = connect({ ...direct, poolSize: 2, driver: sessionsThrough({ kernel, process, server }) })
  const { deadline } = engineSettings(config)
  const sent: SentRequest[] = []
  const creates: Create[] = []
  const agent = networkThrough(kernel, process, sandbox, ({ method, path, body }) => {
    const request = {
      method: String(method),
      target: path,
      body: body ? JSON.parse(String(body)) : undefined,
    }
    sent.push(request)
    creates.push(...createsIn(request, clock.now()))
    return () => {}
  })
  const credentials = await credentialsOf(config, clock)
  const client = createClient({
    ...{ clock, random, deadline, queue: createPlainQueue() },
    transport: await openTransport(config, { clock, random, agent, credentials }),
    ...{ ledger: createLedger(pool), intents: createIntentStore(pool) },
    fences: {
      acquire: async app => {
        const { rows: owners } = await pool.query<Fence>(
          `select shard, owner, epoch::float8 as epoch from ingest.ownership
           where shard = $1 and owner <> ''`,
          [shardOf(app, shards)],
        )
        return owners[0] && { fence: owners[0], giveBack: async () => {} }
      },
    },
    apps: clientApps(config),
    tell: () => {},
    release: async () => {},
  })
  const forgetting = new Forgetting(pool, config.store, Object.values(streams))
  const done: Hand[] = []
  const marks: Mark[] = []
  const wanted: Wanted[] = []
  const lessons: Lesson[] = []
  let isTeaching = false
  let closed = 0
  const settle = async (
    act: () => Promise<Pick<Hand, 'id'> | undefined>,
    told: Omit<Hand, 'id' | 'end' | 'at'>,
  ) => {
    try {
      const { id } = (await act()) ?? {}
      done.push({ ...told, ...(id && { id }), end: 'done', at: clock.now() })
      return id
    } catch (error) {
      done.push({ ...told, end: endOf(error), at: clock.now() })
      return undefined
    }
  }
  const apps = config.apps.map(({ id }) => id)
  const replayed = async (mode: 'compare' | 'write', onReject?: (reject: Reject) => void) => {
    const all = Object.values(streams)
    const session = await openReplay(pool, { streams: all, clock })
    try {
      const rebuild = rebuildWith(all, engineSettings(config).reading, () => {}, onReject)
      const options = { apps, room: undefined, mode, rebuild, clock, onProgress: () => {} }
      return (await replayRooms(session, options)).tally.rows()
    } finally {
      session.close()
    }
  }
  const asked = { metric: 'userCount', aggregateGranularity: '1h' } as const
  return {
    ...{ done, creates },
    marks,
    wanted,
    lessons,
    arrived,
    teach: async app => {
      const room = sandbox()
        .universe.app(app)
        ?.rooms.findLast(({ state }) => state === started)
      if (isTeaching || !room) return
      isTeaching = true
      const { operation, given } = lessonOf(lessons.length, room)
      const before = sent.length
      const call = client.app(app).classroom[operation] as (given: object) => Promise<unknown>
      const end = await call(given).then(() => 'done', endOf)
      lessons.push({ app, operation, given, end, sent: sent.slice(before) })
      isTeaching = false
    },
    mark: async () => {
      const { arrivals } = sandbox()
      const at = clock.now()
      const rooms = arrivals
        .list(Math.max(0, arrivals.count - lastRequests), lastRequests)
        .filter(({ operation, status }) => ofLogs.includes(operation) && status !== 404)
        .flatMap(({ app, target, time }) => {
          const name = /\/rooms\/([^/?]+)\//.exec(target)?.[1]
          const isNow = at - time < justNow
          return app && name && isNow ? [{ app, room: decodeURIComponent(name), at }] : []
        })
      const last = rooms.findLast(({ app, room }) => !marks.some(one => one.app === app && one.room === room))
      if (!last) return
      marks.push(last)
      await markRoom(pool, { app: last.app, room: last.room, streams: ofRooms }).catch(endOf)
    },
    want: async what => {
      const { app, stream, call: series = null, from, to } = what
      await markWanted(pool, { app, stream, series, from, to })
      const wish = { ...what, at: clock.now() }
      wanted.push(wish)
      return wish
    },
    readAgain: (app, room) => markRoom(pool, { app, room, streams: ofRooms }),
    replay: mode => replayed(mode),
    closedLetters: () => closed,
    tryLetters: async () => {
      const rebuildAll = async () => {
        const unread = new Set<string>()
        await replayed('write', reject => unread.add(nameOfPart(reject)))
        return unread
      }
      const { stored, read } = await new DeadLetterReplay(pool, config).run(apps, undefined, rebuildAll)
      closed += stored + read
    },
    forget: async person => void (await forgetting.forget(person)),
    ask: async app => {
      const now = Math.floor(clock.now() / 1_000)
      const given = { ...asked, startTs: now - 5 * day, endTs: now - 3 * day }
      await client
        .app(app)
        .analytics.usageInsight(given as never, { timeout: patience })
        .catch(endOf)
    },
    create: (app, given) =>
      settle(async () => (await client.app(app).players.createPlayer(given as never)).player, {
        act: 'create',
        app,
        streamUrl: given.streamUrl,
      }),
    destroy: async (app, region, id) => {
      const told = { act: 'destroy', app, destroys: id, region } as const
      await settle(
        async () => void (await client.app(app).players.deletePlayer({ id, region } as never)),
        told,
      )
    },
  }
}

/** The Create that a request is, if any; sent at a moment, ms since the epoch. */
function createsIn({ method, target, body }: SentRequest, at: number): readonly Create[] {
  const app = method === 'POST' ? /\/projects\/([^/]+)\/cloud-player\/players/.exec(target)?.[1] : undefined
  const { name } = (body ?? {}) as { readonly name?: string }
  return app === undefined || name === undefined ? [] : [{ app, name, at }]
}

/** Throws what no fault of the world leads to. */
function endOf(error: unknown): string {
  if (error instanceof CallError) return error.kind
  if (error instanceof ParameterError) return 'parameter'
  if (error instanceof StoreUnavailable || storeError(error) instanceof StoreUnavailable) return 'away'
  throw error
}

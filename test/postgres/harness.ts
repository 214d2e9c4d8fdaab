import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Fence, Ledger, PageCommit, Store } from '../../src/engine/ports.ts'
import { type ConnectOptions, connect } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { createStore, type StoreSettings } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import type { RowSet } from '../../src/tables/index.ts'
import { defaultConnection } from '../support/connection.ts'
import { cloneDatabase } from '../support/postgres.ts'

export const app = 'school'
export const me: Fence = { shard: 0, owner: 'me', epoch: 1 }
export const hour = 3_600_000
/** Where every test's database clock stands at first. */
export const start = '2026-01-05T08:00:00.000Z'

export const roomStreams = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources'] as const
export const settings: StoreSettings = {
  streams: Object.values(streams),
  roomMemory: hour,
  region: () => 'ap',
  sequenceScope: 'room',
}

/** Puts a clock into a database that stands still at `start` until it is moved, and gives shard 0 to us. */
export const standStill = `
  create table ingest.test_clock (at timestamptz not null);
  grant select on ingest.test_clock to public;
  insert into ingest.test_clock values ('${start}');
  create or replace function ingest.clock() returns timestamptz language sql volatile
    as 'select at from ingest.test_clock';
  create or replace function ingest_jobs.job_now() returns timestamptz language sql stable
    as 'select at from ingest.test_clock';
  insert into ingest.ownership values (0, 'me', 1)`

export interface TestStore {
  readonly url: string
  readonly connection: ConnectOptions
  /** With the rights of the daemon. */
  readonly pool: pg.Pool
  readonly store: Store
  readonly ledger: Ledger
  /** Rows of a statement, as the superuser. */
  readonly rows: (text: string, values?: unknown[]) => Promise<readonly Record<string, unknown>[]>
  /** The first column of the first row. */
  readonly value: (text: string, values?: unknown[]) => Promise<unknown>
  /** Sets the database's clock. */
  readonly setTime: (iso: string) => Promise<void>
  /** Housekeeping while the providers confirm the database's clock. */
  readonly keepHouse: () => Promise<void>
  /** Moves the database's clock on, ms. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** A store on a database of its own, whose clock stands still at `start` until it is moved; shard 0 is ours. */
export async function openStore(overrides: Partial<StoreSettings> = {}): Promise<TestStore> {
  const database = await cloneDatabase()
  const admin = new pg.Pool({ connectionString: database.url, max: 4 })
  admin.on('error', () => {})
  await admin.query(standStill)
  const connection = { ...defaultConnection, url: database.url }
  const pool = connect(connection)
  const rows = async (text: string, values: unknown[] = []) => {
    const found = await admin.query<Record<string, unknown>>(text, values)
    return found.rows
  }
  const alone = createStore(pool, { ...settings, ...overrides })
  const store = company.isKept ? inCompany(alone) : alone
  return {
    url: database.url,
    connection,
    pool,
    store,
    keepHouse: async () => {
      const [clock] = await rows('select ingest.clock() as at')
      await store.housekeeping(Number(clock!.at))
    },
    ledger: createLedger(pool),
    rows,
    value: async (text, values) => Object.values((await rows(text, values))[0] ?? {})[0],
    setTime: async iso => {
      await rows('update ingest.test_clock set at = $1', [iso])
    },
    advance: async ms => {
      await rows(`update ingest.test_clock set at = at + $1::interval`, [`${ms} milliseconds`])
    },
    close: async () => {
      await pool.end()
      await admin.end()
      await database.drop()
    },
  }
}

/** Whether the pages of all stores that are opened from now on go in groups. */
export const company = { isKept: false }

/**
 * Each page goes in a group: while two others are written it waits, and beside it a third. What these ask for is not
 * verified, so that nothing of them is ever stored.
 */
function inCompany(store: Store): Store {
  return {
    ...store,
    commit: async page => {
      const other = (name: string) =>
        store.commit(listPage('poll', name, 0, { app: page.app, fence: page.fence }))
      const all = [other('first'), other('second'), store.commit(page), other('third')] as const
      return (await Promise.all(all))[2]
    },
  }
}

/** A connection that is closed when the test ends. */
export async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(async () => {
    await client.end().catch(() => {})
  })
  return client
}

/** Until somebody waits for what the session holds. */
export async function waitingFor(holder: pg.Client): Promise<void> {
  const held = 'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))'
  while ((await holder.query(held)).rowCount === 0);
}

export const time = (minutes: number) => new Date(Date.parse(start) + minutes * 60_000).toISOString()

interface EventOptions {
  readonly cmd?: number
  readonly data?: unknown
  /** The provider's own time, minutes after `start`; null for none. */
  readonly own?: number | null
  /** When it happened, minutes after `start`. */
  readonly at?: number
}

export function event(room: string, sequence: number | bigint, options: EventOptions = {}) {
  const { cmd = 3, data = { message: `message ${sequence}` }, own = 0, at = own ?? 0 } = options
  return {
    room_uuid: room,
    sequence,
    cmd,
    version: 1,
    data,
    event_time: own === null ? null : time(own),
    at: time(at),
    at_source: own === null ? 'provider' : 'event',
    received_at: time(at),
    extra: null,
  }
}

export function chat(room: string, sequence: number | bigint, message: string, at = 0) {
  const who = { user_uuid: 'ann', user_name: 'Ann', role: '2' }
  return { room_uuid: room, sequence, ...who, message, type: 1, at: time(at), extra: null }
}

interface RoomOptions {
  readonly state?: number
  readonly stateSequence?: number
  readonly started?: number
  readonly ended?: number
  readonly first?: number
  readonly last?: number
}

export function roomRow(room: string, options: RoomOptions = {}) {
  const iso = (minutes: number | undefined) => (minutes === undefined ? null : time(minutes))
  return {
    room_uuid: room,
    state: options.state ?? null,
    state_sequence: options.stateSequence ?? null,
    started_at: iso(options.started),
    ended_at: iso(options.ended),
    ended_by: null,
    late_ends: null,
    first_event_at: iso(options.first),
    last_event_at: iso(options.last),
  }
}

/** Rows as a stream hands them over, without the compiler's check of every column. */
export function rowSet(rows: { readonly [table: string]: readonly object[] }): RowSet {
  return rows as RowSet
}

const common = { app, fence: me, cursor: null, streamState: null, rejects: [], caughtUp: true } as const

export function logPage(room: string, version: number, more: Partial<PageCommit> = {}): PageCommit {
  return {
    ...common,
    stream: 'room-events',
    series: room,
    version,
    source: 'log',
    room: { kind: 'incarnation', incarnation: 1, opens: false },
    rows: {},
    ...more,
  }
}

export function feedPage(version: number, more: Partial<PageCommit> = {}): PageCommit {
  return {
    ...common,
    stream: 'app-events',
    series: '',
    version,
    source: 'feed',
    room: { kind: 'current' },
    rows: {},
    ...more,
  }
}

export function listPage(
  stream: PageCommit['stream'],
  room: string,
  version: number,
  more: Partial<PageCommit> = {},
): PageCommit {
  return { ...logPage(room, version, more), stream, source: 'list' }
}

/** Rows of events that are all of the same few kinds: raw and, for cmd 3, a chat message. */
export function eventRows(events: readonly ReturnType<typeof event>[], rooms?: readonly object[]): RowSet {
  const named = [...new Set(events.map(({ room_uuid }) => room_uuid))]
  const messages = events.filter(({ cmd }) => cmd === 3)
  return rowSet({
    'classroom.room': rooms ?? named.map(room => roomRow(room, { first: 0, last: 0 })),
    'classroom.room_event': events,
    'classroom.chat_message': messages.map(({ room_uuid, sequence }) => chat(room_uuid, sequence, 'hello')),
  })
}

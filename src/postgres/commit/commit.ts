import type pg from 'pg'
import { type CommitResult, type PageCommit, RefusedRows, StoreUnavailable } from '../../engine/ports.ts'
import type { RoomRow } from '../../rows/classroom.ts'
import type { RowSet, TableName, Tables } from '../../rows/rows.ts'
import { query } from '../connect.ts'
import { encodeJson, encodeText, writeJson } from '../encode.ts'
import { sqlState, storeError } from '../errors.ts'
import { bind, type Statement, type Values } from '../statement.ts'
import { tables } from '../tables.ts'
import { commitFeed, commitLog } from './events.ts'
import { commitPoll, commitQuiz, commitRecordings, commitResources } from './lists.ts'
import { parameterName } from './pieces.ts'

/** What the statements need to know besides the page. */
export interface CommitSettings {
  /** How long after its last sign of life a roomUuid is certainly the same room, ms. */
  readonly roomMemory: number
  /** Streams that follow every room. */
  readonly roomStreams: readonly string[]
  /** Region of an app, for the room table. */
  readonly region: (app: string) => string
  /** `app`: one numbering over all rooms, so that a hole inside a room means nothing. */
  readonly sequenceScope: 'room' | 'app'
}

interface Verdict {
  readonly version: number | null
  readonly owned: boolean
  readonly verified: boolean
  readonly diverged: number
  readonly set_aside: Readonly<Record<string, number>>
  readonly stored: Readonly<Record<string, number>>
}

const statements: Readonly<Record<PageCommit['stream'], Statement>> = {
  'app-events': commitFeed,
  'room-events': commitLog,
  'popup-quiz': commitQuiz,
  poll: commitPoll,
  recordings: commitRecordings,
  resources: commitResources,
}

/** Serialization failure and deadlock: another statement came first, nothing was written. */
const overtaken: ReadonlySet<string | undefined> = new Set(['40001', '40P01'])

/** An answer of the feed cannot be asked for again, so it is not given up lightly. */
const mostAttempts = 10

/** Commits one page in one statement and one round trip. Throws RefusedRows or StoreUnavailable. */
export async function commitPage(
  pool: pg.Pool,
  settings: CommitSettings,
  page: PageCommit,
): Promise<CommitResult> {
  const bound = bind(statements[page.stream], values(page, settings))
  for (let attempt = 1; ; attempt++) {
    try {
      const [verdict] = await query<Verdict & pg.QueryResultRow>(pool, bound)
      return result(verdict!)
    } catch (error) {
      const isOvertaken = error instanceof StoreUnavailable && overtaken.has(error.code)
      if (!isOvertaken || attempt === mostAttempts) throw error
    }
  }
}

/** Runs the same statement and rolls it back: true when Postgres would take every value. */
export async function rehearsePage(
  pool: pg.Pool,
  settings: CommitSettings,
  page: PageCommit,
): Promise<boolean> {
  const client = await pool.connect().catch(error => Promise.reject(storeError(error)))
  try {
    await client.query('begin')
    await client.query(bind(statements[page.stream], values(page, settings)))
    return true
  } catch (error) {
    const named = storeError(error)
    if (named instanceof RefusedRows) return false
    throw named
  } finally {
    const broken = await client.query('rollback').then(
      () => false,
      error => sqlState(error) === undefined,
    )
    client.release(broken)
  }
}

function result(verdict: Verdict): CommitResult {
  if (verdict.version !== null) {
    return {
      outcome: 'committed',
      version: verdict.version,
      stored: verdict.stored,
      diverged: verdict.diverged,
      setAside: verdict.set_aside,
    }
  }
  if (!verdict.owned) return { outcome: 'fenced' }
  return verdict.verified ? { outcome: 'stale' } : { outcome: 'unverified' }
}

function values(page: PageCommit, settings: CommitSettings): Values {
  const { room, settles } = page
  return {
    app: page.app,
    stream: page.stream,
    series: encodeText(page.series),
    ...page.fence,
    version: page.version,
    cursor: page.cursor === null ? null : encodeText(page.cursor),
    carry: encodeJson(page.carry),
    caught_up: page.caughtUp,
    memory: `${settings.roomMemory} milliseconds`,
    room_streams: settings.roomStreams,
    region: settings.region(page.app),
    incarnation: room.kind === 'incarnation' ? room.incarnation : null,
    opens: room.kind === 'incarnation' && room.opens,
    holes: encodeJson(page.holes ?? []),
    complete: page.holes !== undefined,
    dense: settings.sequenceScope === 'room',
    rejects: encodeJson(
      page.rejects.map(({ reason, detail, item }) => ({ reason, detail, body: writeJson(item ?? null) })),
    ),
    debit_scope: settles?.scope ?? '',
    debit_group: settles?.group ?? '',
    debit_n: settles?.n ?? 0,
    ...rowValues(page),
  }
}

const allTables = Object.keys(tables) as TableName[]

function rowValues(page: PageCommit): Values {
  const rows: RowSet = page.source === 'log' ? { ...page.rows, 'classroom.room': touched(page) } : page.rows
  return Object.fromEntries(allTables.map(table => [parameterName(table), encodeRows(rows[table])]))
}

/** A page of a log is a sign of life of its room even when it holds no event. */
function touched(page: PageCommit): readonly RoomRow[] {
  const rooms = page.rows['classroom.room'] ?? []
  if (rooms.some(room => room.room_uuid === page.series)) return rooms
  const blank = { state: null, state_sequence: null, started_at: null, ended_at: null }
  return [...rooms, { room_uuid: page.series, ...blank, first_event_at: null, last_event_at: null }]
}

function encodeRows(rows: readonly Tables[TableName][] | undefined): string {
  return rows && rows.length > 0 ? encodeJson(rows) : '[]'
}

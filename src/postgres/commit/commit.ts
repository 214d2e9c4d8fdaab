import type pg from 'pg'
import type { CommitResult, PageCommit } from '../../engine/ports.ts'
import type { RoomRow } from '../../rows/classroom.ts'
import type { RowSet, TableName } from '../../rows/rows.ts'
import { encodeJson, encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, type Values } from '../statement.ts'
import { classroomTables } from '../tables/classroom.ts'
import { playersTables } from '../tables/players.ts'
import { debitValues, encodeRows, parameterName, rejectedValues } from './ctes.ts'
import { commitFeed, commitLog } from './events.ts'
import { commitPoll, commitQuiz, commitRecordings, commitResources } from './lists.ts'
import { commitPlayers } from './players.ts'
import { dryRunCommit, runCommit } from './run.ts'

/** What the statements need to know besides the page. */
export interface CommitSettings {
  /** How long after its last sign of life a roomUuid is certainly the same room, ms. */
  readonly roomMemory: number
  /** Streams that follow every room. */
  readonly roomStreams: readonly string[]
  /** Region of an app, of rooms whose page does not tell its own. */
  readonly region: (app: string) => string
  /** `app`: one numbering over all rooms, so that a hole inside a room means nothing. */
  readonly sequenceScope: 'room' | 'app'
}

const statements: Readonly<Partial<Record<PageCommit['stream'], Statement>>> = {
  'app-events': commitFeed,
  'room-events': commitLog,
  'popup-quiz': commitQuiz,
  poll: commitPoll,
  recordings: commitRecordings,
  resources: commitResources,
  'cloud-players': commitPlayers,
}

/** Commits one page in one statement and one round trip. Throws RefusedRows or StoreUnavailable. */
export function commitPage(pool: pg.Pool, settings: CommitSettings, page: PageCommit): Promise<CommitResult> {
  return runCommit(pool, bindPage(page, settings))
}

/** Runs the same statement and rolls it back: true when Postgres would take every value. */
export function dryRunPage(pool: pg.Pool, settings: CommitSettings, page: PageCommit): Promise<boolean> {
  return dryRunCommit(pool, bindPage(page, settings))
}

function bindPage(page: PageCommit, settings: CommitSettings): BoundStatement {
  const prepared = statements[page.stream]
  if (!prepared) throw new TypeError(`pages of stream ${page.stream} are not committed with a cursor`)
  return bind(prepared, values(page, settings))
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
    stream_state: encodeJson(page.streamState),
    caught_up: page.caughtUp,
    memory: `${settings.roomMemory} milliseconds`,
    room_streams: settings.roomStreams,
    region: page.region ?? settings.region(page.app),
    incarnation: room.kind === 'incarnation' ? room.incarnation : null,
    opens: room.kind === 'incarnation' && room.opens,
    holes: encodeJson(page.holes ?? []),
    complete: page.holes !== undefined,
    dense: settings.sequenceScope === 'room',
    ...rejectedValues(page.rejects),
    ...debitValues(settles, page.source === 'feed' ? page.caughtUp : null),
    ...rowValues(page),
  }
}

const written = Object.keys({ ...classroomTables, ...playersTables }) as TableName[]

function rowValues(page: PageCommit): Values {
  const rows: RowSet =
    page.source === 'log' && !page.isUndecided ? { ...page.rows, 'classroom.room': touched(page) } : page.rows
  return Object.fromEntries(written.map(table => [parameterName(table), encodeRows(rows[table])]))
}

/** A page of a log is a sign of life of its room even when it holds no event. */
function touched(page: PageCommit): readonly RoomRow[] {
  const rooms = page.rows['classroom.room'] ?? []
  if (rooms.some(room => room.room_uuid === page.series)) return rooms
  const blank = { state: null, state_sequence: null, started_at: null, ended_at: null }
  return [...rooms, { room_uuid: page.series, ...blank, first_event_at: null, last_event_at: null }]
}

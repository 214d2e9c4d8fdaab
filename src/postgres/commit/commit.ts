import type pg from 'pg'
import type { CommitResult, ItemCommit, PageCommit, WindowCommit } from '../../engine/ports.ts'
import { roomStreamsOf, type Stream } from '../../streams/stream.ts'
import { sessionMetric } from '../../tables/analytics.ts'
import { type RoomRow, room, roomEvent } from '../../tables/classroom.ts'
import type { RowSet, Table } from '../../tables/index.ts'
import { encodeJson, encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, type Values } from '../statement.ts'
import { debitValues, encodeRows, parameterName, rejectedValues } from './ctes.ts'
import { feedStatement, logStatement } from './events.ts'
import { bindItem, type ItemStatements, itemStatements } from './items.ts'
import { appListStatement, roomListStatement } from './lists.ts'
import { dryRunCommit, runCommit } from './run.ts'
import { bindWindow, windowStatement } from './windows.ts'

/** What the statements need to know besides the page. */
export interface CommitSettings {
  /** Streams whose pages are committed. */
  readonly streams: readonly Stream[]
  /** How long after its last sign of life a roomUuid is certainly the same room, ms. */
  readonly roomMemory: number
  /** Region of an app, of rooms whose page does not tell its own. */
  readonly region: (app: string) => string
  /** `app`: one numbering over all rooms, so that a hole inside a room means nothing. */
  readonly sequenceScope: 'room' | 'app'
}

/** The statement that commits a page of a stream, by its kind and by the tables that it writes. */
export function commitStatements(stream: Stream): ItemStatements {
  const { writes } = stream
  const name = `commit_${stream.name.replaceAll('-', '_')}`
  const whole = (make: (name: string, writes: readonly Table[]) => Statement) => ({
    whole: make(name, writes),
  })
  switch (stream.kind) {
    case 'feed':
      return whole(feedStatement)
    case 'log':
      return whole(writes.includes(roomEvent) ? logStatement : roomListStatement)
    case 'snapshot':
      return whole(stream.scope === 'room' ? roomListStatement : appListStatement)
    case 'window':
      return whole(windowStatement)
    case 'substream':
      return itemStatements(name, writes)
  }
}

/** The statements of a stream, and the tables that its pages may bring rows of. */
interface Prepared extends ItemStatements {
  readonly writes: readonly Table[]
}

type Way = 'with a cursor' | 'as a range of time' | 'as an item'

function wayOf({ kind }: Stream): Way {
  if (kind === 'window') return 'as a range of time'
  return kind === 'substream' ? 'as an item' : 'with a cursor'
}

/** Commits pages, each in one statement and one round trip. Every method throws RefusedRows or StoreUnavailable. */
export class Commits {
  readonly #pool: pg.Pool
  readonly #settings: CommitSettings
  readonly #roomStreams: readonly string[]
  readonly #prepared = new Map<string, Prepared>()

  constructor(pool: pg.Pool, settings: CommitSettings) {
    this.#pool = pool
    this.#settings = settings
    this.#roomStreams = roomStreamsOf(settings.streams)
  }

  page(page: PageCommit): Promise<CommitResult> {
    return runCommit(this.#pool, this.#boundPage(page))
  }

  window(page: WindowCommit): Promise<CommitResult> {
    return runCommit(this.#pool, this.#boundWindow(page))
  }

  /** A page of an item may be large: it goes in slices, and the item moves with the last one alone. */
  async item(page: ItemCommit): Promise<CommitResult> {
    const before: Record<string, number> = {}
    let result: CommitResult | undefined
    for (const bound of this.#boundItem(page)) {
      result = await runCommit(this.#pool, bound)
      if (result.outcome !== 'committed') return result
      for (const [table, rows] of Object.entries(result.stored)) before[table] = (before[table] ?? 0) + rows
    }
    if (result?.outcome !== 'committed') throw new Error('a page has a last slice')
    return { ...result, stored: before }
  }

  /** The dry runs roll the same statements back: true when Postgres would take every value. */
  dryRunPage(page: PageCommit): Promise<boolean> {
    return dryRunCommit(this.#pool, this.#boundPage(page))
  }

  dryRunWindow(page: WindowCommit): Promise<boolean> {
    return dryRunCommit(this.#pool, this.#boundWindow(page))
  }

  async dryRunItem(page: ItemCommit): Promise<boolean> {
    for (const bound of this.#boundItem(page)) if (!(await dryRunCommit(this.#pool, bound))) return false
    return true
  }

  #boundPage(page: PageCommit): BoundStatement {
    const { whole, writes } = this.#statements(page.stream, 'with a cursor')
    const isAlive = page.source === 'log' && !page.isUndecided && writes.includes(room)
    const rows = isAlive ? { ...page.rows, [room.name]: touched(page) } : page.rows
    const values = pageValues(page, this.#settings, this.#roomStreams)
    return bind(whole, { ...values, ...rowValues(rows, writes) })
  }

  #boundWindow(page: WindowCommit): BoundStatement {
    const { whole, writes } = this.#statements(page.stream, 'as a range of time')
    return bindWindow(whole, page, rowValues(page.rows, writes))
  }

  #boundItem(page: ItemCommit): Iterable<BoundStatement> {
    const { writes, ...statements } = this.#statements(page.item.stream, 'as an item')
    return bindItem(statements, page, rowValues(page.rows, writes))
  }

  #statements(name: string, way: Way): Prepared {
    const known = this.#prepared.get(`${name} ${way}`)
    if (known) return known
    const stream = this.#settings.streams.find(each => each.name === name)
    if (!stream || wayOf(stream) !== way)
      throw new TypeError(`pages of stream ${name} are not committed ${way}`)
    const made = { ...commitStatements(stream), writes: stream.writes }
    this.#prepared.set(`${name} ${way}`, made)
    return made
  }
}

function pageValues(page: PageCommit, settings: CommitSettings, roomStreams: readonly string[]): Values {
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
    room_streams: roomStreams,
    region: page.region ?? settings.region(page.app),
    incarnation: room.kind === 'incarnation' ? room.incarnation : null,
    opens: room.kind === 'incarnation' && room.opens,
    holes: encodeJson(page.holes ?? []),
    complete: page.holes !== undefined,
    dense: settings.sequenceScope === 'room',
    ...rejectedValues(page.rejects),
    ...debitValues(settles, page.source === 'feed' ? page.caughtUp : null),
  }
}

/** A page brings rows of its stream's tables only; others would be dropped without a word. */
function rowValues(rows: RowSet, writes: readonly Table[]): Readonly<Record<string, string>> {
  const byTable: Readonly<Record<string, readonly object[] | undefined>> = rows
  const other = Object.keys(rows).find(name => !writes.some(table => table.name === name))
  if (other) throw new TypeError(`this page cannot bring rows of ${other}`)
  // Values of sessions go in slices, in a form of their own.
  const plain = writes.filter(table => table !== sessionMetric)
  return Object.fromEntries(plain.map(table => [parameterName(table), encodeRows(byTable[table.name])]))
}

/** A page of a log is a sign of life of its room even when it holds no event. */
function touched(page: PageCommit): readonly RoomRow[] {
  const rooms = page.rows['classroom.room'] ?? []
  if (rooms.some(each => each.room_uuid === page.series)) return rooms
  const blank = { state: null, state_sequence: null, started_at: null, ended_at: null }
  return [...rooms, { room_uuid: page.series, ...blank, first_event_at: null, last_event_at: null }]
}

import type pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import type { CommitResult, ItemCommit, PageCommit, WindowCommit } from '../../engine/ports.ts'
import { roomStreamsOf, type Stream } from '../../streams/stream.ts'
import { sessionSeries } from '../../tables/analytics.ts'
import { type RoomRow, room, roomEvent } from '../../tables/classroom.ts'
import type { RowSet, Table } from '../../tables/index.ts'
import { query } from '../connect.ts'
import { decodeText, encodeJson, encodeText } from '../encode.ts'
import type { Mask } from '../mask.ts'
import type { Masks } from '../masks.ts'
import { type BoundStatement, bind, type Statement, statement, type Values } from '../statement.ts'
import { debitValues, encodeRows, parameterName, rejectedValues } from './ctes.ts'
import { EmptyAnswers, isEmptyAnswer } from './empty-answers.ts'
import { feedStatement, logStatement } from './events.ts'
import { GroupCommits, type Grouping } from './group-commits.ts'
import { isPlain } from './group-pages.ts'
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
  /** When pages go together, unless as usual. */
  readonly grouping?: Grouping | undefined
  /** By which empty answers of many apps wait for each other; without it each goes by itself. */
  readonly clock?: Clock | undefined
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

const channelOfCall = statement(
  'channel_of_call',
  'select c.cname from analytics.call c where c.app_id = :app and c.call_id = :call',
)

type Way = 'with a cursor' | 'as a range of time' | 'as an item'

function wayOf({ kind }: Stream): Way {
  if (kind === 'window') return 'as a range of time'
  return kind === 'substream' ? 'as an item' : 'with a cursor'
}

/** Commits pages, each whole or not at all. Every method throws RefusedRows or StoreUnavailable. */
export class Commits {
  readonly #pool: pg.Pool
  readonly #settings: CommitSettings
  readonly #roomStreams: readonly string[]
  readonly #prepared = new Map<string, Prepared>()
  readonly #groups: GroupCommits
  readonly #emptyAnswers: EmptyAnswers | undefined
  readonly #masks: Masks

  constructor(pool: pg.Pool, settings: CommitSettings, masks: Masks) {
    this.#pool = pool
    this.#masks = masks
    this.#settings = settings
    this.#roomStreams = roomStreamsOf(settings.streams)
    const { region, grouping, clock } = settings
    const group = { memory: memoryOf(settings), roomStreams: this.#roomStreams, region }
    this.#groups = new GroupCommits(pool, group, grouping)
    this.#emptyAnswers = clock && new EmptyAnswers(pool, clock, group.memory)
  }

  /** What is out of the ordinary goes by itself, everything else with what waits beside it; empty answers with those of all apps. */
  page(page: PageCommit): Promise<CommitResult> {
    const { writes } = this.#statements(page.stream, 'with a cursor')
    const alone = () => this.#page(page, writes)
    // In what holds nothing there is nobody to be masked.
    return this.#emptyAnswers && isEmptyAnswer(page) ? this.#emptyAnswers.add(page, writes, alone) : alone()
  }

  #page(page: PageCommit, writes: readonly Table[]): Promise<CommitResult> {
    return this.#masks.run(page.app, mask => {
      const masked = mask.page(page, writes)
      const alone = async () => runCommit(this.#pool, this.#boundPage(masked, mask))
      if (page.source === 'feed') return this.#groups.addSole(masked, alone)
      if (!isPlain(masked)) return alone()
      const rows = allRows(masked, writes)
      return this.#groups.add({ page: { ...masked, rows }, writes, forgotten: mask.count }, alone)
    })
  }

  window(page: WindowCommit): Promise<CommitResult> {
    return this.#masks.run(page.app, async mask => runCommit(this.#pool, this.#boundWindow(page, mask)))
  }

  /** A page of an item may be large: it goes in slices, and the item moves with the last one alone. */
  item(page: ItemCommit): Promise<CommitResult> {
    return this.#masks.run(page.app, mask => this.#item(page, mask))
  }

  async #item(page: ItemCommit, mask: Mask): Promise<CommitResult> {
    const before: Record<string, number> = {}
    let result: CommitResult | undefined
    const isOfRoom = mask.hasRooms && mask.isForgottenRoom(await this.#channelOf(page))
    for (const bound of this.#boundItem(page, mask, isOfRoom)) {
      result = await runCommit(this.#pool, bound)
      if (result.outcome !== 'committed') return result
      for (const [table, rows] of Object.entries(result.stored)) before[table] = (before[table] ?? 0) + rows
    }
    if (result?.outcome !== 'committed') throw new Error('a page has a last slice')
    return { ...result, stored: before }
  }

  /** Rolls the same statements back: true when Postgres would take every value. */
  dryRun(page: PageCommit | WindowCommit | ItemCommit): Promise<boolean> {
    return this.#masks.run(page.app, async mask => {
      for (const bound of this.#bound(page, mask)) if (!(await dryRunCommit(this.#pool, bound))) return false
      return true
    })
  }

  #bound(page: PageCommit | WindowCommit | ItemCommit, mask: Mask): Iterable<BoundStatement> {
    if ('item' in page) return this.#boundItem(page, mask)
    if ('covers' in page) return [this.#boundWindow(page, mask)]
    const { writes } = this.#statements(page.stream, 'with a cursor')
    return [this.#boundPage(mask.page(page, writes), mask)]
  }

  /** Of a page that is masked already. */
  #boundPage(page: PageCommit, { count }: Mask): BoundStatement {
    const { whole, writes } = this.#statements(page.stream, 'with a cursor')
    const values = { ...pageValues(page, this.#settings, this.#roomStreams), forgotten: count }
    return bind(whole, { ...values, ...rowValues(allRows(page, writes), writes) })
  }

  #boundWindow(page: WindowCommit, mask: Mask): BoundStatement {
    const { whole, writes } = this.#statements(page.stream, 'as a range of time')
    const masked = mask.page(page, writes)
    return bindWindow(whole, masked, { ...rowValues(masked.rows, writes), forgotten: mask.count })
  }

  /** The values of a call do not say in which room it was. */
  async #channelOf({ app, item }: ItemCommit): Promise<string | undefined> {
    const [call] = await query<{ cname: string | null }>(
      this.#pool,
      bind(channelOfCall, { app, call: encodeText(item.key) }),
    )
    return decodeText(call?.cname ?? '')
  }

  #boundItem(page: ItemCommit, mask: Mask, isOfRoom = false): Iterable<BoundStatement> {
    const { writes, ...statements } = this.#statements(page.item.stream, 'as an item')
    const streamState = mask.ofItem(page.streamState, isOfRoom)
    const masked = { ...mask.page(page, writes, isOfRoom), streamState }
    return bindItem(statements, masked, { ...rowValues(masked.rows, writes), forgotten: mask.count })
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
    ...{ caught_up: page.caughtUp, age: page.age?.() ?? 0 },
    memory: memoryOf(settings),
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
  const plain = writes.filter(table => table !== sessionSeries)
  return Object.fromEntries(plain.map(table => [parameterName(table), encodeRows(byTable[table.name])]))
}

function memoryOf({ roomMemory }: CommitSettings): string {
  return `${roomMemory} milliseconds`
}

/** The rows of a page, that of its room included. */
function allRows(page: PageCommit, writes: readonly Table[]): RowSet {
  const isAlive = page.source === 'log' && !page.isUndecided && writes.includes(room)
  return isAlive ? { ...page.rows, [room.name]: touched(page) } : page.rows
}

/** A page of a log is a sign of life of its room even when it holds no event. */
function touched(page: PageCommit): readonly RoomRow[] {
  const rooms = page.rows['classroom.room'] ?? []
  if (rooms.some(each => each.room_uuid === page.series)) return rooms
  const blank = {
    state: null,
    state_sequence: null,
    started_at: null,
    ended_at: null,
    ended_by: null,
    late_ends: null,
  }
  return [...rooms, { room_uuid: page.series, ...blank, first_event_at: null, last_event_at: null }]
}

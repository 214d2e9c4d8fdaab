import type { PageCommit } from '../../engine/ports.ts'
import {
  type RoomEventRow,
  type RoomRow,
  room,
  roomEvent,
  type WidgetEventRow,
  widgetEvent,
} from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { encodeText } from '../encode.ts'

/** A page that may go with others, and the tables that its rows may be of. */
export interface GroupPage {
  readonly page: PageCommit
  readonly writes: readonly Table[]
  /** How many are forgotten of the app, as far as the page is masked. */
  readonly forgotten: number
}

export interface GroupSettings {
  readonly memory: string
  readonly roomStreams: readonly string[]
  readonly region: (app: string) => string
}

type Rows = readonly object[]

/** A page with what is stored already told apart from what is new. */
export interface Sorted extends GroupPage {
  readonly n: number
  /** As the database has it. */
  readonly series: string
  readonly incarnation: number
  /** By table: rows that are not there yet. */
  readonly fresh: ReadonlyMap<Table, Rows>
  /** By table: rows that may be there. */
  readonly again: ReadonlyMap<Table, Rows>
  /** Events that the feed told before, and all that are stored in the same words, as far as we know. */
  readonly confirms: readonly RoomEventRow[]
  readonly repeats: readonly RoomEventRow[]
  /** When the room was last heard of by the events of the page, ms since the epoch; null where all of them are new. */
  readonly heard: number | null
  /** How many rows of each table were new. */
  readonly stored: Record<string, number>
  /** Of its progress, once it has moved. */
  version: number | undefined
}

export interface Known {
  readonly n: number
  readonly extraordinary: boolean
  readonly events: readonly (readonly [sequence: string, source: 'feed' | 'log', at: number])[] | null
  readonly items: readonly (readonly [position: string, hash: string])[] | null
}

/** Whether a page may go with others at all: whatever is out of the ordinary goes the careful way. */
export function isPlain({ source, room, rejects, holes, isUndecided, settles }: PageCommit): boolean {
  const isOfRoom = room.kind === 'incarnation' && !room.opens && source !== 'feed'
  return isOfRoom && rejects.length === 0 && !holes?.length && !isUndecided && !settles
}

function isLog({ writes }: GroupPage): boolean {
  return writes.includes(room)
}

function incarnationOf({ room }: PageCommit): number {
  return room.kind === 'incarnation' ? room.incarnation : 1
}

function rowsOf<Row extends object>({ page }: GroupPage, table: Table<string, Row>): readonly Row[] {
  return ((page.rows as Readonly<Record<string, Rows | undefined>>)[table.name] ?? []) as readonly Row[]
}

/** What is asked of a page before it is committed. */
export function questionOf(one: GroupPage, n: number): object {
  const { page } = one
  const sequences = inOrder(rowsOf(one, roomEvent).map(({ sequence }) => sequence))
  const items = rowsOf(one, widgetEvent)
  const positions = inOrder(items.map(({ position }) => position))
  return {
    ...{ n, stream: page.stream, series: page.series, incarnation: incarnationOf(page), listed: !isLog(one) },
    whole: page.holes !== undefined,
    ...{ first_event: sequences[0] ?? null, last_event: sequences.at(-1) ?? null },
    ...{ first_item: positions[0] ?? null, last_item: positions.at(-1) ?? null },
    widget: items[0]?.widget ?? null,
  }
}

function inOrder(counts: readonly (number | bigint)[]): readonly (number | bigint)[] {
  return counts.toSorted((a, b) => (a < b ? -1 : 1))
}

/** Tells new rows from those that are there; undefined of a page that must go the careful way. */
export function sorted(
  one: GroupPage,
  n: number,
  { extraordinary, events, items }: Known,
): Sorted | undefined {
  if (extraordinary) return undefined
  const { page, writes, forgotten } = one
  const stored = new Map((events ?? []).map(([sequence, source, at]) => [sequence, { source, at }]))
  const told = new Map(items ?? [])
  const widgets = rowsOf(one, widgetEvent)
  if (widgets.some(row => isOtherItem(row, told))) return undefined
  const own = rowsOf(one, roomEvent)
  const repeats = stored.size === 0 ? [] : own.filter(({ sequence }) => stored.has(String(sequence)))
  const confirms = repeats.filter(({ sequence }) => stored.get(String(sequence))!.source === 'feed')
  const heard =
    stored.size === 0 ? [] : own.map(({ sequence, at }) => stored.get(String(sequence))?.at ?? Date.parse(at))
  if (heard.some(Number.isNaN)) return undefined
  const fresh = new Map<Table, Rows>()
  const again = new Map<Table, Rows>()
  const isNew = (row: object) => !stored.has(String((row as RoomEventRow).sequence))
  const isConfirmed = (row: object) => stored.get(String((row as RoomEventRow).sequence))?.source === 'feed'
  for (const table of writes) {
    const rows = rowsOf(one, table)
    if (table === room || rows.length === 0) continue
    if (rows.some(row => (row as RoomEventRow).room_uuid !== page.series)) return undefined
    if (table === widgetEvent)
      fresh.set(
        table,
        widgets.filter(({ position }) => !told.has(String(position))),
      )
    // Nothing of a series that is read for the first time is there, and where something is all the same COPY refuses it.
    else if (!isLog(one)) (page.version === 0 ? fresh : again).set(table, rows)
    else if (stored.size === 0) fresh.set(table, rows)
    else {
      fresh.set(table, rows.filter(isNew))
      if (table !== roomEvent) again.set(table, rows.filter(isConfirmed))
    }
  }
  return {
    page,
    writes,
    forgotten,
    n,
    series: encodeText(page.series),
    incarnation: incarnationOf(page),
    fresh,
    again,
    ...{ confirms, repeats, heard: heard.length > 0 ? Math.max(...heard) : null },
    ...{ stored: none(writes), version: undefined },
  }
}

function isOtherItem({ position, content_hash }: WidgetEventRow, told: ReadonlyMap<string, string>): boolean {
  const hash = told.get(String(position))
  return hash !== undefined && hash !== content_hash
}

/** A page as its progress and its room take it. */
export function standing({ page, writes, n, incarnation, heard }: Sorted, settings: GroupSettings): object {
  const { stream, series, version, cursor, streamState, caughtUp, region = settings.region(page.app) } = page
  const rooms = (page.rows['classroom.room'] ?? []) as readonly RoomRow[]
  const own = rooms.find(each => each.room_uuid === series)
  return {
    ...{ ...own, n, stream, series, incarnation, version, cursor, stream_state: streamState, region, heard },
    ...{ caught_up: caughtUp, age: page.age?.() ?? 0, listed: !writes.includes(room) },
  }
}

function none(writes: readonly Table[]): Record<string, number> {
  return Object.fromEntries(writes.map(({ name }) => [name, 0]))
}

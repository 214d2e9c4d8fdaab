import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import type { Clock } from '../clock/clock.ts'
import { RefusedRows, StoreUnavailable } from '../engine/ports.ts'
import type { Stream } from '../streams/stream.ts'
import type { RowSet } from '../tables/index.ts'
import { decodeJson } from './encode.ts'
import { storeError } from './errors.ts'
import { compareRows, type Difference, mendRows } from './replay/compare.ts'
import { readEvents, readItems, type StoredEvent, type StoredItem } from './replay/raw.ts'
import { openRebuilt, rebuildable } from './replay/rebuilt.ts'
import {
  countRooms,
  mendRoom,
  nextIncarnation,
  nextStatement,
  type RoomColumn,
  readRoom,
  type StoredRoom,
} from './replay/rooms.ts'
import { askOf, atOneMoment, type Incarnation, lockLogs, placeValues, readMark } from './replay/session.ts'
import { bind } from './statement.ts'

/** What is kept raw of one incarnation of a room, and what is stored of the room. */
interface RawRoom {
  readonly events: AsyncIterable<readonly StoredEvent[]>
  /** By the name of their operation. */
  readonly items: (widget: string) => AsyncIterable<readonly StoredItem[]>
  readonly stored: StoredRoom | undefined
}

/** What is wrong with the row of a room. */
export interface RoomFault {
  readonly columns: readonly RoomColumn[]
  readonly wanted: StoredRoom
}

/** Makes the derived rows out of the raw ones; answers what is wrong with the room itself. */
export type Rebuild = (
  place: Incarnation,
  raw: RawRoom,
  put: (rows: RowSet) => Promise<void>,
) => Promise<RoomFault | undefined>

export interface Comparison {
  readonly differences: readonly Difference[]
  readonly mark: string
  readonly stored: StoredRoom | undefined
  readonly fault: RoomFault | undefined
}

/**
 * `moved`: what was compared is no longer what is stored; `busy`: someone else is writing, or it took too long. Neither
 * changed anything.
 */
type Mended =
  | { readonly outcome: 'mended'; readonly differences: readonly Difference[] }
  | { readonly outcome: 'moved' | 'busy' }

/** A session that rebuilds derived rows beside the stored ones. All methods throw StoreUnavailable and RefusedRows. */
export interface Replay {
  readonly rooms: (apps: readonly string[]) => Promise<number>
  /** The incarnation after another one, of any room of its app. */
  readonly next: (after: Incarnation) => Promise<Incarnation | undefined>
  /** Reads, rebuilds and compares one incarnation as it was at one moment, whatever is written meanwhile. */
  readonly compare: (place: Incarnation, rebuild: Rebuild) => Promise<Comparison>
  /** Makes the stored rows of an incarnation what was rebuilt last, in one transaction. */
  readonly mend: (place: Incarnation, found: Comparison) => Promise<Mended>
  readonly close: () => void
}

interface ReplaySettings {
  /** Streams whose rows are rebuilt, as far as what they read is kept raw. */
  readonly streams: readonly Stream[]
  readonly clock: Pick<Clock, 'monotonic'>
  readonly limits?: ChangeLimits
}

/** How long a change may wait for a lock and take in all, ms. */
interface ChangeLimits {
  readonly lock: number
  readonly total: number
}

/** A commit waits five seconds for a lock unless the configuration says otherwise: by then a change is over. */
export const usualLimits: ChangeLimits = { lock: 1_000, total: 4_000 }

/** Serialization failure, deadlock, lock not had in time, statement too long; a key that was not there before. */
const busyCodes: ReadonlySet<string | undefined> = new Set(['40001', '40P01', '55P03', '57014', '23505'])

export async function openReplay(pool: pg.Pool, settings: ReplaySettings): Promise<Replay> {
  const { clock, limits = usualLimits } = settings
  const { logs, tables } = rebuildable(settings.streams)
  const statements = { compare: compareRows(tables), next: nextStatement(tables) }
  const client = await pool.connect().catch(error => Promise.reject(storeError(error)))
  // A connection that breaks is noticed by whoever asks next; without a listener it would end the process.
  client.on('error', () => {})
  const ask = askOf(client)
  const rebuilt = await openRebuilt(ask, tables).catch(error => {
    client.release(true)
    throw error
  })

  async function differencesAt(
    place: Incarnation,
    fault: RoomFault | undefined,
  ): Promise<readonly Difference[]> {
    type Row = Omit<Difference, 'keys'> & { readonly keys: string }
    const rows = await ask<Row>(bind(statements.compare, placeValues(place)))
    const ofRows = rows.map(row => ({ ...row, keys: decodeJson(row.keys) as Difference['keys'] }))
    if (!fault) return ofRows
    const { columns } = fault
    return [{ table: 'classroom.room', kind: 'different', columns, rows: 1, keys: [{}] }, ...ofRows]
  }

  async function compare(place: Incarnation, rebuild: Rebuild): Promise<Comparison> {
    await rebuilt.begin(JSON.stringify(place))
    return atOneMoment(ask, 'look', async () => {
      const mark = await readMark(ask, logs, place)
      const stored = await readRoom(ask, place)
      const raw: RawRoom = {
        events: readEvents(ask, place),
        items: widget => readItems(ask, place, widget),
        stored,
      }
      const fault = await rebuild(place, raw, rows => rebuilt.put(place.app, place.incarnation, rows))
      return { differences: await differencesAt(place, fault), mark, stored, fault }
    })
  }

  /** Inside a transaction that shows one moment: what anyone else writes after it began is refused, not undone. */
  async function apply(place: Incarnation, { mark, stored, fault }: Comparison): Promise<Mended> {
    const end = clock.monotonic() + limits.total
    const inTime = () => {
      const left = Math.max(1, Math.ceil(end - clock.monotonic()))
      return ask({ text: `set local statement_timeout = ${left}`, values: [] })
    }
    await ask({ text: `set local lock_timeout = ${limits.lock}`, values: [] })
    await inTime()
    await lockLogs(ask, logs, place)
    const isAsFound =
      (await readMark(ask, logs, place)) === mark && isDeepStrictEqual(await readRoom(ask, place), stored)
    if (!isAsFound) return { outcome: 'moved' }
    const differences = await differencesAt(place, fault)
    const differing = new Set(differences.map(({ table }) => table))
    for (const table of tables.filter(({ name }) => differing.has(name))) {
      await inTime()
      await ask(bind(mendRows(table), placeValues(place)))
    }
    // The feed writes it too: it goes last, so that the feed waits for it as shortly as can be.
    if (fault) await mendRoom(ask, place, fault.wanted, fault.columns)
    return { outcome: 'mended', differences }
  }

  return {
    rooms: apps => countRooms(ask, apps),
    next: after => nextIncarnation(ask, statements.next, after),
    compare,
    mend: async (place, found) => {
      try {
        return await atOneMoment(ask, 'change', () => apply(place, found))
      } catch (error) {
        if (isBusy(error)) return { outcome: 'busy' }
        throw error
      }
    },
    close: () => client.release(true),
  }
}

function isBusy(error: unknown): boolean {
  return (error instanceof StoreUnavailable || error instanceof RefusedRows) && busyCodes.has(error.code)
}

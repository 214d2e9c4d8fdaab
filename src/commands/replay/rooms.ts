import type { Clock } from '../../clock/clock.ts'
import { RefusedRows } from '../../engine/ports.ts'
import { type Difference, type Kind, mostKeys } from '../../postgres/replay/compare.ts'
import { beforeAll } from '../../postgres/replay/rooms.ts'
import type { Incarnation } from '../../postgres/replay/session.ts'
import type { Rebuild, Replay } from '../../postgres/replay.ts'
import { CommandError } from '../cli/exit.ts'

interface LoopOptions {
  readonly apps: readonly string[]
  /** One room, or every one. */
  readonly room: string | undefined
  /** `compare` changes nothing. */
  readonly mode: 'compare' | 'write'
  readonly rebuild: Rebuild
  readonly clock: Clock
  /** Takes how many incarnations of rooms were compared. */
  readonly onProgress: (rooms: number) => void
}

export interface LoopResult {
  readonly rooms: number
  /** What differed; what was changed, where that was asked for. */
  readonly tally: Tally
  /** Rooms that differ and could not be changed, because someone else kept writing. */
  readonly busy: readonly Incarnation[]
}

/** A room that is written to is compared again at once this often, and then after all others. */
const attempts = 3
const rounds = 5
const pause = 1_000

/** Compares room by room, incarnation by incarnation. Throws StoreUnavailable, and CommandError for a row that is refused. */
export async function replayRooms(replay: Replay, options: LoopOptions): Promise<LoopResult> {
  const { apps, room, mode, rebuild, clock, onProgress } = options
  const tally = createTally()
  let rooms = 0

  /** False when someone else kept writing. */
  async function replayRoom(place: Incarnation): Promise<boolean> {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const found = await replay.compare(place, rebuild).catch(error => refuse(error, place))
      const isDone = mode === 'compare' || found.differences.length === 0
      if (isDone) {
        tally.add(place, found.differences)
        return true
      }
      const mended = await replay.mend(place, found)
      if (mended.outcome === 'mended') {
        tally.add(place, mended.differences)
        return true
      }
      if (mended.outcome === 'busy') return false
    }
    return false
  }

  let busy: Incarnation[] = []
  for (const app of apps) {
    const first = { app, ...beforeAll, ...(room !== undefined && { room }) }
    for (let place = await replay.next(first); place; place = await replay.next(place)) {
      if (room !== undefined && place.room !== room) break
      if (!(await replayRoom(place))) busy.push(place)
      rooms += 1
      onProgress(rooms)
    }
  }
  for (let round = 1; round <= rounds && busy.length > 0; round++) {
    await clock.sleep(pause)
    const waiting = busy
    busy = []
    for (const place of waiting) if (!(await replayRoom(place))) busy.push(place)
  }
  return { rooms, tally, busy }
}

function refuse(error: unknown, { app, room }: Incarnation): never {
  if (!(error instanceof RefusedRows)) throw error
  throw new CommandError(
    `room ${room} of app ${app} cannot be rebuilt: the database refuses a row that its events now make (SQLSTATE ${error.code}); it is as it was`,
  )
}

/** Where a row differs: the key of its table, never what it holds. */
type DifferingKey = Incarnation & Readonly<Record<string, string | number | bigint>>

/** What was found in one table, over all rooms. */
interface TableTally {
  readonly table: string
  readonly missing: number
  readonly extra: number
  readonly different: number
  /** Of different rows: how many differ in each column. */
  readonly columns: Readonly<Record<string, number>>
  /** The first of each kind. */
  readonly keys: Readonly<Record<Kind, readonly DifferingKey[]>>
}

export type Tally = ReturnType<typeof createTally>

function createTally() {
  const tables = new Map<string, TableTally>()
  let rows = 0
  return {
    add: (place: Incarnation, differences: readonly Difference[]) => {
      for (const each of differences) {
        rows += each.rows
        tables.set(each.table, grow(tables.get(each.table) ?? nothing(each.table), place, each))
      }
    },
    /** Rows that differ so far. */
    rows: (): number => rows,
    tables: (): readonly TableTally[] => [...tables.values()].sort((a, b) => (a.table < b.table ? -1 : 1)),
  }
}

function nothing(table: string): TableTally {
  const keys = { missing: [], extra: [], different: [] }
  return { table, missing: 0, extra: 0, different: 0, columns: {}, keys }
}

function grow(tally: TableTally, place: Incarnation, { kind, rows, columns, keys }: Difference): TableTally {
  const found = keys.map(key => ({ ...place, ...key }))
  const counts = columns.map(column => [column, (tally.columns[column] ?? 0) + rows])
  return {
    ...tally,
    [kind]: tally[kind] + rows,
    columns: { ...tally.columns, ...Object.fromEntries(counts) },
    keys: { ...tally.keys, [kind]: [...tally.keys[kind], ...found].slice(0, mostKeys) },
  }
}

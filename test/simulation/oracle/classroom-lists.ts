import type { TrueRoom } from './classroom-truth.ts'
import { type Fields, fieldsOf, listOf, resourceCells, resourceFields, without } from './event-rows.ts'
import type { Finding, Moments } from './examination.ts'
import {
  compareTable,
  type ExpectedRow,
  keyOf,
  oneOf,
  orNull,
  type Row,
  Rule,
  type StoredSchema,
} from './rows.ts'

export interface ListContext {
  readonly stored: StoredSchema
  /** Whether a recording has its first file while it goes on. */
  readonly areFilesEarly: boolean
  /** What a list says of the room now must be stored as it is. */
  readonly isCurrent: (room: TrueRoom, stream: 'recordings' | 'resources') => boolean
  /** Moments at which a list of the room's recordings was answered as if there were none. */
  readonly emptied: (room: TrueRoom) => Moments
  /** And as if none of them had its first file, in their order. */
  readonly unfiled: (room: TrueRoom) => readonly number[]
  /** Moments at which a list of the room's resources was answered. */
  readonly answered: (room: TrueRoom) => Moments
}

/** Files of a recording appear after its end, and were listed once, by then at the latest, ms. */
const longestFiling = 15 * 60_000

/** Recordings and resources as they were listed last: a row is one of the states that they were in, the last one in the end. */
export function examineLists(rooms: readonly TrueRoom[], context: ListContext): readonly Finding[] {
  const { stored } = context
  const made = {
    ...{ recording: new Map<string, ExpectedRow>(), recording_file: new Map<string, ExpectedRow>() },
    ...{ resource: new Map<string, ExpectedRow>() },
  }
  const recordings = stored.get('recording')!
  const rows = new Map(recordings.rows.map(row => [keyOf(recordings.key, row), row]))
  for (const room of rooms) {
    const place = `${room.app} ${room.roomUuid} ${room.stored}`
    const unfiled = context.unfiled(room)
    for (const item of room.recordings) {
      const key = `${place} ${item.recordId}`
      made.recording.set(key, recordingRow(item, context.isCurrent(room, 'recordings')))
      // What a list left out and a later one names again is there.
      const removed = (...by: readonly Moments[]) =>
        context.isCurrent(room, 'recordings') ? null : orNull(leftOut(by))
      const hasEnded = (rows.get(key)?.url ?? null) !== null
      // Files are numbered in the order in which they were listed first, which may have been without the first of them.
      const end = item.endTime ?? Number.POSITIVE_INFINITY
      const isFiledLate = unfiled.some(time => end <= time && time <= end + longestFiling)
      const files = item.recordDetails.slice(0, hasEnded ? undefined : Number(context.areFilesEarly))
      for (const [ordinal, file] of files.entries()) {
        const isFirst = ordinal === 0 || isFiledLate
        const by = [context.emptied(room), ...(isFirst ? [new Set(unfiled)] : [])]
        const url = isFiledLate ? oneOf(item.recordDetails.map(({ url }) => url)) : file.url
        const cells = { url, removed_at: removed(...by), extra: without(fieldsOf(file), 'url') }
        made.recording_file.set(`${key} ${ordinal}`, { cells, isDue: hasEnded && !isFiledLate })
      }
    }
    for (const [id, history] of resourcesOf(room)) {
      made.resource.set(`${place} ${id}`, resourceRow(history, context, room))
    }
  }
  return Object.entries(made).flatMap(([table, expected]) => compareTable(stored.get(table)!, expected))
}

function leftOut(by: readonly Moments[]): Rule {
  return new Rule(
    'when a list left it out',
    value => typeof value === 'number' && by.some(one => one.has(value)),
  )
}

/** It runs, then it has ended, then its files are there. */
function recordingRow(item: TrueRoom['recordings'][number], isCurrent: boolean): ExpectedRow {
  const now = { status: item.status, ended_at: item.endTime, url: item.url }
  const running = { status: 1, ended_at: null, url: null }
  const ended = { ...now, url: null }
  const states = isCurrent ? [now] : item.endTime === null ? [running] : [running, ended, now]
  const isState = (row: Row) =>
    states.some(
      ({ status, ended_at, url }) =>
        row.status === status && row.ended_at === ended_at && (row.url ?? null) === url,
    )
  const state = new Rule(`that of ${JSON.stringify(states)}`, (_, row) => isState(row))
  return {
    isDue: isCurrent,
    cells: {
      ...{ sid: item.sid, resource_id: item.resourceId, type: item.type, started_at: item.startTime },
      ...{ status: state, ended_at: state, url: state },
      extra: without(fieldsOf(item), ...recordingFields),
    },
  }
}

const recordingFields = [
  ...['recordId', 'sid', 'resourceId', 'type', 'status', 'startTime', 'endTime', 'url', 'recordDetails'],
]

export interface ResourceState {
  readonly item: Fields
  readonly at: number
  readonly isRemoved: boolean
}

/** All that became of each resource, as the changes of the room tell, and where these tell nothing. */
export function resourcesOf({
  events,
  steps,
}: Pick<TrueRoom, 'events' | 'steps'>): ReadonlyMap<string, readonly ResourceState[]> {
  const states = events.flatMap(({ cmd, data, at }) => {
    const { resources, action } = fieldsOf(data)
    return cmd === 1003 ? listOf(resources).map(item => ({ item, at, isRemoved: action === 2 })) : []
  })
  const untold = steps.map(item => ({ item: fieldsOf(item), at: item.updateTime, isRemoved: false }))
  const all = [...states, ...untold].sort((one, other) => one.at - other.at)
  return Map.groupBy(all, ({ item }) => String(item.resourceUuid))
}

/** What was listed of one that is gone stays; one that was gone before any list named it is nowhere. */
function resourceRow(
  history: readonly ResourceState[],
  { isCurrent, answered }: ListContext,
  room: TrueRoom,
): ExpectedRow {
  const last = history.at(-1)!
  const mustBe = isCurrent(room, 'resources')
  const isListed = mustBe && !last.isRemoved
  const versions = history.filter(({ isRemoved }) => !isRemoved).map(({ item }) => listedCells(item))
  const possible = isListed ? [listedCells(last.item)] : versions
  const columns = Object.keys(possible[0] ?? {})
  const removed = new Rule(`when a list was answered without it, if it was removed`, value => {
    if (value === null) return !(mustBe && last.isRemoved)
    if (isListed) return false
    const isGone = history.some(({ isRemoved, at }) => isRemoved && at <= Number(value))
    return isGone && answered(room).has(Number(value))
  })
  return {
    isDue: isListed,
    cells: {
      ...Object.fromEntries(columns.map(column => [column, versionOf(possible, column)])),
      removed_at: removed,
    },
  }
}

/** One of the values that the column had, and of one version all. */
function versionOf(versions: readonly Row[], column: string): Rule {
  const values = oneOf(versions.map(version => version[column]))
  return new Rule(values.says, (value, row) => {
    const version = versions.findLast(({ updated_at }) => updated_at === row.updated_at)
    return version === undefined ? false : oneOf([version[column]]).allows(value, row)
  })
}

function listedCells(item: Fields): Row {
  return {
    ...resourceCells(item),
    updated_at: item.updateTime,
    extra: without(item, ...resourceFields, 'updateTime'),
  }
}

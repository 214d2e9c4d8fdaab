import { z } from 'zod'
import {
  itemId,
  recordings as operation,
  RecordingFile,
  RecordingItem,
  recordingStatuses,
} from '../provider/classroom/index.ts'
import { type RecordingFileRow, type RecordingRow, recording, recordingFile } from '../tables/classroom.ts'
import type { Json } from '../tables/json.ts'
import { answerTime } from './events/event.ts'
import { isLast, type Page } from './page.ts'
import { roomCadence } from './parts/cadence.ts'
import {
  fieldsWithout,
  isObject,
  isSaid,
  judgeEach,
  judgeList,
  lastOfEach,
  type Read,
  redact,
} from './parts/items.ts'
import { type ToRowsWith, withState } from './parts/stream-state.ts'
import { fieldsBeside, latestBelieved, notAfter, timestampIfAny } from './parts/values.ts'
import type { SnapshotStream } from './stream.ts'

const State = z.object({
  incarnation: z.int().min(1).default(1),
  /** Addresses of the files of each recording by their numbers, as they were listed last; empty where one has none. */
  files: z.record(z.string(), z.array(z.string()).readonly()).default({}),
  /** Numbers of those that are listed no longer. */
  gone: z.record(z.string(), z.array(z.int()).readonly()).default({}),
})
type State = z.infer<typeof State>

/**
 * The recordings of a room (operation 5). An entry changes after it first appears (end, status, files), so the
 * list is read again until each has ended and has its files. What it no longer names of the files has been removed.
 */
export const recordings: SnapshotStream = {
  kind: 'snapshot',
  name: 'recordings',
  title: 'Recordings of each room, with their files',
  operation,
  writes: [recording, recordingFile],
  read: operation.readBatch,
  source: 'list',
  scope: 'room',
  needs: ['room-events'],
  ...roomCadence('1m'),
  isAnnounced: true,
  request: cursor => (cursor === null ? {} : { nextId: cursor }),
  toRows: withState(State, toRows),
}

type Item = Read<z.infer<typeof RecordingItem>>

const columns = new Set([
  'recordId',
  'sid',
  'resourceId',
  'type',
  'status',
  'startTime',
  'endTime',
  'url',
  'recordDetails',
])
const columnsBeforeFiles = columns.difference(new Set(['recordDetails']))
const fileColumns = new Set(['url'])

function toRows(page: Page, streamState: State): ToRowsWith<State> {
  const told = page.items.map(redact)
  const listed = judgeEach(RecordingItem, told)
  const items = lastOfEach(listed.good, ({ value }) => value.recordId)
  const followed = followFiles(told, page, streamState)
  const files = items.map(item => readFiles(item, page, followed.numbers.get(item.value.recordId) ?? []))
  const rows = {
    'classroom.recording': items.map(item => recordingRow(item, page)),
    'classroom.recording_file': [...files.flatMap(file => file.rows), ...followed.removed],
  }
  return {
    rows,
    streamState: { ...streamState, files: followed.files, gone: followed.gone },
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'next',
    rejects: [...listed.rejects, ...files.flatMap(file => file.rejects)],
    hints: [],
    unfinished: items.some(
      (item, index) => !isFinished(item, rows['classroom.recording'][index]!, files[index]?.rows ?? []),
    ),
  }
}

function recordingRow(item: Item, page: Page): RecordingRow {
  const { value } = item
  const latest = latestBelieved(page)
  const startTime = notAfter(latest, timestampIfAny(value.startTime))
  const endTime = notAfter(latest, timestampIfAny(value.endTime))
  return {
    room_uuid: page.series,
    record_id: value.recordId,
    sid: value.sid ?? null,
    resource_id: value.resourceId ?? null,
    type: value.type ?? null,
    status: value.status ?? null,
    started_at: startTime,
    ended_at: endTime,
    url: value.url ?? null,
    extra: fieldsBeside(hasUnnamedFile(item) ? columnsBeforeFiles : columns, item, { startTime, endTime }),
  }
}

/** A file whose address is missing, or called otherwise, makes no row. One that says nothing is not there yet. */
function hasUnnamedFile({ raw: { recordDetails } }: Item): boolean {
  const isUnnamed = (file: unknown) => isObject(file) && !file.url && Object.values(file).some(isSaid)
  return Array.isArray(recordDetails) && recordDetails.some(isUnnamed)
}

/** They are judged one by one, so that a bad one spoils no other. */
function readFiles({ value, raw }: Item, page: Page, numbers: readonly number[]) {
  const { good, rejects } = judgeList(RecordingFile, raw.recordDetails, 'recordDetails', raw)
  const rows = good.flatMap(({ value: file, raw, ordinal }): RecordingFileRow[] => {
    if (!file.url) return []
    const row = { room_uuid: page.series, record_id: value.recordId, ordinal: numbers[ordinal] ?? ordinal }
    return [{ ...row, url: file.url, removed_at: null, extra: fieldsWithout(fileColumns, raw, file) }]
  })
  return { rows, rejects }
}

/**
 * What is listed of files now, and which are no longer: those of a recording by its own list where it tells one, and those of a
 * recording that is gone by a whole reading in one page.
 */
function followFiles(items: readonly Json[], page: Page, { files, gone }: State) {
  const ids = items.map(item => itemId.safeParse(isObject(item) ? item.recordId : undefined).data)
  const isCut = (page.total ?? 0) > items.length
  const isWhole = page.cursor === null && isLast(page) && !isCut && !ids.includes(undefined)
  const listed = new Map(ids.map((id, index) => [id, addressesIn(items[index]!)]))
  const unlisted = isWhole ? Object.keys(files).filter(id => !listed.has(id)) : []
  const [urlsOf, goneOf] = [new Map(Object.entries(files)), new Map(Object.entries(gone))]
  const followed = [...listed, ...unlisted.map(id => [id, []] as const)].flatMap(([id, urls]) =>
    id === undefined || urls === undefined
      ? []
      : [{ id, ...numberFiles({ urls: urlsOf.get(id) ?? [], gone: goneOf.get(id) ?? [] }, urls) }],
  )
  const nowGone = new Map([...goneOf, ...followed.map(one => [one.id, one.gone] as const)])
  return {
    numbers: new Map(followed.map(({ id, numbers }) => [id, numbers])),
    removed: followed.flatMap(({ id, urls, removed }) =>
      removed.flatMap(number => (urls[number] ? [removedFile(id, number, urls[number], page)] : [])),
    ),
    files: { ...files, ...Object.fromEntries(followed.map(({ id, urls }) => [id, urls])) },
    gone: Object.fromEntries([...nowGone].filter(([, numbers]) => numbers.length > 0)),
  }
}

/** By their place, empty where none can be read; undefined where no list is told. */
function addressesIn(item: Json): readonly string[] | undefined {
  const list = isObject(item) ? item.recordDetails : undefined
  if (!Array.isArray(list)) return undefined
  return list.map(file => RecordingFile.safeParse(file).data?.url ?? '')
}

function removedFile(record_id: string, ordinal: number, url: string, page: Page): RecordingFileRow {
  return { room_uuid: page.series, record_id, ordinal, url, removed_at: answerTime(page).at, extra: null }
}

/** A status that is not known cannot be waited for. */
function isFinished(
  { value }: Item,
  { ended_at }: RecordingRow,
  files: readonly RecordingFileRow[],
): boolean {
  if (value.status === recordingStatuses.recording) return false
  const hasEnded = value.status === recordingStatuses.ended || ended_at !== null
  if (!hasEnded) return isSaid(value.status)
  return Boolean(value.url) || files.length > 0
}

/** Addresses of files by their numbers, and the numbers of those that are listed no longer. */
interface KnownFiles {
  readonly urls: readonly string[]
  readonly gone: readonly number[]
}

interface NumberedFiles extends KnownFiles {
  /** Number of the file at each place of the list. */
  readonly numbers: readonly number[]
  /** Numbers of those that were listed before and are not now. */
  readonly removed: readonly number[]
}

/**
 * Which file is which in a list that changes. One is known by its address, wherever it is listed; one of another address at the
 * place of a file that is listed nowhere is that file, for addresses may be signed anew each time. All others are new, so that
 * what a list no longer names keeps its number when others move up into its place.
 */
function numberFiles({ urls, gone }: KnownFiles, listed: readonly string[]): NumberedFiles {
  const isGone = new Set(gone)
  const live = urls.map((_, number) => number).filter(number => !isGone.has(number))
  const byUrl = Map.groupBy([...gone.toReversed(), ...live.toReversed()], number => urls[number]!)
  const taken = new Set<number>()
  const numbers: (number | undefined)[] = listed.map(() => undefined)
  const match = (find: (url: string, place: number) => number | undefined) => {
    for (const [place, url] of listed.entries()) {
      const found = numbers[place] === undefined ? find(url, place) : undefined
      if (found === undefined || taken.has(found)) continue
      numbers[place] = found
      taken.add(found)
    }
  }
  const ofUrl = (url: string) => {
    const known = byUrl.get(url) ?? []
    while (known.length > 0 && taken.has(known.at(-1)!)) known.pop()
    return url === '' ? undefined : known.at(-1)
  }
  match((url, place) => (url !== '' && urls[live[place] ?? -1] === url ? live[place] : undefined))
  match(ofUrl)
  match((_, place) => live[place])
  const now = [...urls]
  const numbered = numbers.map((number, place) => {
    const own = number ?? now.length
    now[own] = listed[place] || (now[own] ?? '')
    return own
  })
  const removed = live.filter(number => !taken.has(number))
  const stillGone = gone.filter(number => !taken.has(number))
  return { urls: now, gone: [...stillGone, ...removed], numbers: numbered, removed }
}

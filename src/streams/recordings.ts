import { z } from 'zod'
import {
  recordings as operation,
  RecordingFile,
  RecordingItem,
  recordingStatuses,
} from '../provider/classroom/index.ts'
import { type RecordingFileRow, type RecordingRow, recording, recordingFile } from '../tables/classroom.ts'
import type { Page } from './page.ts'
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

/**
 * The recordings of a room (operation 5). An entry changes after it first appears (end, status, files), so the
 * list is read again until each has ended and has its files.
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
  toRows: withState(z.object({ incarnation: z.int().min(1).default(1) }), toRows),
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

function toRows(page: Page, streamState: { readonly incarnation: number }): ToRowsWith<typeof streamState> {
  const listed = judgeEach(RecordingItem, page.items.map(redact))
  const items = lastOfEach(listed.good, ({ value }) => value.recordId)
  const files = items.map(item => readFiles(item, page))
  const rows = {
    'classroom.recording': items.map(item => recordingRow(item, page)),
    'classroom.recording_file': files.flatMap(file => file.rows),
  }
  return {
    rows,
    streamState,
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
function readFiles({ value, raw }: Item, page: Page) {
  const { good, rejects } = judgeList(RecordingFile, raw.recordDetails, 'recordDetails', raw)
  const rows = good.flatMap(({ value: file, raw, ordinal }): RecordingFileRow[] => {
    if (!file.url) return []
    const extra = fieldsWithout(fileColumns, raw, file)
    return [{ room_uuid: page.series, record_id: value.recordId, ordinal, url: file.url, extra }]
  })
  return { rows, rejects }
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

import { resourceColumns, rowsOfEvents } from './events.ts'
import {
  anything,
  Bound,
  type ExpectedLetter,
  type ExpectedRoom,
  type ExpectedRow,
  timeBetween,
} from './expectation.ts'
import type { TruthRoom } from './truth.ts'
import { type Fields, listOf, rest, timeOf, withoutTokens } from './values.ts'
import { rowsOfWidgets } from './widgets.ts'

/** All that a room must have left in the database. `now` is the world's time, Unix ms. */
export function expectRoom(truth: TruthRoom, now: number, isLast: boolean): ExpectedRoom {
  const { room } = truth
  return {
    app: room.app,
    roomUuid: room.roomUuid,
    incarnation: room.incarnation,
    startedAt: timeOf(room.startedAt),
    rows: [
      roomRow(truth, now, isLast),
      ...rowsOfEvents(truth, now),
      ...rowsOfWidgets(truth),
      ...recordingRows(truth),
      ...resourceRows(truth, now),
    ],
    letters: lettersOf(truth),
  }
}

const notNull = new Bound('something', value => value !== null)

function roomRow({ room }: TruthRoom, now: number, isLast: boolean): ExpectedRow {
  const { state, startedAt, endedAt, openedAt } = room
  return {
    table: 'room',
    columns: {
      state,
      started_at: timeOf(startedAt),
      ended_at: endedAt === undefined ? null : timeBetween(startedAt ?? openedAt, now),
      valid_from: timeBetween(openedAt, now),
      valid_to: isLast ? null : notNull,
    },
  }
}

const recordingFields = 'recordId sid resourceId type status startTime endTime url recordDetails'.split(' ')

function recordingRows({ recordings }: TruthRoom): readonly ExpectedRow[] {
  return recordings.flatMap(({ item }): ExpectedRow[] => {
    const { recordId: record_id, sid, resourceId: resource_id, type, status, url, recordDetails } = item
    const times = { started_at: timeOf(item.startTime), ended_at: timeOf(item.endTime) }
    const extra = rest({ ...item }, recordingFields)
    const files = recordDetails.map((file, ordinal) => {
      return { table: 'recording_file' as const, columns: { record_id, ordinal, url: file.url, extra: null } }
    })
    return [
      { table: 'recording', columns: { record_id, sid, resource_id, type, status, url, ...times, extra } },
      ...files,
    ]
  })
}

const resourceFields = 'resourceUuid resourceName ext size url taskUuid taskProgress updateTime'.split(' ')

/** What was discarded may have been listed before; then it must be marked as removed. */
function resourceRows({ resources, events, room }: TruthRoom, now: number): readonly ExpectedRow[] {
  const listed = new Set(resources.map(({ item }) => item.resourceUuid))
  const told = events
    .filter(({ cmd }) => cmd === 1003)
    .flatMap(({ data }) => listOf((data as Fields).resources))
  const gone = new Set(told.map(({ resourceUuid }) => String(resourceUuid)).filter(id => !listed.has(id)))
  const present = resources.map(({ item }): ExpectedRow => {
    const fields = { ...item }
    const columns = {
      ...resourceColumns(fields),
      updated_at: timeOf(item.updateTime),
      removed_at: null,
      extra: rest(fields, resourceFields),
    }
    return { table: 'resource', columns }
  })
  const removed_at = new Bound('a time', value =>
    timeBetween(0, Math.max(now, room.openedAt) + day).holds(value),
  )
  return [
    ...present,
    ...[...gone].map(
      (resource_uuid): ExpectedRow => ({
        table: 'resource',
        columns: { resource_uuid, removed_at, extra: anything },
        optional: true,
      }),
    ),
  ]
}

/** Of a removal the time is our own clock's, which a world that runs fast has long left behind. */
const day = 86_400_000

/** Records and items that no client can read, by what identifies them. */
function lettersOf({ room: { roomUuid }, events, quiz, poll }: TruthRoom): readonly ExpectedLetter[] {
  const records = events.filter(({ malformed }) => malformed)
  const items = [...quiz, ...poll].filter(({ malformed }) => malformed)
  return [
    ...records.map(({ sequence, data }) => ({
      what: `record ${sequence} of ${roomUuid}`,
      item: { roomUuid, sequence: String(sequence), data: withoutTokens(data) },
    })),
    ...items.map(({ widget, position, item }) => ({
      what: `${widget} item ${position} of ${roomUuid}`,
      item: withoutTokens(item) as Fields,
    })),
  ]
}

import { z } from 'zod'
import {
  RecordingStateChange,
  ResourceChange,
  ResourceItem,
  RoomStateChange,
  recordingStates,
  resourceActions,
  roomStates,
} from '../../provider/classroom/index.ts'
import type { RecordingStateChangeRow, ResourceChangeRow } from '../../tables/classroom.ts'
import type { Json } from '../../tables/json.ts'
import { asText, fieldsWithout, judgeEach, unreadFields } from '../parts/items.ts'
import { notAfter, timestampIfAny } from '../parts/values.ts'
import { readerOf } from './event.ts'

/* What events say of the state of a room, of its recordings and of its resources. */

const stateColumns = new Set(['state', 'startTime'])

/** cmd 1. startTime stays in the data once the class has started: it is the time of that one change only. */
export const roomState = readerOf(RoomStateChange, (value, raw) => {
  const { state, startTime } = value
  const startedAt = timestampIfAny(startTime)
  return {
    ownTime: state === roomStates.started ? startedAt : null,
    rows: (event, latest) => ({
      'classroom.room_state_change': [
        {
          ...event,
          state,
          started_at: notAfter(latest, startedAt),
          extra: fieldsWithout(stateColumns, raw, value),
        },
      ],
    }),
  }
})

const recordingColumns = new Set(['state', 'recordId', 'sid', 'resourceId', 'startTime'])

/** cmd 1001. As with the class, startTime says when the recording began, whatever the change is. */
export const recordingState = readerOf(RecordingStateChange, (value, raw) => {
  const { state, recordId, sid, resourceId, startTime } = value
  const startedAt = timestampIfAny(startTime)
  return {
    ownTime: state === recordingStates.started ? startedAt : null,
    rows: (event, latest) => ({
      'classroom.recording_state_change': [
        {
          ...event,
          state,
          record_id: recordId || null,
          sid: sid ?? null,
          resource_id: resourceId ?? null,
          started_at: notAfter(latest, startedAt),
          extra: fieldsWithout(recordingColumns, raw, value),
        },
      ],
    }),
  }
})

/**
 * Gives the stops of a log, which name no recording, the one last started. `last` comes from the pages before
 * and is handed on to those after.
 */
export function assignStops(
  changes: readonly RecordingStateChangeRow[],
  last: string | null,
): { readonly changes: readonly RecordingStateChangeRow[]; readonly last: string | null } {
  let recordId = last
  const assigned = changes.map(change => {
    if (change.state === recordingStates.started) recordId = change.record_id
    return change.record_id === null && isStop(change.state) ? { ...change, record_id: recordId } : change
  })
  return { changes: assigned, last: recordId }
}

/** 0 by the document; some deployments say 2. */
function isStop(state: number): boolean {
  return state === recordingStates.stopped || state === 2
}

/** The columns that a resource fills in the list and in events alike. */
export function resourceFields(value: ResourceItem) {
  return {
    resource_uuid: value.resourceUuid,
    resource_name: value.resourceName ?? null,
    ext: value.ext ?? null,
    size: value.size ?? null,
    url: value.url ?? null,
    task_uuid: value.taskUuid ?? null,
    task_progress: (value.taskProgress ?? null) as Json,
  }
}

/** The fields that those columns come from. */
export const resourceColumns = [
  'resourceUuid',
  'resourceName',
  'ext',
  'size',
  'url',
  'taskUuid',
  'taskProgress',
] as const

const Lists = ResourceChange.extend({ resources: z.array(z.unknown()).nullish() })
const resourceEventColumns = new Set<string>(resourceColumns)

/** cmd 1003. */
export const resourceChange = readerOf(Lists, (value, raw) => {
  const { resources, operator, action } = value
  const unread = unreadFields(['operator', 'action'], raw, value)
  const { good, rejects } = judgeEach(ResourceItem, resources ?? [], 'data.resources')
  return {
    rejects,
    rows: event => ({
      'classroom.resource_change': good.map(({ value, raw, ordinal }) => ({
        ...event,
        ordinal,
        ...resourceFields(value),
        action: actionOf(action),
        operator_uuid: operator?.userUuid ?? null,
        operator_name: operator?.userName ?? null,
        operator_role: asText(operator?.role),
        extra: fieldsWithout(resourceEventColumns, { ...raw, ...unread }, value),
      })),
    }),
  }
})

function actionOf(action: number | null | undefined): ResourceChangeRow['action'] {
  if (action === resourceActions.changed) return 'upsert'
  return action === resourceActions.deleted ? 'delete' : 'unknown'
}

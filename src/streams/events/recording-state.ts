import { RecordingStateChange, recordingStates } from '../../provider/classroom/index.ts'
import type { RecordingStateChangeRow } from '../../tables/classroom.ts'
import { fieldsWithout } from '../parts/items.ts'
import { notAfter, timestampIfAny } from '../parts/values.ts'
import { readerOf } from './event.ts'

const columns = new Set(['state', 'recordId', 'sid', 'resourceId', 'startTime'])

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
          record_id: recordId ?? null,
          sid: sid ?? null,
          resource_id: resourceId ?? null,
          started_at: notAfter(latest, startedAt),
          extra: fieldsWithout(columns, raw),
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

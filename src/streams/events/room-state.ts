import { RoomStateChange, roomStates } from '../../provider/classroom/index.ts'
import { fieldsWithout, judge } from '../parts/items.ts'
import { notAfter, timestampIfAny } from '../parts/values.ts'
import { type EventReader, rawObject, unread } from './event.ts'

const columns = new Set(['state', 'startTime'])

/** cmd 1. startTime stays in the data once the class has started: it is the time of that one change only. */
export const roomState: EventReader = (data, item) => {
  const judged = judge(RoomStateChange, data, 'data', item)
  if (!judged.ok) return unread(judged.reject)
  const { state, startTime } = judged.value
  const startedAt = timestampIfAny(startTime)
  return {
    ownTime: state === roomStates.started ? startedAt : null,
    rejects: [],
    rows: (event, latest) => ({
      'classroom.room_state_change': [
        {
          ...event,
          state,
          started_at: notAfter(latest, startedAt),
          extra: fieldsWithout(columns, rawObject(data)),
        },
      ],
    }),
  }
}

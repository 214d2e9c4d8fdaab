import { RoomStateChange, roomStates } from '../../provider/classroom/index.ts'
import { fieldsWithout } from '../parts/items.ts'
import { notAfter, timestampIfAny } from '../parts/values.ts'
import { readerOf } from './event.ts'

const columns = new Set(['state', 'startTime'])

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
          extra: fieldsWithout(columns, raw),
        },
      ],
    }),
  }
})

import { z } from 'zod'
import { HandsChange } from '../../provider/classroom/index.ts'
import { fieldsWithout, judge } from '../parts/items.ts'
import { type EventReader, unread } from './event.ts'
import { readMembers } from './membership.ts'

const users = z.array(z.unknown()).nullish()
const Lists = HandsChange.extend({
  progressUsers: users,
  addProgressUsers: users,
  removeProgressUsers: users,
})
const User = HandsChange.shape.progressUsers.unwrap().unwrap().element
const columns = new Set(['userUuid', 'payload'])

/** cmd 1502. */
export const hands: EventReader = (data, item) => {
  const judged = judge(Lists, data, 'data', item)
  if (!judged.ok) return unread(judged.reject)
  const { members, rejects } = readMembers(User, {
    present: ['progressUsers', judged.value.progressUsers],
    added: ['addProgressUsers', judged.value.addProgressUsers],
    removed: ['removeProgressUsers', judged.value.removeProgressUsers],
  })
  return {
    ownTime: null,
    rejects,
    rows: event => ({
      'classroom.hand_wave': members.map(({ value, raw, ordinal, action, is_listed }) => ({
        ...event,
        ordinal,
        user_uuid: value.userUuid ?? null,
        action,
        is_listed,
        payload: raw.payload ?? null,
        extra: fieldsWithout(columns, raw, value),
      })),
    }),
  }
}

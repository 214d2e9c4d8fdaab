import { z } from 'zod'
import { StageChange } from '../../provider/classroom/index.ts'
import { fieldsWithout, judge } from '../parts/items.ts'
import { type EventReader, unread } from './event.ts'
import { readMembers } from './membership.ts'

const users = z.array(z.unknown()).nullish()
const Lists = StageChange.extend({
  acceptedUsers: users,
  addAcceptedUsers: users,
  removeAcceptedUsers: users,
})
const User = StageChange.shape.acceptedUsers.unwrap().unwrap().element
const columns = new Set(['userUuid'])

/** cmd 1501. */
export const stage: EventReader = (data, item) => {
  const judged = judge(Lists, data, 'data', item)
  if (!judged.ok) return unread(judged.reject)
  const { members, rejects } = readMembers(User, {
    present: ['acceptedUsers', judged.value.acceptedUsers],
    added: ['addAcceptedUsers', judged.value.addAcceptedUsers],
    removed: ['removeAcceptedUsers', judged.value.removeAcceptedUsers],
  })
  return {
    ownTime: null,
    rejects,
    rows: event => ({
      'classroom.stage_change': members.map(({ value, raw, ordinal, action, is_listed }) => ({
        ...event,
        ordinal,
        user_uuid: value.userUuid ?? null,
        action,
        is_listed,
        extra: fieldsWithout(columns, raw, value),
      })),
    }),
  }
}

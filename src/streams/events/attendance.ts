import { z } from 'zod'
import { Attendance, Person } from '../../provider/classroom/index.ts'
import type { Timestamp } from '../../rows/json.ts'
import { asText, fieldsWithout, judge, judgeEach, type Read } from '../items.ts'
import { timestamp } from '../times.ts'
import { type EventKey, type EventReader, unread } from './reading.ts'

const users = z.array(z.unknown()).nullish()
const Lists = Attendance.extend({ onlineUsers: users, offlineUsers: users })
const columns = new Set(['userUuid', 'userName', 'role', 'streamUuid'])

/** cmd 20. Its own time is that of the user who changed last. Those who entered are counted first. */
export const attendance: EventReader = (data, item) => {
  const judged = judge(Lists, data, 'data', item)
  if (!judged.ok) return unread(judged.reject)
  const onlineUsers = judged.value.onlineUsers ?? []
  const entered = judgeEach(Person, onlineUsers, 'data.onlineUsers')
  const left = judgeEach(Person, judged.value.offlineUsers ?? [], 'data.offlineUsers', onlineUsers.length)
  return {
    ownTime: lastUpdate([...entered.good, ...left.good]),
    rejects: [...entered.rejects, ...left.rejects],
    rows: event => ({
      'classroom.attendance': [
        ...entered.good.map(user => attendanceRow(event, user, 'enter')),
        ...left.good.map(user => attendanceRow(event, user, 'leave')),
      ],
    }),
  }
}

function attendanceRow(event: EventKey, { value, raw, ordinal }: Read<Person>, action: 'enter' | 'leave') {
  return {
    ...event,
    ordinal,
    user_uuid: value.userUuid ?? null,
    user_name: value.userName ?? null,
    role: asText(value.role),
    stream_uuid: value.streamUuid ?? null,
    action,
    extra: fieldsWithout(columns, raw, value),
  }
}

function lastUpdate(people: readonly Read<Person>[]): Timestamp | null {
  return people.reduce<Timestamp | null>((last, { value }) => {
    const time = timestamp(value.updateTime)
    return time !== null && time > (last ?? '') ? time : last
  }, null)
}

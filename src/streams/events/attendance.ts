import { z } from 'zod'
import { Attendance, Person } from '../../provider/classroom/index.ts'
import type { AttendanceRow } from '../../tables/classroom.ts'
import type { Timestamp } from '../../tables/json.ts'
import { asText, fieldsWithout, isSaid, judgeEach, type Read, unreadFields } from '../parts/items.ts'
import { timestampIfAny } from '../parts/values.ts'
import { readerOf } from './event.ts'

const users = z.array(z.unknown()).nullish()
const Lists = Attendance.extend({ onlineUsers: users, offlineUsers: users })
const columns = new Set(['userUuid', 'userName', 'role', 'streamUuid'])

/** cmd 20. Its own time is that of the user who changed last. Those who entered are counted first. */
export const attendance = readerOf(Lists, (value, raw) => {
  const onlineUsers = value.onlineUsers ?? []
  const entered = judgeEach(Person, onlineUsers, 'data.onlineUsers')
  const left = judgeEach(Person, value.offlineUsers ?? [], 'data.offlineUsers', onlineUsers.length)
  const { total } = value
  const unreadTotal = unreadFields(['total'], raw, value)
  return {
    ownTime: lastUpdate([...entered.good, ...left.good]),
    rejects: [...entered.rejects, ...left.rejects],
    rows: event => {
      const people: Told[] = [
        ...entered.good.map(user => ({ user, action: 'enter' as const })),
        ...left.good.map(user => ({ user, action: 'leave' as const })),
      ]
      if (people.length === 0 && isSaid(total)) people.push(nobody)
      return {
        'classroom.attendance': people.map(({ user: { value, raw, ordinal }, action }) => ({
          ...event,
          ordinal,
          user_uuid: value.userUuid ?? null,
          user_name: value.userName ?? null,
          role: asText(value.role),
          stream_uuid: value.streamUuid ?? null,
          action,
          total: total ?? null,
          extra: fieldsWithout(columns, { ...raw, ...unreadTotal }, value),
        })),
      }
    },
  }
})

interface Told {
  readonly user: Read<Person>
  readonly action: AttendanceRow['action']
}

/** An event that names nobody says all the same how many have come and gone. */
const nobody: Told = { user: { value: {}, raw: {}, ordinal: 0 }, action: null }

function lastUpdate(people: readonly Read<Person>[]): Timestamp | null {
  return people.reduce<Timestamp | null>((last, { value }) => {
    const time = timestampIfAny(value.updateTime)
    return time !== null && time > (last ?? '') ? time : last
  }, null)
}

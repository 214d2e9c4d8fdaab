import { z } from 'zod'
import {
  Attendance,
  ChatMessage,
  HandsChange,
  Person,
  RewardChange,
  StageChange,
} from '../../provider/classroom/index.ts'
import type { AttendanceRow, MembershipAction } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import type { JsonObject, Timestamp } from '../../tables/json.ts'
import type { Reject } from '../page.ts'
import { asText, fieldsWithout, isSaid, judgeEach, type Read, unreadFields } from '../parts/items.ts'
import { timestampIfAny } from '../parts/values.ts'
import { type EventKey, type EventReader, readerOf } from './event.ts'

/* What events say of people in a room. Their lists are judged one by one, so that a bad entry spoils no other. */

const users = z.array(z.unknown()).nullish()

const AttendanceLists = Attendance.extend({ onlineUsers: users, offlineUsers: users })
const attendanceColumns = new Set(['userUuid', 'userName', 'role', 'streamUuid'])

/** cmd 20. Its own time is that of the user who changed last. Those who entered are counted first; of one who left too, classroom.attendance_interval finds what was first. */
export const attendance = readerOf(AttendanceLists, (value, raw) => {
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
          extra: fieldsWithout(attendanceColumns, { ...raw, ...unreadTotal }, value),
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

const chatColumns = new Set(['fromUser', 'message', 'type'])

/** cmd 3. */
export const chat = readerOf(ChatMessage, (value, raw) => {
  const { fromUser, message, type } = value
  return {
    rows: event => ({
      'classroom.chat_message': [
        {
          ...event,
          user_uuid: fromUser?.userUuid ?? null,
          user_name: fromUser?.userName ?? null,
          role: asText(fromUser?.role),
          message,
          type: type ?? null,
          extra: fieldsWithout(chatColumns, raw, value),
        },
      ],
    }),
  }
})

const RewardLists = RewardChange.extend({ rewardDetails: z.array(z.unknown()).nullish() })
const Detail = RewardChange.shape.rewardDetails.unwrap().unwrap().element
const rewardColumns = new Set(['userUuid', 'changedReward', 'total', 'totalReward'])

/** cmd 1101. */
export const reward = readerOf(RewardLists, value => {
  const { rewardDetails, updateTime } = value
  const { good, rejects } = judgeEach(Detail, rewardDetails ?? [], 'data.rewardDetails')
  return {
    ownTime: timestampIfAny(updateTime),
    rejects,
    rows: event => ({
      'classroom.reward': good.map(({ value, raw, ordinal }) => ({
        ...event,
        ordinal,
        user_uuid: value.userUuid ?? null,
        changed_reward: value.changedReward ?? null,
        total: value.total ?? value.totalReward ?? null,
        extra: fieldsWithout(rewardColumns, raw, value),
      })),
    }),
  }
})

interface Members<T> {
  readonly members: readonly (Read<T> & {
    readonly action: MembershipAction
    /** Whether the list of all who are there has the user; null where it cannot tell. */
    readonly is_listed: boolean | null
  })[]
  readonly rejects: readonly Reject[]
}

/**
 * The changes that an event names, those added counted before those removed; then all others who are there. By the names
 * of its three lists: all who are there, who was added, who was removed.
 */
function readMembers<T extends { readonly userUuid?: string | null | undefined }>(
  schema: z.ZodType<T>,
  data: JsonObject,
  [present, added, removed]: readonly [present: string, added: string, removed: string],
): Members<T> {
  const listOf = (name: string) => (data[name] ?? []) as readonly unknown[]
  const [adds, removes] = [listOf(added), listOf(removed)]
  const came = judgeEach(schema, adds, `data.${added}`)
  const went = judgeEach(schema, removes, `data.${removed}`, adds.length)
  const all = judgeEach(schema, listOf(present), `data.${present}`, adds.length + removes.length)
  const listed = new Set(all.good.map(({ value }) => value.userUuid))
  const changed = [
    ...came.good.map(user => ({ ...user, action: 'add' as const })),
    ...went.good.map(user => ({ ...user, action: 'remove' as const })),
  ]
  const named = new Set(changed.flatMap(({ value }) => value.userUuid ?? []))
  const isWhole = isSaid(data[present]) && all.rejects.length === 0
  const isListed = ({ userUuid }: T) => {
    if (!isSaid(userUuid)) return null
    return listed.has(userUuid) || (isWhole ? false : null)
  }
  return {
    members: [
      ...changed.map(user => ({ ...user, is_listed: isListed(user.value) })),
      ...all.good
        .filter(({ value }) => !isSaid(value.userUuid) || !named.has(value.userUuid!))
        .map(user => ({ ...user, action: 'present' as const, is_listed: true })),
    ],
    rejects: [...came.rejects, ...went.rejects, ...all.rejects],
  }
}

/** Reads an event that lists members in these three ways, each entry judged by itself. */
function memberReader<T extends { readonly userUuid?: string | null | undefined }>(
  lists: Parameters<typeof readMembers>[2],
  schema: z.ZodType<T>,
  rows: (event: EventKey, members: Members<T>['members']) => RowSet,
): EventReader {
  const Lists = z.looseObject(Object.fromEntries(lists.map(name => [name, users])))
  return readerOf(Lists, (_, raw) => {
    const { members, rejects } = readMembers(schema, raw, lists)
    return { rejects, rows: event => rows(event, members) }
  })
}

const stageColumns = new Set(['userUuid'])

/** cmd 1501. */
export const stage = memberReader(
  ['acceptedUsers', 'addAcceptedUsers', 'removeAcceptedUsers'],
  StageChange.shape.acceptedUsers.unwrap().unwrap().element,
  (event, members) => ({
    'classroom.stage_change': members.map(({ value, raw, ordinal, action, is_listed }) => ({
      ...event,
      ...{ ordinal, user_uuid: value.userUuid ?? null, action, is_listed },
      extra: fieldsWithout(stageColumns, raw, value),
    })),
  }),
)

const handsColumns = new Set(['userUuid', 'payload'])

/** cmd 1502. */
export const hands = memberReader(
  ['progressUsers', 'addProgressUsers', 'removeProgressUsers'],
  HandsChange.shape.progressUsers.unwrap().unwrap().element,
  (event, members) => ({
    'classroom.hand_wave': members.map(({ value, raw, ordinal, action, is_listed }) => ({
      ...event,
      ...{ ordinal, user_uuid: value.userUuid ?? null, action, is_listed },
      payload: raw.payload ?? null,
      extra: fieldsWithout(handsColumns, raw, value),
    })),
  }),
)

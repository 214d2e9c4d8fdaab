import { storable } from './canonical.ts'
import type { TrueEvent } from './classroom-truth.ts'
import type { Row } from './rows.ts'

/** A row that the data of an event must make, without its key and its time. */
export interface EventRow {
  readonly table: string
  /** Place in the event's list; undefined where an event makes one row. */
  readonly ordinal: number | undefined
  readonly cells: Row
}

export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** The fields that have no column, as they came; null where there are none. */
export function without(fields: Fields, ...columns: readonly string[]): unknown {
  const rest = Object.entries(fields).filter(([name]) => !columns.includes(name))
  return rest.length === 0 ? null : storable(Object.fromEntries(rest))
}

function textOf(value: unknown): unknown {
  return value === undefined || value === null ? null : storable(String(value))
}

const day = 86_400_000

/** The provider's time inside the event. A start stays in the later changes of what was started, whose time it is not. */
export function ownTime({ cmd, data }: TrueEvent): number | undefined {
  const { state, startTime, updateTime, onlineUsers, offlineUsers } = fieldsOf(data)
  const times: unknown[] = []
  if (cmd === 1 || cmd === 1001) times.push(state === 1 ? startTime : undefined)
  if (cmd === 20) times.push(...[...listOf(onlineUsers), ...listOf(offlineUsers)].map(one => one.updateTime))
  if (cmd === 1101) times.push(updateTime)
  const told = times.filter(time => typeof time === 'number')
  return told.length === 0 ? undefined : Math.max(...told)
}

/** A time more than a day ahead of the provider's clock is believed nowhere. */
export function believed(event: TrueEvent): number | undefined {
  const time = ownTime(event)
  return time === undefined || time > event.at + day ? undefined : time
}

/** `lastStart` is the recording last started in the room: a stop names none. */
export function rowsOfEvent(event: TrueEvent, lastStart: unknown): readonly EventRow[] {
  if (event.malformed) return []
  const data = fieldsOf(event.data)
  switch (event.cmd) {
    case 1:
      return [
        one('room_state_change', {
          state: data.state,
          started_at: data.startTime,
          extra: without(data, 'state', 'startTime'),
        }),
      ]
    case 3: {
      const { userUuid, userName, role } = fieldsOf(data.fromUser)
      const told = { user_uuid: userUuid, user_name: userName, role: textOf(role) }
      return [
        one('chat_message', {
          ...told,
          message: storable(data.message),
          type: data.type,
          extra: without(data, 'fromUser', 'message', 'type'),
        }),
      ]
    }
    case 20:
      return attendance(data)
    case 1001:
      return [
        one('recording_state_change', {
          state: data.state,
          record_id: data.recordId ?? lastStart,
          sid: data.sid,
          resource_id: data.resourceId,
          started_at: data.startTime,
          extra: without(data, 'state', 'recordId', 'sid', 'resourceId', 'startTime'),
        }),
      ]
    case 1003:
      return resources(data)
    case 1101:
      return listOf(data.rewardDetails).map((detail, ordinal) => ({
        table: 'reward',
        ordinal,
        cells: {
          user_uuid: detail.userUuid,
          changed_reward: detail.changedReward,
          total: detail.total ?? detail.totalReward,
          extra: without(detail, 'userUuid', 'changedReward', 'total', 'totalReward'),
        },
      }))
    case 1501:
      return members('stage_change', data, ['acceptedUsers', 'addAcceptedUsers', 'removeAcceptedUsers'])
    case 1502:
      return members('hand_wave', data, ['progressUsers', 'addProgressUsers', 'removeProgressUsers'])
    default:
      return []
  }
}

function one(table: string, cells: Row): EventRow {
  return { table, ordinal: undefined, cells }
}

/** Those who entered are counted first; an event that names nobody says how many there were all the same. */
function attendance({ total, onlineUsers, offlineUsers }: Fields): readonly EventRow[] {
  const entered = listOf(onlineUsers).map(user => ({ user, action: 'enter' }))
  const left = listOf(offlineUsers).map(user => ({ user, action: 'leave' }))
  const people: readonly { readonly user: Fields; readonly action: string | null }[] = [...entered, ...left]
  const nobody = { user: {} as Fields, action: null }
  return (people.length === 0 ? [nobody] : people).map(({ user, action }, ordinal) => ({
    table: 'attendance',
    ordinal,
    cells: {
      user_uuid: user.userUuid,
      user_name: user.userName,
      role: textOf(user.role),
      stream_uuid: user.streamUuid,
      action,
      total,
      extra: without(user, 'userUuid', 'userName', 'role', 'streamUuid'),
    },
  }))
}

/** What the list of resources and the events of changes tell alike. */
export function resourceCells(item: Fields): Row {
  return {
    resource_name: item.resourceName,
    ext: item.ext,
    size: item.size,
    url: item.url,
    task_uuid: item.taskUuid,
    task_progress: storable(item.taskProgress),
  }
}

export const resourceFields = [
  'resourceUuid',
  'resourceName',
  'ext',
  'size',
  'url',
  'taskUuid',
  'taskProgress',
]

function resources({ resources: changed, operator, action }: Fields): readonly EventRow[] {
  const { userUuid, userName, role } = fieldsOf(operator)
  return listOf(changed).map((item, ordinal) => ({
    table: 'resource_change',
    ordinal,
    cells: {
      ...resourceCells(item),
      resource_uuid: item.resourceUuid,
      action: action === 1 ? 'upsert' : action === 2 ? 'delete' : 'unknown',
      operator_uuid: userUuid,
      operator_name: userName,
      operator_role: textOf(role),
      extra: without(item, ...resourceFields),
    },
  }))
}

/** The changes, those added first; then all others who are there. One told without an ID cannot be looked for. */
function members(
  table: 'stage_change' | 'hand_wave',
  data: Fields,
  [all, added, removed]: readonly [string, string, string],
): readonly EventRow[] {
  const changes = [
    ...listOf(data[added]).map(user => ({ user, action: 'add' })),
    ...listOf(data[removed]).map(user => ({ user, action: 'remove' })),
  ]
  const present = listOf(data[all])
  const listed = new Set(present.map(({ userUuid }) => userUuid))
  const changed = new Set(changes.map(({ user }) => user.userUuid))
  const told = (user: Fields, action: string, isListed: boolean | null, ordinal: number): EventRow => ({
    table,
    ordinal,
    cells: {
      user_uuid: user.userUuid,
      action,
      is_listed: isListed,
      ...(table === 'hand_wave' && { payload: user.payload }),
      extra: table === 'hand_wave' ? without(user, 'userUuid', 'payload') : without(user, 'userUuid'),
    },
  })
  return [
    ...changes.map(({ user, action }, ordinal) =>
      told(user, action, user.userUuid === undefined ? null : listed.has(user.userUuid), ordinal),
    ),
    ...present.flatMap((user, place) =>
      user.userUuid !== undefined && changed.has(user.userUuid)
        ? []
        : [told(user, 'present', true, changes.length + place)],
    ),
  ]
}

import { type Bound, type ExpectedRow, type Table, timeBetween } from './expectation.ts'
import type { TruthRoom } from './truth.ts'
import { type Fields, isFields, listOf, rest, timeOf, withoutTokens } from './values.ts'

type TruthEvent = TruthRoom['events'][number]

/** The rows that the events of a room make: the raw one each, and those of its type. `now` is the world's time. */
export function rowsOfEvents({ room, events }: TruthRoom, now: number): readonly ExpectedRow[] {
  const lifetime = timeBetween(room.openedAt, now)
  const starts = { recording: null as unknown }
  return events.flatMap(event => {
    if (event.oddity === 'malformedRecord') return []
    const data = event.data as Fields
    if (event.cmd === 1001 && data.recordId) starts.recording = data.recordId
    const sequence = String(event.sequence)
    const known = ownTime(event)
    const at = known ?? lifetime
    const raw = {
      sequence,
      cmd: event.cmd,
      version: 1,
      data: withoutTokens(data),
      at,
      event_time: known,
      extra: null,
    }
    if (event.malformed) return [{ table: 'room_event', columns: raw }]
    const derived = derivedFrom(event, starts.recording, at)
    return [
      { table: 'room_event' as const, columns: raw },
      ...derived.map(({ table, columns }) => ({ table, columns: { sequence, at, ...columns } })),
    ]
  })
}

/** Entries, exits and rewards tell their time; of a start of the class or a recording it is the start. */
function ownTime({ cmd, data }: TruthEvent): string | null {
  const fields = data as Fields
  if (cmd === 20) {
    const people = [...listOf(fields.onlineUsers), ...listOf(fields.offlineUsers)]
    return timeOf(Math.max(...people.map(person => Number(person.updateTime))))
  }
  if (cmd === 1101) return timeOf(fields.updateTime)
  return (cmd === 1 || cmd === 1001) && fields.state === 1 ? timeOf(fields.startTime) : null
}

interface Derived {
  readonly table: Table
  readonly columns: Fields
}

function derivedFrom({ cmd, data }: TruthEvent, recording: unknown, at: string | Bound): readonly Derived[] {
  const fields = data as Fields
  switch (cmd) {
    case 1:
      return [
        {
          table: 'room_state_change',
          columns: { state: fields.state, started_at: timeOf(fields.startTime), extra: null },
        },
      ]
    case 3:
      return [{ table: 'chat_message', columns: { ...chat(fields), at } }]
    case 20:
      return [
        ...listOf(fields.onlineUsers).map(person => ({ person, action: 'enter' })),
        ...listOf(fields.offlineUsers).map(person => ({ person, action: 'leave' })),
      ].map(({ person, action }, ordinal) => ({
        table: 'attendance',
        columns: { ordinal, action, total: fields.total, ...attendee(person) },
      }))
    case 1001:
      return [
        {
          table: 'recording_state_change',
          columns: {
            state: fields.state,
            record_id: fields.recordId ?? recording,
            sid: fields.sid ?? null,
            resource_id: fields.resourceId ?? null,
            started_at: timeOf(fields.startTime),
            extra: null,
          },
        },
      ]
    case 1003:
      return listOf(fields.resources).map((resource, ordinal) => ({
        table: 'resource_change',
        columns: {
          ordinal,
          ...resourceColumns(resource),
          ...changeOf(fields),
          extra: rest(resource, resourceFields),
        },
      }))
    case 1101:
      return listOf(fields.rewardDetails).map((detail, ordinal) => ({
        table: 'reward',
        columns: {
          ordinal,
          user_uuid: detail.userUuid,
          changed_reward: detail.changedReward,
          total: detail.total,
          extra: null,
        },
      }))
    case 1501:
      return members(fields.acceptedUsers, fields.addAcceptedUsers, fields.removeAcceptedUsers).map(
        ({ user, ...said }) => ({
          table: 'stage_change',
          columns: { ...said, user_uuid: user.userUuid, extra: rest(user, ['userUuid']) },
        }),
      )
    case 1502:
      return members(fields.progressUsers, fields.addProgressUsers, fields.removeProgressUsers).map(
        ({ user, ...said }) => ({
          table: 'hand_wave',
          columns: { ...said, user_uuid: user.userUuid, payload: user.payload, extra: null },
        }),
      )
    default:
      return []
  }
}

function chat({ fromUser, message, type }: Fields): Fields {
  const user = isFields(fromUser) ? fromUser : {}
  return {
    user_uuid: user.userUuid,
    user_name: user.userName,
    role: String(user.role),
    message,
    type,
    extra: null,
  }
}

function attendee(person: Fields): Fields {
  return {
    user_uuid: person.userUuid,
    user_name: person.userName,
    role: String(person.role),
    stream_uuid: person.streamUuid,
    extra: rest(person, ['userUuid', 'userName', 'role', 'streamUuid']),
  }
}

/** Places count through all three lists; whoever is named by a change is told once. */
function members(all: unknown, added: unknown, removed: unknown) {
  const changed = [...listOf(added), ...listOf(removed)].map(({ userUuid }) => userUuid)
  const listed = listOf(all).map(({ userUuid }) => userUuid)
  return [
    ...listOf(added).map(user => ({ user, action: 'add' })),
    ...listOf(removed).map(user => ({ user, action: 'remove' })),
    ...listOf(all).map(user => ({ user, action: 'present' })),
  ]
    .map((row, ordinal) => ({ ...row, ordinal, is_listed: listed.includes(row.user.userUuid) }))
    .filter(({ user, action }) => action !== 'present' || !changed.includes(user.userUuid))
}

const resourceFields = ['resourceUuid', 'resourceName', 'ext', 'size', 'url', 'taskUuid', 'taskProgress']

/** The columns that a resource fills in events and in the list alike. */
export function resourceColumns(resource: Fields): Fields {
  return {
    resource_uuid: resource.resourceUuid,
    resource_name: resource.resourceName,
    ext: resource.ext,
    size: resource.size,
    url: resource.url,
    task_uuid: resource.taskUuid ?? null,
    task_progress: withoutTokens(resource.taskProgress ?? null),
  }
}

function changeOf({ action, operator }: Fields): Fields {
  const by = isFields(operator) ? operator : {}
  return {
    action: action === 2 ? 'delete' : 'upsert',
    operator_uuid: by.userUuid,
    operator_name: by.userName,
    operator_role: String(by.role),
  }
}

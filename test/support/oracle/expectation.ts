import type { Fields } from './values.ts'

/** A value that the truth bounds but does not fix. */
export class Bound {
  readonly says: string
  readonly holds: (value: unknown) => boolean

  constructor(says: string, holds: (value: unknown) => boolean) {
    this.says = says
    this.holds = holds
  }
}

export const anything = new Bound('anything', () => true)

/** A time of the world between two of its moments, Unix ms. */
export function timeBetween(from: number, to: number): Bound {
  return new Bound(`a time from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`, value => {
    const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
    return ms >= from && ms <= to
  })
}

/** Tables of schema classroom with what follows app_id, room_uuid and incarnation in their keys. */
export const tableKeys = {
  room: [],
  room_event: ['sequence'],
  room_state_change: ['sequence'],
  chat_message: ['sequence'],
  attendance: ['sequence', 'ordinal'],
  recording_state_change: ['sequence'],
  reward: ['sequence', 'ordinal'],
  resource_change: ['sequence', 'ordinal'],
  stage_change: ['sequence', 'ordinal'],
  hand_wave: ['sequence', 'ordinal'],
  widget_event: ['widget', 'position'],
  quiz: ['quiz_id'],
  quiz_submission: ['quiz_id', 'user_uuid', 'ordinal'],
  poll: ['poll_id'],
  poll_submission: ['poll_id', 'user_uuid', 'ordinal'],
  poll_tally: ['poll_id', 'option_index'],
  recording: ['record_id'],
  recording_file: ['record_id', 'ordinal'],
  resource: ['resource_uuid'],
} as const
export type Table = keyof typeof tableKeys

export const tableNames = Object.keys(tableKeys) as readonly Table[]

/** One row that must be there, with the columns that the truth says something about. */
export interface ExpectedRow {
  readonly table: Table
  readonly columns: Fields
  /** Need not be there; if it is, it must be right. */
  readonly optional?: true
}

/** Something that cannot be read and must have been set aside. */
export interface ExpectedLetter {
  readonly what: string
  readonly item: Fields
}

/** What one incarnation of a room must have left in the database. */
export interface ExpectedRoom {
  readonly app: string
  readonly roomUuid: string
  readonly incarnation: number
  readonly startedAt: string | null
  readonly rows: readonly ExpectedRow[]
  readonly letters: readonly ExpectedLetter[]
}

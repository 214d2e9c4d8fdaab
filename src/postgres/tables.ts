import type { TableName, Tables } from '../rows/rows.ts'

/**
 * What Postgres must know of each table that streams fill. A test holds these against the database's catalogue.
 */
export interface TableSpec<Row = object> {
  /** Columns after app_id, room_uuid and incarnation that make a row unique. */
  readonly key: readonly (keyof Row & string)[]
  /** Every column of the row type with its Postgres type. */
  readonly columns: { readonly [C in keyof Row & string]: string }
  /**
   * What a row does to a stored one with the same key. `keep`: nothing; `replace`: newer wins; `merge`: newer
   * wins where it says something, null leaves what is known.
   */
  readonly onConflict: 'keep' | 'replace' | 'merge'
  /** Columns that escape the rule of onConflict. */
  readonly except?: { readonly [C in keyof Row & string]?: 'keep' | 'replace' }
}

type Specs = { readonly [T in TableName]: TableSpec<Tables[T]> }

const inRoom = { room_uuid: 'text' } as const
const inEvent = { ...inRoom, sequence: 'bigint', at: 'timestamptz', extra: 'jsonb' } as const
const inEventItem = { ...inEvent, ordinal: 'int' } as const

/** The first sight of an event is nearest to when it happened, so its time stays. */
const keepAt = { at: 'keep' } as const

export const tables: Specs = {
  'classroom.room': {
    key: [],
    columns: {
      ...inRoom,
      state: 'int',
      state_sequence: 'bigint',
      started_at: 'timestamptz',
      ended_at: 'timestamptz',
      first_event_at: 'timestamptz',
      last_event_at: 'timestamptz',
    },
    onConflict: 'merge',
  },
  'classroom.room_event': {
    key: ['sequence'],
    columns: {
      ...inEvent,
      cmd: 'int',
      version: 'int',
      data: 'jsonb',
      event_time: 'timestamptz',
      at_source: 'text',
      received_at: 'timestamptz',
    },
    onConflict: 'keep',
  },
  'classroom.room_state_change': {
    key: ['sequence'],
    columns: { ...inEvent, state: 'int', started_at: 'timestamptz' },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.chat_message': {
    key: ['sequence'],
    columns: { ...inEvent, user_uuid: 'text', user_name: 'text', role: 'text', message: 'text', type: 'int' },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.attendance': {
    key: ['sequence', 'ordinal'],
    columns: {
      ...inEventItem,
      user_uuid: 'text',
      user_name: 'text',
      role: 'text',
      stream_uuid: 'text',
      action: 'text',
    },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.recording_state_change': {
    key: ['sequence'],
    columns: {
      ...inEvent,
      state: 'int',
      record_id: 'text',
      sid: 'text',
      resource_id: 'text',
      started_at: 'timestamptz',
    },
    onConflict: 'merge',
    except: keepAt,
  },
  'classroom.reward': {
    key: ['sequence', 'ordinal'],
    columns: {
      ...inEventItem,
      user_uuid: 'text',
      changed_reward: 'double precision',
      total: 'double precision',
    },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.resource_change': {
    key: ['sequence', 'ordinal'],
    columns: {
      ...inEventItem,
      resource_uuid: 'text',
      action: 'text',
      resource_name: 'text',
      ext: 'text',
      size: 'double precision',
      url: 'text',
      task_uuid: 'text',
      task_progress: 'jsonb',
      operator_uuid: 'text',
      operator_name: 'text',
      operator_role: 'text',
    },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.stage_change': {
    key: ['sequence', 'ordinal'],
    columns: { ...inEventItem, user_uuid: 'text', action: 'text' },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.hand_wave': {
    key: ['sequence', 'ordinal'],
    columns: { ...inEventItem, user_uuid: 'text', action: 'text', payload: 'jsonb' },
    onConflict: 'replace',
    except: keepAt,
  },
  'classroom.widget_event': {
    key: ['widget', 'position'],
    columns: {
      ...inRoom,
      widget: 'text',
      position: 'bigint',
      content_hash: 'text',
      data: 'jsonb',
      received_at: 'timestamptz',
    },
    onConflict: 'keep',
  },
  'classroom.quiz': {
    key: ['quiz_id'],
    columns: {
      ...inRoom,
      quiz_id: 'text',
      correct_items: 'jsonb',
      items: 'jsonb',
      correct_count: 'int',
      selected_count: 'int',
      total_count: 'int',
      average_accuracy: 'double precision',
      state: 'text',
      started_at: 'timestamptz',
      ended_at: 'timestamptz',
      started_by: 'text',
      extra: 'jsonb',
    },
    onConflict: 'merge',
  },
  'classroom.quiz_submission': {
    key: ['quiz_id', 'user_uuid', 'ordinal'],
    columns: {
      ...inRoom,
      quiz_id: 'text',
      user_uuid: 'text',
      ordinal: 'int',
      user_name: 'text',
      selected_items: 'jsonb',
      is_correct: 'boolean',
      committed_at: 'timestamptz',
      extra: 'jsonb',
    },
    onConflict: 'replace',
  },
  'classroom.poll': {
    key: ['poll_id'],
    columns: {
      ...inRoom,
      poll_id: 'text',
      mode: 'int',
      items: 'jsonb',
      state: 'text',
      started_at: 'timestamptz',
      ended_at: 'timestamptz',
      started_by: 'text',
      extra: 'jsonb',
    },
    onConflict: 'merge',
  },
  'classroom.poll_submission': {
    key: ['poll_id', 'user_uuid', 'ordinal'],
    columns: {
      ...inRoom,
      poll_id: 'text',
      user_uuid: 'text',
      ordinal: 'int',
      user_name: 'text',
      select_index: 'int[]',
      at: 'timestamptz',
      extra: 'jsonb',
    },
    onConflict: 'replace',
  },
  'classroom.poll_tally': {
    key: ['poll_id', 'option_index'],
    columns: { ...inRoom, poll_id: 'text', option_index: 'int', num: 'int', percentage: 'double precision' },
    onConflict: 'replace',
  },
  'classroom.recording': {
    key: ['record_id'],
    columns: {
      ...inRoom,
      record_id: 'text',
      sid: 'text',
      resource_id: 'text',
      type: 'int',
      status: 'int',
      started_at: 'timestamptz',
      ended_at: 'timestamptz',
      url: 'text',
      extra: 'jsonb',
    },
    onConflict: 'merge',
  },
  'classroom.recording_file': {
    key: ['record_id', 'ordinal'],
    columns: { ...inRoom, record_id: 'text', ordinal: 'int', url: 'text', extra: 'jsonb' },
    onConflict: 'replace',
  },
  'classroom.resource': {
    key: ['resource_uuid'],
    columns: {
      ...inRoom,
      resource_uuid: 'text',
      resource_name: 'text',
      ext: 'text',
      size: 'double precision',
      url: 'text',
      task_uuid: 'text',
      task_progress: 'jsonb',
      updated_at: 'timestamptz',
      removed_at: 'timestamptz',
      extra: 'jsonb',
    },
    onConflict: 'merge',
    except: { removed_at: 'replace' },
  },
}

/** Tables that are derived from the events of a room and share their key. */
export const eventTables = [
  'classroom.room_state_change',
  'classroom.chat_message',
  'classroom.attendance',
  'classroom.recording_state_change',
  'classroom.reward',
  'classroom.resource_change',
  'classroom.stage_change',
  'classroom.hand_wave',
] as const satisfies readonly TableName[]

import type { Json, Timestamp } from './json.ts'

/**
 * Rows of schema `classroom`, as a stream hands them over. The commit adds `app_id` and `incarnation`;
 * columns are named as in the database.
 */
interface InRoom {
  readonly room_uuid: string
}

interface InEvent extends InRoom {
  readonly sequence: number | bigint
  readonly at: Timestamp
  readonly extra: Json
}

interface InEventItem extends InEvent {
  /** Position in the array of the event that the row comes from, counted from 0. */
  readonly ordinal: number
}

/** Where the time in `at` comes from: the event itself, its neighbour in the log, the answer, or our clock. */
export type AtSource = 'event' | 'neighbour' | 'provider' | 'received'

/** What one page says of a room; the database merges it into what it already knows. */
export interface RoomRow extends InRoom {
  /** 0 not started, 1 started, 2 ended, 3 closed; null while no state change has been seen. */
  readonly state: number | null
  /** Sequence of the state change that `state` comes from. */
  readonly state_sequence: number | bigint | null
  readonly started_at: Timestamp | null
  readonly ended_at: Timestamp | null
  readonly first_event_at: Timestamp | null
  readonly last_event_at: Timestamp | null
}

export interface RoomEventRow extends InRoom {
  readonly sequence: number | bigint
  readonly cmd: number
  readonly version: number | null
  readonly data: Json
  /** The provider's own time inside the event, as far as it has one: part of the event's identity. */
  readonly event_time: Timestamp | null
  readonly at: Timestamp
  readonly at_source: AtSource
  readonly received_at: Timestamp
  readonly extra: Json
}

export interface RoomStateChangeRow extends InEvent {
  readonly state: number
  readonly started_at: Timestamp | null
}

export interface ChatMessageRow extends InEvent {
  readonly user_uuid: string | null
  readonly user_name: string | null
  readonly role: string | null
  readonly message: string | null
  readonly type: number | null
}

export interface AttendanceRow extends InEventItem {
  readonly user_uuid: string | null
  readonly user_name: string | null
  readonly role: string | null
  readonly stream_uuid: string | null
  /** Null of an event that names nobody. */
  readonly action: 'enter' | 'leave' | null
  /** Of the event: how many have entered and left, as it counts them. */
  readonly total: number | null
}

export interface RecordingStateChangeRow extends InEvent {
  readonly state: number
  readonly record_id: string | null
  readonly sid: string | null
  readonly resource_id: string | null
  readonly started_at: Timestamp | null
}

export interface RewardRow extends InEventItem {
  readonly user_uuid: string | null
  readonly changed_reward: number | null
  readonly total: number | null
}

export interface ResourceChangeRow extends InEventItem {
  readonly resource_uuid: string
  readonly action: 'upsert' | 'delete' | 'unknown'
  readonly resource_name: string | null
  readonly ext: string | null
  readonly size: number | null
  readonly url: string | null
  readonly task_uuid: string | null
  readonly task_progress: Json
  readonly operator_uuid: string | null
  readonly operator_name: string | null
  readonly operator_role: string | null
}

/** `add` and `remove` are the event's changes; `present` are those of its full list who are not among them. */
export type MembershipAction = 'add' | 'remove' | 'present'

export interface StageChangeRow extends InEventItem {
  readonly user_uuid: string | null
  readonly action: MembershipAction
  readonly is_listed: boolean | null
}

export interface HandWaveRow extends InEventItem {
  readonly user_uuid: string | null
  readonly action: MembershipAction
  readonly is_listed: boolean | null
  readonly payload: Json
}

export type Widget = 'popupQuiz' | 'poll'

export interface WidgetEventRow extends InRoom {
  readonly widget: Widget
  /** The item's own sequence where it has one, else its place in the log counted from 0. */
  readonly position: number | bigint
  /** SHA-256 of the item as stored, in hex. */
  readonly content_hash: string
  readonly data: Json
  readonly received_at: Timestamp
}

/** What one page says of a quiz; null leaves what is known. */
export interface QuizRow extends InRoom {
  readonly quiz_id: string
  readonly correct_items: Json
  readonly items: Json
  readonly correct_count: number | null
  readonly selected_count: number | null
  readonly total_count: number | null
  readonly average_accuracy: number | null
  readonly state: 'running' | 'ended' | null
  readonly started_at: Timestamp | null
  readonly ended_at: Timestamp | null
  readonly started_by: string | null
  readonly extra: Json
}

export interface QuizSubmissionRow extends InRoom {
  readonly quiz_id: string
  /** '' of one who is not told. */
  readonly user_uuid: string
  /** Its place in the log. */
  readonly ordinal: number | bigint
  readonly user_name: string | null
  readonly selected_items: Json
  readonly is_correct: boolean | null
  readonly committed_at: Timestamp | null
  readonly extra: Json
}

export interface PollRow extends InRoom {
  readonly poll_id: string
  /** 1 single choice, 2 multiple choice. */
  readonly mode: number | null
  readonly items: Json
  readonly state: 'running' | 'ended' | null
  readonly started_at: Timestamp | null
  readonly ended_at: Timestamp | null
  readonly started_by: string | null
  readonly extra: Json
}

export interface PollSubmissionRow extends InRoom {
  readonly poll_id: string
  /** '' of one who is not told. */
  readonly user_uuid: string
  /** Its place in the log. */
  readonly ordinal: number | bigint
  readonly user_name: string | null
  /** Null where they were told in a way that cannot be read. */
  readonly select_index: readonly number[] | null
  readonly at: Timestamp | null
  readonly extra: Json
}

export interface PollTallyRow extends InRoom {
  readonly poll_id: string
  readonly option_index: number
  readonly num: number | null
  /** Share of the submissions that chose the option, as the provider gives it. */
  readonly percentage: number | null
}

export interface RecordingRow extends InRoom {
  readonly record_id: string
  readonly sid: string | null
  readonly resource_id: string | null
  /** 1 individual, 2 composite, 3 web page. */
  readonly type: number | null
  /** 1 recording, 2 ended. */
  readonly status: number | null
  readonly started_at: Timestamp | null
  readonly ended_at: Timestamp | null
  readonly url: string | null
  readonly extra: Json
}

export interface RecordingFileRow extends InRoom {
  readonly record_id: string
  readonly ordinal: number
  readonly url: string
  readonly extra: Json
}

export interface ResourceRow extends InRoom {
  readonly resource_uuid: string
  readonly resource_name: string | null
  readonly ext: string | null
  readonly size: number | null
  readonly url: string | null
  readonly task_uuid: string | null
  readonly task_progress: Json
  readonly updated_at: Timestamp | null
  /** When a complete listing no longer named it; null while it is listed. */
  readonly removed_at: Timestamp | null
  readonly extra: Json
}

export interface ClassroomTables {
  readonly 'classroom.room': RoomRow
  readonly 'classroom.room_event': RoomEventRow
  readonly 'classroom.room_state_change': RoomStateChangeRow
  readonly 'classroom.chat_message': ChatMessageRow
  readonly 'classroom.attendance': AttendanceRow
  readonly 'classroom.recording_state_change': RecordingStateChangeRow
  readonly 'classroom.reward': RewardRow
  readonly 'classroom.resource_change': ResourceChangeRow
  readonly 'classroom.stage_change': StageChangeRow
  readonly 'classroom.hand_wave': HandWaveRow
  readonly 'classroom.widget_event': WidgetEventRow
  readonly 'classroom.quiz': QuizRow
  readonly 'classroom.quiz_submission': QuizSubmissionRow
  readonly 'classroom.poll': PollRow
  readonly 'classroom.poll_submission': PollSubmissionRow
  readonly 'classroom.poll_tally': PollTallyRow
  readonly 'classroom.recording': RecordingRow
  readonly 'classroom.recording_file': RecordingFileRow
  readonly 'classroom.resource': ResourceRow
}

import type { Json, Timestamp } from './json.ts'

/**
 * Rows of schema `players`, as a stream hands them over. The commit adds `app_id` and the region, where it is known; columns
 * are named as in the database.
 */

/** What one list says of a player; null leaves what is known. */
export interface CloudPlayerRow {
  readonly player_id: string
  readonly name: string | null
  readonly uid: string | null
  readonly account: string | null
  readonly channel_name: string | null
  readonly stream_url: string | null
  /** As the list says, or `destroyed`. */
  readonly status: string | null
  readonly created_at: Timestamp | null
  /** Null of a player that the list lacks. */
  readonly last_seen_at: Timestamp | null
  /** When a complete list first lacked it; null while it is listed. */
  readonly destroyed_at: Timestamp | null
  readonly extra: Json
}

export interface CloudPlayerChangeRow {
  readonly player_id: string
  readonly changed_at: Timestamp
  /** Null where the stream does not remember one; the database looks what is stored. */
  readonly from_status: string | null
  readonly to_status: string
  readonly source: 'list'
}

export interface PlayersTables {
  readonly 'players.cloud_player': CloudPlayerRow
  readonly 'players.cloud_player_change': CloudPlayerChangeRow
}

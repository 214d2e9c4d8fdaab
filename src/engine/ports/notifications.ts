import type { Json } from '../../tables/json.ts'

/** What the provider told of a player, as it is kept: a hint that something changed, never the truth. */
export interface PlayerNotice {
  readonly app: string
  /** The provider's ID; the same one comes again when an answer was slow. */
  readonly noticeId: string
  readonly eventType: number
  readonly playerId: string | null
  /** ms since the epoch, as the provider says. */
  readonly notifiedAt: number | null
  /** Without its secrets. */
  readonly payload: Json
}

export interface NotificationStore {
  /** Keeps a notice once. Throws RefusedRows when Postgres refuses a value, StoreUnavailable when it is away. */
  readonly keep: (notice: PlayerNotice) => Promise<'stored' | 'repeated'>
}

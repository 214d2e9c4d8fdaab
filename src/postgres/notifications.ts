import type pg from 'pg'
import type { NotificationStore, PlayerNotice } from '../engine/ports.ts'
import { query } from './connect.ts'
import { encodeJson, encodeText } from './encode.ts'
import { bind, statement } from './statement.ts'

const keepStatement = statement(
  'keep_notice',
  `insert into players.notification (app_id, notice_id, event_type, player_id, notified_at, received_at, payload)
   values (:app, :notice, :type::int, :player, to_timestamp(:notified::double precision / 1000), ingest.clock(), :payload::jsonb)
   on conflict (app_id, notice_id) do nothing
   returning 1`,
)

/** Notices of players in Postgres. */
export function createNotificationStore(pool: pg.Pool): NotificationStore {
  return { keep: notice => keep(pool, notice) }
}

async function keep(pool: pg.Pool, notice: PlayerNotice): Promise<'stored' | 'repeated'> {
  const values = {
    app: notice.app,
    notice: encodeText(notice.noticeId),
    type: notice.eventType,
    player: notice.playerId === null ? null : encodeText(notice.playerId),
    notified: notice.notifiedAt,
    payload: notice.payload === null ? null : encodeJson(notice.payload),
  }
  const rows = await query(pool, bind(keepStatement, values))
  return rows.length > 0 ? 'stored' : 'repeated'
}

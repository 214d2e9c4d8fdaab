import type pg from 'pg'
import type { IntentStore, OpenIntent } from '../client/ports.ts'
import type { NotificationStore, PlayerNotice } from '../engine/ports.ts'
import { query } from './connect.ts'
import { encodeJson, encodeText } from './encode.ts'
import type { Mask } from './mask.ts'
import { Masks } from './masks.ts'
import { bind, statement } from './statement.ts'
import type { Keeping } from './unkept.ts'

const find = statement(
  'find_intent',
  `select i.request_hash as "requestHash",
          extract(epoch from ingest.clock() - i.created_at)::double precision * 1000 as age,
          extract(epoch from ingest.clock() - i.updated_at)::double precision * 1000 as "lastAttempt"
   from ingest.intent i where i.app_id = :app and i.name = :name and i.state = 'open'`,
)

/** A closed intent, or one for a player of another kind, gives its name to the new one. */
const attempt = statement(
  'attempt_intent',
  `insert into ingest.intent as i (app_id, name, channel_name, region, request_hash)
   values (:app, :name, :channel, :region, :hash)
   on conflict (app_id, name) do update set
     attempts = case when i.state = 'open' and i.request_hash = excluded.request_hash then i.attempts + 1 else 1 end,
     created_at = case when i.state = 'open' and i.request_hash = excluded.request_hash then i.created_at else excluded.created_at end,
     channel_name = excluded.channel_name, region = excluded.region, request_hash = excluded.request_hash, state = 'open', player_id = null,
     updated_at = excluded.updated_at`,
)

/** Its player may be listed already. */
const done = statement(
  'finish_intent',
  `with finished as (
     update ingest.intent i set state = 'done', player_id = :player, region = :region, updated_at = ingest.clock()
     where i.app_id = :app and i.name = :name returning i.region
   )
   update players.cloud_player p set region = f.region from finished f
   where p.app_id = :app and p.player_id = :player`,
)

const failed = statement(
  'fail_intent',
  `update ingest.intent i set state = 'failed', updated_at = ingest.clock()
   where i.app_id = :app and i.name = :name and i.state = 'open'`,
)

/** What is wanted of players, one row for each name. */
export function createIntentStore(pool: pg.Pool): IntentStore {
  return {
    find: async (app, name) => {
      const [row] = await query<OpenIntent>(pool, bind(find, { app, name }))
      return row
    },
    attempt: async ({ app, name, channel, region, requestHash }) => {
      await query(pool, bind(attempt, { app, name, channel, region, hash: requestHash }))
    },
    done: async ({ app, name, region }, player) => {
      await query(pool, bind(done, { app, name, region, player }))
    },
    failed: async (app, name) => {
      await query(pool, bind(failed, { app, name }))
    },
  }
}

/** Nobody takes up an intent that is this old. */
const prune = `delete from ingest.intent i where i.updated_at < $1::timestamptz - interval '30 days'`

export async function pruneIntents(pool: pg.Pool, now: Date): Promise<void> {
  await query(pool, { text: prune, values: [now] })
}

const keepStatement = statement(
  'keep_notice',
  `insert into players.notification (app_id, notice_id, event_type, player_id, notified_at, received_at, payload)
   select :app, :notice, :type::int, :player, to_timestamp(:notified::double precision / 1000), ingest.clock(), :payload::jsonb
   where ingest.hold_forgotten(:app, :forgotten::bigint)
   on conflict (app_id, notice_id) do nothing
   returning 1`,
)

/** Notices of players in Postgres. */
export function createNotificationStore(pool: pg.Pool, keeping?: Keeping): NotificationStore {
  const masks = new Masks(pool, keeping)
  return { keep: notice => masks.run(notice.app, mask => keep(pool, notice, mask)) }
}

async function keep(pool: pg.Pool, notice: PlayerNotice, mask: Mask): Promise<'stored' | 'repeated'> {
  const values = {
    app: notice.app,
    notice: encodeText(notice.noticeId),
    type: notice.eventType,
    player: notice.playerId === null ? null : encodeText(notice.playerId),
    notified: notice.notifiedAt,
    payload: notice.payload === null ? null : encodeJson(mask.json(notice.payload, false, false)),
    forgotten: mask.count,
  }
  const rows = await query(pool, bind(keepStatement, values))
  return rows.length > 0 ? 'stored' : 'repeated'
}

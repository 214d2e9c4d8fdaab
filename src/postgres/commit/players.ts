import { type Statement, statement } from '../statement.ts'
import { advanced, cteName, fence, incoming, rejected, settled, storeOfApp, verdict } from './ctes.ts'

const tables = ['players.cloud_player', 'players.cloud_player_change'] as const
const [playerTable, changeTable] = tables

/**
 * What is stored of a player decides what changed: a list that is read again after its page was committed, or by a
 * stream that has forgotten the player, adds nothing to its history.
 */
const changes = `
  ${cteName(changeTable)} as (
    insert into ${changeTable} as t (app_id, player_id, changed_at, from_status, to_status, source)
    select :app, d.player_id, d.changed_at, coalesce(d.from_status, p.status), d.to_status, d.source
    from ${incoming(changeTable)}
    left join ${playerTable} p on p.app_id = :app and p.player_id = d.player_id
    where exists (select from moved) and d.to_status is distinct from p.status
    on conflict (app_id, player_id, changed_at) do update set to_status = excluded.to_status
      where t.to_status <> excluded.to_status
    returning (xmax = 0) as fresh
  )`

/** A list does not tell it; whoever made the player here knows. */
const region = `(
  select i.region from ingest.intent i where i.app_id = :app and i.player_id = d.player_id
  order by i.updated_at desc limit 1)`

/** Commits a page of the list of an app's players. */
export const commitPlayers: Statement = statement(
  'commit_players',
  `with ${[
    fence('apart'),
    advanced('true'),
    storeOfApp(playerTable, [['region', region]]),
    changes,
    rejected,
    settled,
  ].join(',')} ${verdict(tables, { diverged: '0', verified: 'true' })}`,
)

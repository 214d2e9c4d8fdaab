import type pg from 'pg'
import type { TruePlayer } from '../../../sandbox/src/index.ts'
import type { Difference } from './difference.ts'

interface Stored {
  readonly id: string
  readonly place: string
  readonly destroyed: boolean
}

const stored = `
  select player_id as id, channel_name || ' ' || coalesce(name, '') as place, destroyed_at is not null as destroyed
  from players.cloud_player where app_id = $1`

/**
 * The cloud players of an app that stand still, held against what is stored: whoever was made before `until` (ms) and
 * lives must be there and alive, whoever was gone by then must not be alive, and none may be there that never was.
 */
export async function comparePlayers(
  pool: pg.Pool,
  app: string,
  players: readonly TruePlayer[],
  until: number,
): Promise<Difference> {
  const { rows } = await pool.query<Stored>(stored, [app])
  const found = new Map(rows.map(row => [row.id, row]))
  const isRight = ({ id, name, channelName, createdAt, destroyedAt }: TruePlayer) => {
    const row = found.get(id)
    if (destroyedAt !== undefined) return destroyedAt > until || !row || row.destroyed
    if (createdAt > until && !row) return true
    return row?.place === `${channelName} ${name ?? ''}` && !row.destroyed
  }
  const known = new Set(players.map(({ id }) => id))
  return {
    lost: players.filter(player => !isRight(player)).length,
    duplicates: rows.filter(({ id }) => !known.has(id)).length,
  }
}

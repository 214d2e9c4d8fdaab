import { canonical } from './canonical.ts'
import { isSeen } from './classes.ts'
import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'
import type { Row, StoredSchema, StoredTable } from './rows.ts'

/** What the documents of the project say of players in whose channel nobody has seen a class for long, ms. */
const beforeFirstSeen = 15 * 60_000
const afterEnd = 60 * 60_000
/** Players are dated in whole seconds, and a class may show its first event a little after it was opened, ms. */
const unsure = 60_000

const copied = ['name', 'stream_url', 'status', 'created_at', 'destroyed_at'] as const
const ms = (time: string) => `round(extract(epoch from ${time}) * 1000)::float8`

/**
 * Which class each player belongs to, the world says: the one that its room held when it was created, whatever was in a room of
 * that name before or after. What is told of the player besides is what is stored of it.
 */
export async function examineClassPlayers(
  { rows, end }: Pick<Examination, 'rows' | 'end'>,
  rooms: readonly TrueRoom[],
  stored: StoredSchema,
  players: StoredTable,
): Promise<readonly Finding[]> {
  const told = await rows<Row>(
    `select app_id, room_uuid, incarnation, player_id, name, stream_url, status, ${ms('created_at')} as created_at,
            ${ms('destroyed_at')} as destroyed_at from players.class_player`,
  )
  const lives = Map.groupBy(rooms, ({ app, roomUuid }) => canonical([app, roomUuid]))
  const byPlayer = Map.groupBy(told, ({ app_id, player_id }) => canonical([app_id, player_id]))
  const findings: Finding[] = []
  const add = (kind: 'different' | 'lost' | 'duplicate', text: string) =>
    void findings.push({ kind, text: `class_player: ${text}` })
  for (const player of players.rows) {
    const key = canonical([player.app_id, player.player_id])
    const [row, ...others] = byPlayer.get(key) ?? []
    byPlayer.delete(key)
    if (others.length > 0) add('duplicate', `${key} is of ${others.length + 1} classes`)
    const own = lives.get(canonical([player.app_id, player.channel_name])) ?? []
    const created = Number(player.created_at ?? player.first_seen_at)
    const isSure = own.every(({ openedAt }) => Math.abs(openedAt - created) > unsure)
    const life = own.findLast(({ openedAt }) => openedAt <= created)
    if (row) {
      if (row.room_uuid !== player.channel_name) add('different', `${key} is not of ${row.room_uuid}`)
      for (const column of copied)
        if ((row[column] ?? null) !== (player[column] ?? null))
          add('different', `${key} ${column}: ${row[column]} is not ${player[column]}`)
      const isLong = life ? created > (life.endedAt ?? end) + afterEnd + unsure : isOfNone(own, created)
      if (isSure && isLong) add('different', `${key} is of no class`)
      if (isSure && life?.stored !== undefined && life.stored !== Number(row.incarnation))
        add('different', `${key} is not of ${row.room_uuid} ${row.incarnation} but of ${life.stored}`)
    } else if (isSure && life?.stored !== undefined && isSeen(life, created, stored))
      add('lost', `${key} of ${life.roomUuid} ${life.stored}`)
  }
  for (const key of byPlayer.keys()) add('different', `${key} is no player`)
  return findings
}

/** Created so long before any class was opened there that it cannot be of it. */
function isOfNone(lives: readonly TrueRoom[], created: number): boolean {
  return lives.every(({ openedAt }) => created < openedAt - beforeFirstSeen - unsure)
}

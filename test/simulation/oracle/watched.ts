import type { Examination, Finding } from './examination.ts'
import type { StoredTable } from './rows.ts'

/** A call of which nothing was heard for longer than this is not known to go on; an hour before it may be either, ms. */
const heardWithin = 23 * 3_600_000

interface Channel {
  readonly key: string
  /** What goes on in it that is not known to have ended: a class, a call, or one that nobody heard of for long. */
  readonly is: 'class' | 'call' | 'old call'
}

/**
 * Players that play, or are about to, where no class and no call goes on are told as such, and no others: follows from what
 * is stored of players, rooms and calls.
 */
export async function examineWatched(
  { rows, end }: Pick<Examination, 'rows' | 'end'>,
  players: StoredTable,
): Promise<readonly Finding[]> {
  const told = new Set(
    (await rows<{ key: string }>(`select app_id || ' ' || player_id as key from players.orphan_player`)).map(
      ({ key }) => key,
    ),
  )
  const busy = Map.groupBy(await readBusy(rows, end), ({ key }) => key)
  const findings: Finding[] = []
  for (const row of players.rows) {
    const key = `${row.app_id} ${row.player_id}`
    const goesOn = busy.get(`${row.app_id} ${row.channel_name}`) ?? []
    const isWatched = goesOn.some(({ is }) => is !== 'old call')
    const isUnwatched = goesOn.length === 0
    const plays = row.destroyed_at === null && ['connecting', 'running'].includes(String(row.status))
    const isPlaced = row.channel_name !== null
    if (told.has(key) && (isWatched || !plays || !isPlaced))
      findings.push({ kind: 'different', text: `orphan_player: ${key} is none, in ${row.channel_name}` })
    if (!told.has(key) && isUnwatched && plays && isPlaced)
      findings.push({ kind: 'lost', text: `orphan_player: ${key} plays in ${row.channel_name}, alone` })
  }
  return findings
}

/** Channels in which something goes on, as far as is stored. */
function readBusy(rows: Examination['rows'], end: number): Promise<readonly Channel[]> {
  const heard = `greatest(c.created_at, c.destroyed_at, c.updated_at) > to_timestamp(${(end - heardWithin) / 1_000})`
  return rows<Channel>(
    `select r.app_id || ' ' || r.room_uuid as key, 'class' as is from classroom.room r
     where r.state = 1 and r.forgotten_at is null
       and not exists (select from classroom.room n where n.app_id = r.app_id and n.room_uuid = r.room_uuid and n.incarnation > r.incarnation)
     union all
     select c.app_id || ' ' || c.cname, case when ${heard} then 'call' else 'old call' end
     from analytics.call c where c.finished is not true and c.cname is not null`,
  )
}

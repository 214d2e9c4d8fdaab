import type { Examination, Finding } from './examination.ts'
import type { Row, StoredTable } from './rows.ts'

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
  const findings: Finding[] = [...(await examineChannels(rows, players))]
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

/** Every channel in which players live, with all of them, the oldest first. */
async function examineChannels(rows: Examination['rows'], players: StoredTable): Promise<readonly Finding[]> {
  const told = await rows<{ said: string }>(
    `select concat_ws(' ', app_id, channel_name, players, running, array_to_string(player_ids, ',')) as said from players.channel`,
  )
  const living = players.rows.filter(row => row.destroyed_at === null && row.channel_name !== null)
  const age = (row: Row) => Number(row.created_at ?? Number.POSITIVE_INFINITY)
  const should = [...Map.groupBy(living, row => `${row.app_id} ${row.channel_name}`)].map(
    ([channel, own]) => {
      const running = own.filter(({ status }) => status === 'running').length
      const ids = own
        .toSorted(
          (one, other) => age(one) - age(other) || (String(one.player_id) < String(other.player_id) ? -1 : 1),
        )
        .map(({ player_id }) => player_id)
      return `${channel} ${own.length} ${running} ${ids.join()}`
    },
  )
  const is = new Set(told.map(({ said }) => said))
  return [
    ...[...is.difference(new Set(should))].map(
      text => ({ kind: 'different', text: `players.channel: ${text}` }) as const,
    ),
    ...[...new Set(should).difference(is)].map(
      text => ({ kind: 'lost', text: `players.channel: ${text}` }) as const,
    ),
  ]
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

import { canonical } from './canonical.ts'
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
  const told = await rows<Row>(
    `select app_id, channel_name, players, running, player_ids, users, ${ms('first_created_at')} as first_created_at,
            ${ms('last_seen_at')} as last_seen_at from players.channel`,
  )
  const living = players.rows.filter(row => row.destroyed_at === null && row.channel_name !== null)
  const age = (row: Row) => Number(row.created_at ?? Number.POSITIVE_INFINITY)
  const should = [...Map.groupBy(living, row => canonical([row.app_id, row.channel_name])).values()].map(
    (own): Row => {
      const inOrder = own.toSorted(
        (one, other) => age(one) - age(other) || (String(one.player_id) < String(other.player_id) ? -1 : 1),
      )
      const seen = own.flatMap(({ last_seen_at }) => (last_seen_at === null ? [] : [Number(last_seen_at)]))
      return {
        ...{ app_id: own[0]!.app_id, channel_name: own[0]!.channel_name, players: own.length },
        running: own.filter(({ status }) => status === 'running').length,
        player_ids: inOrder.map(({ player_id }) => player_id),
        users: inOrder.map(({ uid, account }) => uid ?? account ?? null),
        first_created_at: inOrder[0]!.created_at ?? null,
        last_seen_at: seen.length === 0 ? null : Math.max(...seen),
      }
    },
  )
  const said = (all: readonly Row[]) =>
    new Set(all.map(row => canonical(channelColumns.map(column => row[column] ?? null))))
  const [is, wanted] = [said(told), said(should)]
  const wrong = (kind: 'different' | 'lost', texts: Iterable<string>) =>
    [...texts].map(text => ({ kind, text: `players.channel: ${text}` }) as const)
  return [...wrong('different', is.difference(wanted)), ...wrong('lost', wanted.difference(is))]
}

const ms = (time: string) => `round(extract(epoch from ${time}) * 1000)::float8`

const channelColumns = [
  ...['app_id', 'channel_name', 'players', 'running', 'player_ids', 'users'],
  ...['first_created_at', 'last_seen_at'],
]

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

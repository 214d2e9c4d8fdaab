import { askedOfRooms } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** From the arrival of a question about a log to the moment at which its answer is stored at the latest, ms: it is tried for a minute. */
const untilStored = 75_000

interface Repaired {
  readonly app: string
  /** Until when the missing answer may have told something, and when the gap was closed, ms since the epoch. */
  readonly to: number
  readonly closed: number
}

interface Known {
  readonly app: string
  readonly room: string
  readonly seen: number
  /** Nobody follows it any more since then. */
  readonly left: number | null
}

/** What a missing answer of the feed told is had again once the log of each room that was known by then was served, whether its class goes on or not. */
export async function examineRepairedFeeds(examination: Examination): Promise<readonly Finding[]> {
  const { rows, sandbox, streams, rewound = [] } = examination
  if (!(streams?.includes('room-events') ?? true) || rewound.length > 0) return []
  const repaired = await rows<Repaired>(
    `select app_id as app, ${ms('range_to')} as "to", ${ms('updated_at')} as closed from ingest.gap
     where stream = 'app-events' and reason = 'unread_answer' and state = 'repaired'`,
  )
  if (repaired.length === 0) return []
  const known = await knownRooms(rows)
  const served = askedOfRooms(examination, ({ status }) => status === 200)
  const lives = Map.groupBy(
    [...sandbox.truth()].filter(line => line.kind === 'room'),
    ({ app, roomUuid }) => `${app} ${roomUuid}`,
  )
  return repaired.flatMap(({ app, to, closed }) =>
    known
      .filter(one => one.app === app && one.seen <= to && (one.left === null || one.left > closed))
      .filter(({ room }) => {
        const key = `${app} ${room}`
        // Of a room that is gone meanwhile, or was used again, others judge.
        const [life, ...others] = (lives.get(key) ?? []).filter(({ openedAt }) => openedAt <= closed)
        const isThere = life && others.length === 0 && (life.destroyedAt ?? Number.POSITIVE_INFINITY) > closed
        const isServed = served(app, 'roomEvents', room).some(
          ({ time }) => to - untilStored <= time && time <= closed,
        )
        return isThere && !isServed
      })
      .slice(0, 1)
      .map(({ room }) => {
        const text = `${app} feed: repaired up to ${new Date(to).toISOString()}, though the log of ${room} was not served since`
        return { kind: 'gap', text } as const
      }),
  )
}

/** Rooms whose logs are followed or were, when they were seen first, and when they were left. */
export function knownRooms(rows: Examination['rows']): Promise<readonly Known[]> {
  return rows<Known>(
    `select r.app_id as app, r.room_uuid as room, ${ms('min(r.first_seen_at)')} as seen, ${ms('min(p.closed_at)')} as left
     from classroom.room r join ingest.progress p on (p.app_id, p.stream, p.series) = (r.app_id, 'room-events', r.room_uuid)
     group by 1, 2`,
  )
}

/** A moment that is stored, ms since the epoch. */
export function ms(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::float8`
}

import { Findings, say } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

const hour = 3_600_000
const day = 24 * hour

/**
 * How long everything is kept that a run says the age of, ms: longer than a day and the six hours after which what came of it
 * is kept, without which its rooms stay as they are.
 */
export const kept = 30 * hour
/** How long a room is kept at least, ms: until what came of its day is kept, it is kept longer. */
const roomKept = 26 * hour
/** When a day is over for so long it is kept what came of it, ms. */
const quiet = 6 * hour

/** Tables whose rows go by their own age, or by that of the call or the room to which they belong. */
const ofCalls = ['call_session', 'session_digest', 'session_summary', 'call_summary', 'call_minute']
const byThemselves = [
  { table: 'players.notification', key: 'notice_id', at: 'received_at' },
  { table: 'players.cloud_player_change', key: 'player_id', at: 'changed_at' },
  { table: 'ingest.dead_letter', key: 'id', at: 'last_seen_at' },
  { table: 'analytics.usage_realtime', key: 'at', at: 'at', isByDay: true },
  { table: 'analytics.quality_realtime', key: 'at', at: 'at', isByDay: true },
] as const

/** Rows of a table that belong together. Something happened to them at `at`, and nothing after `until`; ms since the epoch. */
interface Part {
  readonly count: number
  readonly at: number
  readonly until: number
  readonly isByDay: boolean
  /** Before this nothing of it may go. */
  readonly stays: number
}

/** What there was when everybody went to sleep: how many rows of a table belong to what. */
export interface Kept {
  readonly rows: ReadonlyMap<string, Part>
  /** Of each room and stream whether it was said to be complete. */
  readonly complete: ReadonlyMap<string, boolean>
  /** Of each day and stream of rooms whether a room of it was said not to be confirmed by its log. */
  readonly doubted: ReadonlyMap<string, boolean>
}

interface Counted {
  readonly key: string
  readonly count: number
  readonly at: number
  /** The same as `at` unless told. */
  readonly until?: number
  readonly stays?: number
}

export async function readKept(examination: Examination): Promise<Kept> {
  const { rows, sandbox } = examination
  const counted = new Map<string, Part>()
  const add = (table: string, { key, count, at, until = at, stays = at + kept }: Counted, isByDay = false) =>
    void counted.set(`${table}: ${key}`, { count, at, until, isByDay, stays })
  const ofRooms = await rows<{ table: string }>(
    `select c.relname as table from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'incarnation'
     where c.relnamespace = 'classroom'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'room'`,
  )
  const lastEvent = new Map<string, number>()
  for (const line of sandbox.truth()) {
    if (line.kind === 'event') lastEvent.set(`${line.app} ${line.roomUuid}`, line.at)
  }
  // Its log was read, so that it was there.
  const lastAsked = new Map<string, number>()
  for (const { app, operation, status, target, time } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    const room = operation === 'roomEvents' && status === 200 && /\/rooms\/([^/?]+)/.exec(target)?.[1]
    if (room) lastAsked.set(`${app} ${decodeURIComponent(room)}`, time)
  }
  const begun = new Map(
    (
      await rows<{ key: string; at: number }>(
        `select app_id || ' ' || room_uuid as key, extract(epoch from max(coalesce(started_at, valid_from)))::float8 * 1000 as at
         from classroom.room group by 1`,
      )
    ).map(({ key, at }) => [key, at]),
  )
  for (const { table } of ofRooms)
    for (const one of await rows<Counted>(
      `select app_id || ' ' || room_uuid as key, count(*)::float8 as count, 0::float8 as at from classroom.${table} group by 1`,
    ))
      add(`classroom.${table}`, {
        ...one,
        at: lastEvent.get(one.key) ?? Number.NEGATIVE_INFINITY,
        stays: staysUntil(lastEvent.get(one.key), begun.get(one.key)),
        until: lastAsked.get(one.key) ?? Number.POSITIVE_INFINITY,
      })
  for (const table of ofCalls)
    for (const one of await rows<Counted>(
      `select t.app_id || ' ' || t.call_id as key, count(*)::float8 as count, extract(epoch from min(c.created_at))::float8 * 1000 as at
       from analytics.${table} t join analytics.call c using (app_id, call_id) group by 1`,
    ))
      add(`analytics.${table}`, one)
  for (const { table, key, at, ...how } of byThemselves)
    for (const one of await rows<Counted>(
      `select ${key}::text as key, count(*)::float8 as count, extract(epoch from min(${at}))::float8 * 1000 as at,
              extract(epoch from max(${at}))::float8 * 1000 as until
       from ${table} group by 1`,
    ))
      add(table, one, 'isByDay' in how)
  const told = await rows<{ key: string; complete: boolean }>(
    `select app_id || ' ' || room_uuid || ' ' || stream as key, complete from ingest.room_complete`,
  )
  const days = await rows<{ key: string; doubted: boolean }>(
    `select app_id || ' ' || day || ' ' || stream as key, 'unconfirmed' = any (string_to_array(reasons, ', ')) as doubted
     from ingest.complete_day where stream in (select ingest.room_streams())`,
  )
  return {
    rows: counted,
    complete: new Map(told.map(({ key, complete }) => [key, complete])),
    doubted: new Map(days.map(({ key, doubted }) => [key, doubted])),
  }
}

/** A room goes when it is as old as rooms are kept, and not before it is kept what came of its day. */
function staysUntil(last = Number.NEGATIVE_INFINITY, begun = Number.NEGATIVE_INFINITY): number {
  return Math.max(last + roomKept, Math.floor(begun / day) * day + day + quiet)
}

/**
 * What is older than it is kept is gone, when the housekeeping came by at `from` or after, and what is younger, at `to`, is
 * as it was; whether a room was whole nobody forgets. Of what goes by the day only the latter is judged.
 */
export async function examineAges(
  examination: Examination,
  before: Kept,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly Finding[]> {
  const found = new Findings()
  const after = await readKept(examination)
  for (const [key, { count, at, until, isByDay, stays }] of before.rows) {
    const [table = ''] = key.split(': ')
    const left = after.rows.get(key)?.count ?? 0
    if (until < from - kept && left > 0 && !isByDay)
      found.add('duplicate', `${table} kept too long`, `${key}: ${left} rows of ${say(until / 1_000)}`)
    if (stays >= to && left < count)
      found.add('lost', `${table} not kept`, `${key}: ${left} of ${count} rows of ${say(at / 1_000)}`)
  }
  for (const [key, complete] of before.complete) {
    const now = after.complete.get(key)
    if (now !== complete)
      found.add('complete', 'after its rows went', `${key}: ${complete} before, ${now ?? 'not told'} now`)
  }
  for (const [key, doubted] of before.doubted)
    if (!doubted && after.doubted.get(key))
      found.add(
        'complete',
        'after its rows went',
        `${key}: a room of it is said not to be confirmed, and was`,
      )
  return found.list()
}

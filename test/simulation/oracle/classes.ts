import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'
import type { StoredSchema } from './rows.ts'

/** What the documents of the project say of calls that belong to a class nobody saw begin, or whose end was long ago, ms. */
const beforeFirstSeen = 15 * 60_000
const afterEnd = 60 * 60_000
/** Calls are dated in whole seconds, and one may be made a little before its room shows its first event, ms. */
const unsure = 60_000

interface OfCall {
  readonly app: string
  readonly call: string
  readonly room: string
  readonly incarnation: number
}

const classOf = ({ app, room, incarnation }: Omit<OfCall, 'call'>) => `${app} ${room} ${incarnation}`

/**
 * Which class each call belongs to, the world says: the one in which it was made, whatever was in a room of that name
 * before or after. What views tell of classes and of users follows from that, and from the stays that are stored.
 */
export async function examineClasses(
  { rows }: Pick<Examination, 'rows'>,
  rooms: readonly TrueRoom[],
  stored: StoredSchema,
): Promise<readonly Finding[]> {
  const told = await rows<OfCall>(
    `select app_id as app, call_id as call, room_uuid as room, incarnation::int from analytics.class_call`,
  )
  const calls = await rows<{ readonly key: string; readonly at: number }>(
    `select app_id || ' ' || call_id as key, extract(epoch from created_at)::float8 * 1000 as at from analytics.call`,
  )
  const at = new Map(calls.map(call => [call.key, call.at]))
  const lives = new Map(rooms.flatMap(room => room.calls.map(id => [`${room.app} ${id}`, room] as const)))
  const found: Finding[] = []
  for (const row of told) {
    const life = lives.get(`${row.app} ${row.call}`)
    // Of a class nobody saw, the next or the last of its name may be told.
    if (life && life.stored === undefined) continue
    if (life?.stored !== row.incarnation)
      found.push(different(`call ${row.call} is not of ${classOf(row)} but of ${life?.stored ?? 'no class'}`))
  }
  const keys = new Set(told.map(({ app, call }) => `${app} ${call}`))
  for (const [key, life] of lives) {
    const made = at.get(key)
    if (made !== undefined && !keys.has(key) && isSeen(life, made, stored))
      found.push({ kind: 'lost', text: `class_call: ${key} of ${life.roomUuid} ${life.stored}` })
  }
  const ofClasses = Map.groupBy(told, classOf)
  return [
    ...found,
    ...(await examineQuality(rows, ofClasses)),
    ...(await examineUsers(rows, ofClasses, stored)),
  ]
}

function different(text: string): Finding {
  return { kind: 'different', text: `class_call: ${text}` }
}

/** Whether the class of a call, or a player, was seen around the time at which that was made. */
export function isSeen(
  { app, roomUuid, stored: number, endedAt }: TrueRoom,
  made: number,
  stored: StoredSchema,
) {
  const room = stored
    .get('room')!
    .rows.find(row => row.app_id === app && row.room_uuid === roomUuid && Number(row.incarnation) === number)
  if (!room) return false
  const isBegun = made >= Number(room.valid_from) - beforeFirstSeen + unsure
  const isFollowed = room.valid_to !== null && made > Number(room.valid_to) - 2 * unsure
  const last = Math.min(endedAt ?? Number.POSITIVE_INFINITY, Number(room.last_event_at))
  return isBegun && !isFollowed && made < last + afterEnd - unsure
}

type Rows = Examination['rows']

/** Each class with calls once, with as many calls and stays as it has. */
async function examineQuality(
  rows: Rows,
  ofClasses: ReadonlyMap<string, readonly OfCall[]>,
): Promise<readonly Finding[]> {
  const stays = await readStays(rows)
  const qualities = await rows<Omit<OfCall, 'call'> & { readonly calls: number; readonly sessions: number }>(
    `select app_id as app, room_uuid as room, incarnation::int, calls, coalesce(sessions, 0)::int as sessions
     from analytics.class_quality`,
  )
  const is = qualities.map(row => `${classOf(row)}: ${row.calls} calls, ${row.sessions} stays`)
  const should = [...ofClasses].map(([key, calls]) => {
    const sessions = calls.reduce((sum, { app, call }) => sum + (stays.get(`${app} ${call}`)?.length ?? 0), 0)
    return `${key}: ${calls.length} calls, ${sessions} stays`
  })
  return compare('class_quality', is, should)
}

interface Stay {
  readonly key: string
  readonly sid: string
  readonly uid: string | null
}

async function readStays(rows: Rows): Promise<ReadonlyMap<string, readonly Stay[]>> {
  const all = await rows<Stay>(`select app_id || ' ' || call_id as key, sid, uid from analytics.call_session`)
  return Map.groupBy(all, ({ key }) => key)
}

/**
 * Every user who came to a class, with each stay in its calls whose number is that of a stream of the user, unless others
 * have it; who has none is told once.
 */
async function examineUsers(
  rows: Rows,
  ofClasses: ReadonlyMap<string, readonly OfCall[]>,
  stored: StoredSchema,
): Promise<readonly Finding[]> {
  const stays = await readStays(rows)
  const told = await rows<Omit<OfCall, 'call'> & { readonly user: string; readonly sid: string | null }>(
    `select app_id as app, room_uuid as room, incarnation::int, user_uuid as user, sid from classroom.user_call`,
  )
  const came = new Map<string, Set<string>>()
  for (const row of stored.get('attendance')!.rows) {
    if (row.action !== 'enter' || row.user_uuid === null) continue
    const key = `${row.app_id} ${row.room_uuid} ${row.incarnation}`
    came.set(key, (came.get(key) ?? new Set()).add(JSON.stringify([row.user_uuid, row.stream_uuid])))
  }
  const should = [...came].flatMap(([key, pairs]) => {
    const users = [...pairs].map(pair => JSON.parse(pair) as readonly [user: string, stream: string | null])
    const own = (ofClasses.get(key) ?? []).flatMap(({ app, call }) => stays.get(`${app} ${call}`) ?? [])
    return [...Map.groupBy(users, ([user]) => user)].flatMap(([user, streams]) => {
      const sids = streams.flatMap(([, stream]) => {
        const isShared = users.some(([other, theirs]) => other !== user && theirs === stream)
        return isShared ? [] : own.filter(({ uid }) => uid !== null && uid === stream).map(({ sid }) => sid)
      })
      return (sids.length > 0 ? sids : [null]).map(sid => `${key} ${user}: ${sid}`)
    })
  })
  return compare(
    'user_call',
    told.map(row => `${classOf(row)} ${row.user}: ${row.sid}`),
    should,
  )
}

function compare(view: string, is: readonly string[], should: readonly string[]): readonly Finding[] {
  const [left, right] = [new Set(is), new Set(should)]
  const again = is.length - left.size
  return [
    ...[...left.difference(right)].map(text => ({ kind: 'different', text: `${view}: ${text}` }) as const),
    ...[...right.difference(left)].map(text => ({ kind: 'lost', text: `${view}: ${text}` }) as const),
    ...(again > 0 ? [{ kind: 'duplicate', text: `${view}: ${again} rows twice` } as const] : []),
  ]
}

import type pg from 'pg'
import type { TruePlayer } from './players/truth.ts'
import type { TruthLine } from './truth.ts'

export interface Comparison {
  /** Compares the rows of now with the truth. */
  readonly check: () => Promise<Difference>
}

interface TruthOfRoom {
  readonly app: string
  readonly room: string
  readonly incarnation: number
  /** What there must be in Postgres: the name of each thing with its state. */
  readonly things: Map<string, string>
}

interface Stored {
  readonly thing: string
  readonly state: string
}

/** From when on the daemon could have had what happened; ms. */
export interface Served {
  /**
   * Rooms that were gone before could not be had. Neither could all those that were over by then and are gone now:
   * nothing told of them in time.
   */
  readonly servedSince: number
  /** Calls that began before this must be stored; absent where call analytics is not drained. */
  readonly callsUntil?: number
}

/**
 * Holds the rows against the truth of a world that stands still. Both sides are read here and nowhere else, so that
 * an error of the streams cannot hide itself.
 */
export function compareWith(pool: pg.Pool, truth: Iterable<TruthLine>, served: Served): Comparison {
  const calls = compareCalls(pool, served.callsUntil ?? Number.NEGATIVE_INFINITY)
  const { rooms, unserved } = gather(truth, served.servedSince, calls)
  /** Once a room is equal it stays so: what happens has ended, and rows are not taken away. */
  const differing = new Set(rooms.keys())

  return {
    check: async () => {
      let sum = noDifference
      for (const key of differing) {
        const difference = await compareRoom(pool, rooms.get(key)!)
        if (difference.lost + difference.duplicates === 0) differing.delete(key)
        sum = addDifferences(sum, difference)
      }
      const beyond = {
        lost: 0,
        duplicates: await countUnheardOf(pool, key => rooms.has(key) || unserved.has(key)),
      }
      return addDifferences(addDifferences(sum, beyond), await calls.check())
    },
  }
}

function gather(
  truth: Iterable<TruthLine>,
  servedSince: number,
  calls: CallComparison,
): { readonly rooms: ReadonlyMap<string, TruthOfRoom>; readonly unserved: ReadonlySet<string> } {
  const rooms = new Map<string, TruthOfRoom>()
  const unserved = new Set<string>()
  for (const line of truth) {
    const key = nameOf(line.app, line.roomUuid, line.incarnation)
    if (line.kind === 'room') {
      if (line.destroyedAt !== undefined && (line.endedAt ?? line.destroyedAt) <= servedSince) {
        unserved.add(key)
        continue
      }
      const { app, roomUuid: room, incarnation } = line
      rooms.set(key, { app, room, incarnation, things: new Map() })
      continue
    }
    if (line.kind === 'call') {
      calls.add(line)
      continue
    }
    const thing = thingOf(line)
    if (thing) rooms.get(key)?.things.set(...thing)
  }
  return { rooms, unserved }
}

/** Nothing for what the daemon does not store: events that cannot be read, and what a resource was in between. */
function thingOf(
  line: Exclude<TruthLine, { kind: 'room' | 'call' }>,
): [thing: string, state: string] | undefined {
  switch (line.kind) {
    case 'event':
      return line.malformed ? undefined : [`event ${line.sequence}`, `${line.cmd}`]
    case 'widget':
      return [`${line.widget} ${line.position}`, '']
    case 'recording': {
      const { recordId, status, endTime, recordDetails } = line.item
      return [`recording ${recordId}`, `${status} ${endTime ?? '-'} ${recordDetails.length}`]
    }
    case 'resource':
      return [`resource ${line.item.resourceUuid}`, `${line.item.updateTime}`]
    case 'step':
      return undefined
  }
}

const stored = `
  with room as (select $1::text as app_id, $2::text as room_uuid, $3::int as incarnation)
  select 'event ' || sequence as thing, cmd::text as state
    from classroom.room_event join room using (app_id, room_uuid, incarnation)
  union all
  select widget || ' ' || position, ''
    from classroom.widget_event join room using (app_id, room_uuid, incarnation)
  union all
  select 'recording ' || record_id, status || ' ' || coalesce((extract(epoch from ended_at) * 1000)::bigint::text, '-') || ' '
      || (select count(*) from classroom.recording_file f
           where (f.app_id, f.room_uuid, f.incarnation, f.record_id) = (r.app_id, r.room_uuid, r.incarnation, r.record_id))
    from classroom.recording r join room using (app_id, room_uuid, incarnation)
  union all
  select 'resource ' || resource_uuid, (extract(epoch from updated_at) * 1000)::bigint::text
    from classroom.resource join room using (app_id, room_uuid, incarnation) where removed_at is null`

async function compareRoom(
  pool: pg.Pool,
  { app, room, incarnation, things }: TruthOfRoom,
): Promise<Difference> {
  const { rows } = await pool.query<Stored>(stored, [app, room, incarnation])
  const found = new Map(rows.map(({ thing, state }) => [thing, state]))
  const missing = [...things].filter(([thing, state]) => found.get(thing) !== state)
  const beyond = [...found.keys()].filter(thing => !things.has(thing))
  // A resource that is stored as listed and is listed no more: the news of its removal is what is missing.
  const stale = beyond.filter(thing => thing.startsWith('resource '))
  return {
    lost: missing.length + stale.length,
    duplicates: rows.length - found.size + beyond.length - stale.length,
  }
}

const known = `
  select app_id as app, room_uuid as room, incarnation,
         (select count(*)::int from classroom.room_event e
           where (e.app_id, e.room_uuid, e.incarnation) = (r.app_id, r.room_uuid, r.incarnation)) as events
  from classroom.room r`

/** Events in rooms that never were. */
async function countUnheardOf(pool: pg.Pool, isHeardOf: (key: string) => boolean): Promise<number> {
  const { rows } = await pool.query<{ app: string; room: string; incarnation: number; events: number }>(known)
  return rows
    .filter(({ app, room, incarnation }) => !isHeardOf(nameOf(app, room, incarnation)))
    .reduce((sum, { events }) => sum + events, 0)
}

function nameOf(app: string, room: string, incarnation: number): string {
  return JSON.stringify([app, room, incarnation])
}

type CallLine = Extract<TruthLine, { kind: 'call' }>

/** The calls of all apps, held against schema `analytics`. */
export interface CallComparison {
  readonly add: (line: CallLine) => void
  readonly check: () => Promise<Difference>
}

interface StoredCall {
  readonly app: string
  readonly call: string
  readonly state: string
}

const storedCalls = `
  select app_id as app, call_id as call, coalesce(cname, '') || ' ' || extract(epoch from created_at)::bigint as state
  from analytics.call`

/**
 * Calls that began before `until` (ms) could be had all the time and must be stored; later ones may be. A call that
 * never was must not.
 */
function compareCalls(pool: pg.Pool, until: number): CallComparison {
  const states = new Map<string, string>()
  const due = new Set<string>()
  return {
    add: ({ app, call: { item } }) => {
      const key = callKey(app, item.call_id)
      states.set(key, `${item.cname} ${item.created_ts}`)
      if (item.created_ts * 1_000 < until) due.add(key)
    },
    check: async () => {
      const { rows } = await pool.query<StoredCall>(storedCalls)
      const found = new Map(rows.map(({ app, call, state }) => [callKey(app, call), state]))
      const lost = [...due].filter(key => found.get(key) !== states.get(key)).length
      const unheardOf = [...found.keys()].filter(key => !states.has(key)).length
      return { lost, duplicates: unheardOf }
    },
  }
}

function callKey(app: string, call: string): string {
  return JSON.stringify([app, call])
}

interface StoredPlayer {
  readonly id: string
  readonly place: string
  readonly destroyed: boolean
}

const storedPlayers = `
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
  const { rows } = await pool.query<StoredPlayer>(storedPlayers, [app])
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

/** How the rows in Postgres differ from what happened. */
export interface Difference {
  /** Things that happened and are not stored, or not as they are by now. */
  readonly lost: number
  /** Rows beyond the first for one thing, or for nothing that ever happened. */
  readonly duplicates: number
}

export const noDifference: Difference = { lost: 0, duplicates: 0 }

export function addDifferences(one: Difference, other: Difference): Difference {
  return { lost: one.lost + other.lost, duplicates: one.duplicates + other.duplicates }
}

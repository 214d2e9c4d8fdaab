import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding, Moments } from './examination.ts'
import type { OurClocks } from './our-clocks.ts'
import { compareTable, type ExpectedRow, oneOf, type Row, Rule, type StoredSchema } from './rows.ts'

export interface RoomContext {
  readonly stored: StoredSchema
  /** Regions in which rooms of the app are looked for. */
  readonly regions: (app: string) => readonly string[]
  /** Moments at which an answer that tells of the room's events was given. */
  readonly answered: (room: TrueRoom) => Moments
  readonly clocks: OurClocks
  readonly end: number
  readonly sandbox: Examination['sandbox']
}

/**
 * Each room once. What it became follows from those of its events that are stored, whatever came first; from when and to
 * when it was the room of its name, from the world.
 */
export function examineRooms(rooms: readonly TrueRoom[], context: RoomContext) {
  const { stored, regions, end } = context
  const denials = denialsOf(context)
  const events = Map.groupBy(stored.get('room_event')!.rows, placeOf)
  const changes = Map.groupBy(stored.get('room_state_change')!.rows, placeOf)
  const expected = new Map<string, ExpectedRow>()
  const findings: Finding[] = []
  for (const [n, room] of rooms.entries()) {
    const place = `${room.app} ${room.roomUuid} ${room.stored}`
    if (room.stored === undefined) continue
    const next = rooms.find(
      (one, m) => m > n && one.app === room.app && one.roomUuid === room.roomUuid && one.stored !== undefined,
    )
    const isOfOther = rooms.some((one, m) => m < n && samePlace(one, room))
    if (isOfOther) findings.push({ kind: 'different', text: `room ${place}: two rooms are stored as one` })
    expected.set(place, {
      isDue: true,
      cells: {
        ...stateOf(changes.get(place) ?? []),
        ended_by: toldEnd(changes.get(place) ?? [], events.get(place) ?? [], room, context),
        ...spanOf(events.get(place) ?? [], room, context),
        region: regionOf(room, regions(room.app)),
        valid_to: next
          ? endBefore(next, events.get(`${room.app} ${room.roomUuid} ${next.stored}`) ?? [], end)
          : null,
        first_seen_at: time('while it was there', value => value >= room.openedAt && value <= end),
        verified_at: time('no time to come', value => value <= end),
        forgotten_at: forgotten(room, denials.get(`${room.app} ${room.roomUuid}`) ?? [], end),
        unread: next ? namesOfStreams : null,
        // Nothing here grows as old as it is kept.
        emptied_at: null,
        emptied: null,
      },
    })
  }
  return [...compareTable(stored.get('room')!, expected), ...findings]
}

const ofRooms: ReadonlySet<unknown> = new Set([
  'room-events',
  'popup-quiz',
  'poll',
  'recordings',
  'resources',
])

/** Which of them were read to the end is for the days to tell. */
const namesOfStreams = new Rule('streams of rooms', value => {
  return (
    value === null || (Array.isArray(value) && value.length > 0 && value.every(each => ofRooms.has(each)))
  )
})

function placeOf({ app_id, room_uuid, incarnation }: Row): string {
  return `${app_id} ${room_uuid} ${incarnation}`
}

function samePlace(one: TrueRoom, other: TrueRoom): boolean {
  return one.app === other.app && one.roomUuid === other.roomUuid && one.stored === other.stored
}

function time(says: string, allows: (value: number) => boolean): Rule {
  return new Rule(says, value => {
    const moment = value === '-infinity' ? Number.NEGATIVE_INFINITY : value
    return typeof moment === 'number' && allows(moment)
  })
}

const over = 2

/** The change with the highest sequence decides; it ended at the first end after it was started, or made ready, last. */
function stateOf(changes: readonly Row[]): Row {
  const ordered = inOrder(changes)
  const last = ordered.at(-1)
  const ends = endsOf(changes).map(({ at }) => Number(at))
  const starts = ordered
    .filter(({ state }) => state === 1)
    .map(({ started_at, at }) => Number(started_at ?? at))
  return {
    state: last?.state,
    state_sequence: last?.sequence,
    started_at: starts.length === 0 ? null : Math.min(...starts),
    ended_at: ends.length === 0 ? null : Math.min(...ends),
  }
}

function inOrder(changes: readonly Row[]): readonly Row[] {
  return changes.toSorted((a, b) => (BigInt(String(a.sequence)) < BigInt(String(b.sequence)) ? -1 : 1))
}

function endsOf(changes: readonly Row[]): readonly Row[] {
  const ordered = inOrder(changes)
  return ordered.slice(ordered.findLastIndex(({ state }) => Number(state) < over) + 1)
}

/** Of an end that has the time of an event before it, when the answer came that told it: never before it happened. */
function toldEnd(
  changes: readonly Row[],
  events: readonly Row[],
  room: TrueRoom,
  { answered, clocks, end }: RoomContext,
): Rule | null {
  const ends = endsOf(changes)
  const first = Math.min(...ends.map(({ at }) => Number(at)))
  const dating = new Set(
    ends.filter(({ at }) => Number(at) === first).map(({ sequence }) => String(sequence)),
  )
  const told = events.filter(({ sequence }) => dating.has(String(sequence)))
  if (told.every(({ at_source }) => at_source !== 'neighbour')) return null
  const happened = Math.min(
    ...room.events.filter(({ sequence }) => dating.has(String(sequence))).map(({ at }) => at),
  )
  const [answers, ours] = [answered(room), clocks.between(happened, end)]
  // What has its time from an event behind it had happened by then: nothing later need be told.
  const isBounded = told.some(({ at_source }) => at_source === 'next')
  return new Rule(`when it was told, not before ${happened}`, (value, row) => {
    return (
      (value === null && isBounded) ||
      ours.allows(value, row) ||
      (typeof value === 'number' && value >= happened && answers.has(value))
    )
  })
}

/**
 * Times that events have in themselves count, and those at which one without was told: of a page that tells old events
 * beside a new one it is the time of that page.
 */
function spanOf(events: readonly Row[], room: TrueRoom, { answered, clocks, end }: RoomContext): Row {
  const all = new Set(events.map(({ at }) => Number(at)))
  const own = events.filter(({ at_source }) => at_source === 'event').map(({ at }) => Number(at))
  const first = Math.min(...own, end)
  const last = Math.max(...own, 0)
  const latest = Math.max(
    ...events.flatMap(({ received_at }) => clocks.momentsOf(received_at).map(({ to }) => to)),
  )
  const answers = answered(room)
  const isTime = (value: number) => all.has(value) || answers.has(value)
  return {
    valid_from: time(
      `from ${room.openedAt} to its first time ${first}`,
      value => value >= room.openedAt && value <= first && isTime(value),
    ),
    last_event_at: time(
      `one of its times, from ${last} to ${latest}`,
      value => value >= last && value <= latest && isTime(value),
    ),
  }
}

/** A room ends with the first thing that is known of the next one of its name. */
function endBefore({ openedAt }: TrueRoom, events: readonly Row[], end: number): Rule {
  const own = events.filter(({ at_source }) => at_source === 'event').map(({ at }) => Number(at))
  const first = Math.min(...own, end)
  return time(`from ${openedAt} to ${first}`, value => value >= openedAt && value <= first)
}

/** Each room is in one region, or known in all of them. */
function regionOf({ region }: TrueRoom, regions: readonly string[]): unknown {
  if (region !== undefined) return region
  if (regions.length > 0) return oneOf(regions)
  return new Rule('a region', value => typeof value === 'string' && value !== '')
}

/** From an answer to its row where a process stood still with it, ms. */
const longestStall = 600_000

/** The provider says so of a room that is no more, and soon before it where it denies logs that it serves later. */
function forgotten({ destroyedAt }: TrueRoom, denied: readonly number[], end: number): Rule {
  return new Rule(`null, or a time after ${destroyedAt}`, value => {
    if (value === null) return true
    const at = Number(value)
    const isGone = destroyedAt !== undefined && destroyedAt <= at
    return at <= end && (isGone || denied.some(time => time <= at && at <= time + longestStall))
  })
}

/** When the provider denied to know a room whose log it served later, ms; a gateway that knows no room at all is not the provider. */
function denialsOf({ sandbox }: RoomContext): ReadonlyMap<string, readonly number[]> {
  const denials = new Map<string, number[]>()
  if (sandbox.settings.switches.missingLogs === 'none') return denials
  const arrivals = sandbox.arrivals.list(0, sandbox.arrivals.count)
  for (const { operation, status, fault, app, target, time } of arrivals) {
    if (operation !== 'roomEvents' || status !== 404 || fault !== undefined) continue
    const [, room = ''] = /\/rooms\/([^/]+)\/sequences/.exec(target) ?? []
    const place = `${app} ${decodeURIComponent(room)}`
    denials.set(place, denials.get(place) ?? [])
    denials.get(place)!.push(time)
  }
  return denials
}

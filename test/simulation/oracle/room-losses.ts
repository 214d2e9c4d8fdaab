import { askedOfRooms } from './asked.ts'
import type { TrueRoom } from './classroom-truth.ts'
import { isRoomStream, keysOf, missingOf, type RoomStream, roomStreams } from './complete.ts'
import { operationOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import type { StoredGap } from './gaps.ts'
import type { StoredSchema } from './rows.ts'
import { wasOff } from './switched-off.ts'

/** By so much a moment that the database dates may be beside that of the world: an answer was on its way, or its commit waited. */
const beside = 5 * 60_000

/** An answer without the data that it should hold may be half of one: the third is believed. */
const untilBelieved = 3

interface LossContext {
  readonly stored: StoredSchema
  readonly gaps: readonly StoredGap[]
}

/**
 * What nobody read of a room's streams by the time when it is said to be gone is told of, a row each stream; and nothing is that was
 * read to its end after the class, or that the provider serves.
 */
export function examineRoomLosses(
  rooms: readonly TrueRoom[],
  examination: Examination,
  { stored, gaps }: LossContext,
): readonly Finding[] {
  const own = gaps.filter(({ unit, stream }) => unit === 'time' && isRoomStream(stream))
  const places = new Map(rooms.map(room => [`${room.app} ${room.roomUuid} ${room.stored}`, room]))
  const kept = keysOf(stored)
  const numbered = examination.sandbox.settings.switches.widgetItemSequence === 'present'
  const lackingOf = (room: TrueRoom, stream: RoomStream, until: number) =>
    missingOf(wellFormed(room), stream, {
      place: `${room.app} ${room.roomUuid} ${room.stored}`,
      ...{ kept, until, numbered },
      isExcused: () => true,
    })
  // Who never heard of the end of a class cannot know that it was read after it.
  const ended = roomsOf(stored, 'ended_at')
  const reading = readings(examination)
  const findings: Finding[] = []
  for (const gap of own) {
    const room = places.get(`${gap.app} ${gap.series} ${gap.incarnation}`)
    const fault = faultOf(gap, room, rooms)
    const text = `${gap.app} ${gap.stream} ${gap.series} ${gap.incarnation} ${gap.reason} ${gap.state}`
    if (fault) findings.push({ kind: 'gap', text: `${text}: ${fault}` })
    else if (room && gap.state === 'lost' && isRead(gap, room))
      findings.push({ kind: 'gap', text: `${text}: was read after its end` })
  }
  if (!examination.isEnd) return findings
  const told = new Set(own.map(gap => `${gap.app} ${gap.series} ${gap.incarnation} ${gap.stream}`))
  const gone = roomsOf(stored, 'forgotten_at', 'valid_to')
  for (const room of rooms) {
    const { app, roomUuid, stored: incarnation, destroyedAt = examination.end } = room
    if (!gone.has(`${app} ${roomUuid} ${incarnation}`)) continue
    for (const stream of roomStreams) {
      // Of its log, the sequences that are missing are told.
      if (stream === 'room-events' || !(examination.streams?.includes(stream) ?? true)) continue
      if (wasOff(examination, { app, stream }, room.openedAt, destroyedAt)) continue
      const lacking = lackingOf(room, stream, destroyedAt)
      const place = `${app} ${roomUuid} ${incarnation} ${stream}`
      if (lacking && !told.has(place))
        findings.push({ kind: 'lost', text: `${place}: ${lacking}, and nobody says so` })
    }
  }
  return findings

  /** All that ever was of it is stored, and it was answered once its class had ended. */
  function isRead({ stream }: StoredGap, room: TrueRoom): boolean {
    const { isInterrupted, isCalm } = examination
    const { endedAt, destroyedAt = Number.POSITIVE_INFINITY } = room
    if (isInterrupted || !isCalm || endedAt === undefined || !isRoomStream(stream)) return false
    if (!ended.has(`${room.app} ${room.roomUuid} ${room.stored}`)) return false
    const times = reading(room, stream).filter(time => time > endedAt + beside && time < destroyedAt)
    return times.length >= untilBelieved && lackingOf(room, stream, destroyedAt) === undefined
  }
}

/** The stored rooms of which a time in one of these columns is known. */
function roomsOf(stored: StoredSchema, ...columns: readonly string[]): ReadonlySet<string> {
  const rows = stored.get('room')!.rows.filter(row => columns.some(column => row[column] !== null))
  return new Set(rows.map(row => `${row.app_id} ${row.room_uuid} ${row.incarnation}`))
}

function faultOf(
  { from, to, reason, state, seen, incarnation, series, app }: StoredGap,
  room: TrueRoom | undefined,
  rooms: readonly TrueRoom[],
): string | undefined {
  if (reason !== 'room_forgotten' && reason !== 'room_reused') return `${reason} is no reason for it`
  if (state !== 'lost' && state !== 'repaired') return 'neither lost nor had after all'
  if (incarnation === null) return 'of no room'
  if (from >= to) return 'ends before it begins'
  // One of which no event is stored is told apart from others of its name by nothing.
  const lives = room ? [room] : rooms.filter(one => one.app === app && one.roomUuid === series)
  if (lives.length === 0) return 'of no room'
  if (Number(from) < Math.min(...lives.map(({ openedAt }) => openedAt)) - beside)
    return 'begins before there was a room'
  if (state === 'repaired') return undefined
  if (!lives.some(({ destroyedAt = Number.POSITIVE_INFINITY }) => destroyedAt < seen + beside))
    return 'lost, and the provider knew the room'
  return undefined
}

/** What cannot be read is set aside, which is told otherwise; files of recordings come when they want. */
function wellFormed(room: TrueRoom): TrueRoom {
  return {
    ...room,
    items: room.items.filter(({ malformed }) => !malformed),
    recordings: room.recordings.map(one => ({ ...one, url: one.url ?? '' })),
  }
}

/** When the provider answered about a stream of a room where it is, ms since the epoch. */
export function readings({
  sandbox,
}: Examination): (
  room: Pick<TrueRoom, 'app' | 'roomUuid' | 'region'>,
  stream: RoomStream,
) => readonly number[] {
  const served = askedOfRooms(
    { sandbox },
    ({ status, fault }) => status === 200 && (!fault || fault === 'latency'),
  )
  return ({ app, roomUuid, region }, stream) =>
    served(app, operationOf[stream]!, roomUuid)
      .filter(({ target }) => region === undefined || target.split('/')[1] === region)
      .map(({ time }) => time)
}

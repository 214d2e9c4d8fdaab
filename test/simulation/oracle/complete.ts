import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'
import { deniedRecordings } from './logs-read.ts'
import { isToldTooLate } from './margins.ts'
import { keyOf, type StoredSchema } from './rows.ts'
import { wasOff } from './switched-off.ts'

/** Until an answer is stored, ms: what happened while it was on its way is not in it. */
const onItsWay = 60_000
const longestStall = 5 * 60_000

interface Told {
  readonly app: string
  readonly room: string
  readonly incarnation: number
  readonly stream: string
  readonly complete: boolean
  readonly reason: string | null
  readonly caughtUp: number | null
}

export const roomStreams = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources'] as const
export type RoomStream = (typeof roomStreams)[number]

export function isRoomStream(name: string): name is RoomStream {
  return (roomStreams as readonly string[]).includes(name)
}

/**
 * What is said to be complete is whole, up to when it was read last; and in the end what is whole is said to be, of each
 * room that is over and still served.
 */
export async function examineComplete(
  examination: Examination,
  rooms: readonly TrueRoom[],
  stored: StoredSchema,
  {
    isExcused,
    isOld,
  }: {
    readonly isExcused: (room: TrueRoom, event: TrueRoom['events'][number]) => boolean
    readonly isOld: (room: TrueRoom) => boolean
  },
): Promise<readonly Finding[]> {
  const { rows, isEnd, isInterrupted, healed } = examination
  const told = await rows<Told>(
    `select app_id as app, room_uuid as room, incarnation, stream, complete, reason,
            round(extract(epoch from caught_up_at) * 1000)::float8 as "caughtUp"
     from ingest.room_complete`,
  )
  const kept = keysOf(stored)
  const numbered = examination.sandbox.settings.switches.widgetItemSequence === 'present'
  const signs = new Map(
    stored.get('room')!.rows.map(row => {
      const sign = row.ended_at ?? row.last_event_at
      return [`${row.app_id} ${row.room_uuid} ${row.incarnation}`, Number(sign ?? 0)]
    }),
  )
  const byPlace = new Map(told.map(row => [`${row.app} ${row.room} ${row.incarnation} ${row.stream}`, row]))
  const late = isInterrupted ? longestStall : onItsWay
  const isDenied = deniedRecordings(examination)
  const findings: Finding[] = []
  const latest = new Map(
    rooms.filter(one => one.stored !== undefined).map(room => [`${room.app} ${room.roomUuid}`, room]),
  )
  for (const room of latest.values()) {
    const place = `${room.app} ${room.roomUuid} ${room.stored}`
    for (const stream of roomStreams) {
      if (!(examination.streams?.includes(stream) ?? true)) continue
      const row = byPlace.get(`${place} ${stream}`)
      byPlace.delete(`${place} ${stream}`)
      if (wasOff(examination, { app: room.app, stream }, room.openedAt, room.destroyedAt ?? examination.end))
        continue
      if (stream === 'recordings' && isDenied(room)) continue
      if (!row) {
        findings.push({ kind: 'complete', text: `${place} ${stream}: nobody says whether it is` })
        continue
      }
      const read = row.caughtUp ?? 0
      const until = read > healed + onItsWay ? Math.max(healed, read - late) : read - late
      // What a log tells after a hole was taken to be natural is found when it is read for the last time.
      const isToCome = isOld(room) ? undefined : isToldTooLate
      const missing = missingOf(room, stream, { place, kept, until, numbered, isExcused, isToCome })
      if (row.complete && missing)
        findings.push({ kind: 'complete', text: `${place} ${stream}: said to be, and lacks ${missing}` })
      const sign = signs.get(place) ?? 0
      if (row.complete && read < sign)
        findings.push({
          kind: 'complete',
          text: `${place} ${stream}: said to be, and was not read since ${sign}`,
        })
      const isOver = room.isServed && room.state === 3 && (room.events.at(-1)?.at ?? 0) < healed
      const isWhole = !missingOf(room, stream, { place, kept, until: healed, numbered, isExcused })
      const isOpen = row.reason === 'gap' && isOld(room)
      if (isEnd && isOver && isWhole && !row.complete && !isOpen)
        findings.push({
          kind: 'complete',
          text: `${place} ${stream}: whole, and not said to be: ${row.reason}`,
        })
    }
  }
  for (const [key, { complete }] of byPlace) {
    const [app, room, incarnation] = key.split(' ')
    const isKnown = stored
      .get('room')!
      .rows.some(
        row => row.app_id === app && row.room_uuid === room && String(row.incarnation) === incarnation,
      )
    const isOff = examination.streams !== undefined
    if (complete && !isOff && !isKnown) findings.push({ kind: 'complete', text: `${key}: of no room` })
  }
  return findings
}

/** Keys of what is stored, by table. */
export function keysOf(stored: StoredSchema): ReadonlyMap<string, ReadonlySet<string>> {
  const names = ['room_event', 'widget_event', 'recording', 'resource']
  return new Map(
    names.map(name => {
      const { key, rows } = stored.get(name)!
      return [name, new Set(rows.map(row => keyOf(key, row)))]
    }),
  )
}

interface Held {
  readonly place: string
  readonly kept: ReadonlyMap<string, ReadonlySet<string>>
  readonly until: number
  readonly numbered: boolean
  readonly isExcused: (room: TrueRoom, event: TrueRoom['events'][number]) => boolean
  readonly isToCome?: ((event: TrueRoom['events'][number]) => boolean) | undefined
}

/** What of the stream had happened by then and is not stored, in a word; undefined where it is whole. */
export function missingOf(
  room: TrueRoom,
  stream: RoomStream,
  { place, kept, until, numbered, isExcused, isToCome }: Held,
): string | undefined {
  const has = (table: string, key: string | number | bigint) => kept.get(table)!.has(`${place} ${key}`)
  switch (stream) {
    case 'room-events': {
      const lacking = room.events.find(
        event =>
          event.at <= until &&
          !has('room_event', event.sequence) &&
          !isToCome?.(event) &&
          (room.isServed || !isExcused(room, event)),
      )
      const letter = room.events.find(({ at, malformed }) => malformed && at <= until)
      return lacking || letter ? `event ${(lacking ?? letter)!.sequence}` : undefined
    }
    case 'popup-quiz':
    case 'poll': {
      const widget = stream === 'poll' ? 'poll' : 'popupQuiz'
      const lacking = room.items.find(
        one =>
          one.widget === widget &&
          one.at <= until &&
          (one.malformed || !has('widget_event', `${widget} ${one.position - (numbered ? 0 : 1)}`)),
      )
      return lacking && `item ${lacking.position}`
    }
    case 'recordings': {
      const lacking = room.recordings.find(
        ({ recordId, startTime, url }) => startTime <= until && (url === null || !has('recording', recordId)),
      )
      return lacking && `recording ${lacking.recordId}`
    }
    case 'resources': {
      const lacking = room.resources.find(
        ({ resourceUuid, updateTime }) => updateTime <= until && !has('resource', resourceUuid),
      )
      return lacking && `resource ${lacking.resourceUuid}`
    }
  }
}

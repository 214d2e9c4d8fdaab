import { isSame, storableOnce } from './canonical.ts'
import type { TrueEvent, TrueRoom } from './classroom-truth.ts'
import { believed, fieldsOf, ownTime, rowsOfEvent } from './event-rows.ts'
import type { Finding, Moments } from './examination.ts'
import type { OurClocks } from './our-clocks.ts'
import { compareTable, type ExpectedRow, type Row, Rule, type StoredSchema } from './rows.ts'

/** Tables that are made of events, with what makes each row unique. */
const derived = [
  'room_state_change',
  'chat_message',
  'attendance',
  'recording_state_change',
  'reward',
  'resource_change',
  'stage_change',
  'hand_wave',
] as const

export interface EventContext {
  readonly stored: StoredSchema
  /** Moments at which an answer that tells of the room's events was given. */
  readonly answered: (room: TrueRoom) => Moments
  /** The provider could not be asked for it any more, and the ledger says so; or it is too young. */
  readonly isExcused: (room: TrueRoom, event: TrueEvent) => boolean
  /** Its log had been read to its end before it happened: it was seen live. */
  readonly isLive: (room: TrueRoom, event: TrueEvent) => boolean
  /** Whether the log of its room told it at that moment, and not the feed, and had it when it was answered first. */
  readonly isOldToLog: (room: TrueRoom, event: TrueEvent, at: number) => boolean
  /** The log of its room was served since it holds the event. */
  readonly isLogged: (room: TrueRoom, event: TrueEvent) => boolean
  /** Its log told it in its first words, and that was stored. */
  readonly isToldFirst: (room: TrueRoom, event: TrueEvent) => boolean
  readonly isEnd: boolean
  /** Whether one feed alone is asked about an app: what it tells at one moment is one answer then. */
  readonly hasOneFeed: (app: string) => boolean
  /** Logs of rooms are read: in the end they have confirmed what the feed told. */
  readonly areLogsRead: boolean
  readonly clocks: OurClocks
  readonly end: number
}

/** Each event once, as it was told; and of each event that is stored the rows that its data make. */
export function examineEvents(rooms: readonly TrueRoom[], context: EventContext): readonly Finding[] {
  const { stored, isEnd, isExcused } = context
  const events = stored.get('room_event')!
  const rowsByKey = new Map(events.rows.map(row => [placeOf(row), row]))
  const expected = new Map<string, ExpectedRow>()
  const made = new Map<string, Map<string, ExpectedRow>>(derived.map(table => [table, new Map()]))
  const skipped: Finding[] = []
  for (const room of rooms) {
    const key = `${room.app} ${room.roomUuid} ${room.stored}`
    const told = [...room.events].sort((a, b) => (a.sequence < b.sequence ? -1 : 1))
    const lastOfLog = lastLogged(rowsByKey, key, told)
    const times = told.map(believed)
    const stored = told.map(({ sequence }) => rowsByKey.get(`${key} ${sequence}`))
    const beside = context.hasOneFeed(room.app) ? cameTogether(stored, times) : () => undefined
    let neighbour: number | undefined
    let lastStart: unknown
    for (const [place, event] of told.entries()) {
      const { cmd, data } = event
      const { state, recordId } = fieldsOf(data)
      if (cmd === 1001 && state === 1) lastStart = recordId
      const row = rowsByKey.get(`${key} ${event.sequence}`)
      const isKept = !(event.malformed && typeof fieldsOf(data).message === 'string')
      const isDue = isKept && isEnd && !isExcused(room, event)
      if (isKept)
        expected.set(`${key} ${event.sequence}`, {
          cells: cellsOf(
            room,
            event,
            { before: neighbour, behind: times.slice(place + 1), together: beside(place) },
            context,
          ),
          isDue,
        })
      // What the log held back is due in the end, like all else.
      if (isKept && !row && place < lastOfLog && event.loggedFrom === undefined) {
        skipped.push({
          kind: 'lost',
          text: `room_event ${key} ${event.sequence}: the log was read beyond it`,
        })
      }
      if (row) {
        const start = row.source === 'feed' ? orLater(lastStart) : lastStart
        for (const { table, ordinal, cells } of rowsOfEvent({ ...event, data: wordsOf(event, row) }, start)) {
          const suffix = ordinal === undefined ? '' : ` ${ordinal}`
          made.get(table)!.set(`${key} ${event.sequence}${suffix}`, {
            cells: { ...cells, at: row.at },
            isDue: true,
          })
        }
      }
      const time = believed(event)
      if (time !== undefined) neighbour = Math.max(neighbour ?? 0, time)
    }
  }
  return [
    ...compareTable(events, expected),
    ...derived.flatMap(table => compareTable(stored.get(table)!, made.get(table)!)),
    ...skipped,
  ]
}

/** The key of an event, in the order of its table's. */
function placeOf({ app_id, room_uuid, incarnation, sequence }: Row): string {
  return `${app_id} ${room_uuid} ${incarnation} ${sequence}`
}

/** What the event said that is stored: the log may have told it in other words from a moment on. */
function wordsOf({ data, retold }: TrueEvent, { data: stored }: Row): object {
  return retold && isSame(stored, storableOnce(retold.data)) ? retold.data : data
}

/** Its first words, or those of later where nobody heard the log before. */
function dataOf(room: TrueRoom, event: TrueEvent, { isToldFirst }: EventContext): unknown {
  const { data, retold } = event
  const first = storableOnce(data)
  if (!retold || isToldFirst(room, event)) return first
  return new Rule('as it was told first', (value, { source }) => {
    return isSame(value, first) || (source === 'log' && isSame(value, storableOnce(retold.data)))
  })
}

/** A log is read from its beginning, page by page: place of the last event that it has confirmed. */
function lastLogged(
  rows: ReadonlyMap<string, Row>,
  key: string,
  events: readonly Pick<TrueEvent, 'sequence'>[],
): number {
  return events.findLastIndex(({ sequence }) => rows.get(`${key} ${sequence}`)?.source === 'log')
}

/** A stop that only the feed has told so far names no recording; the log will say which it was. */
function orLater(recordId: unknown): Rule {
  return new Rule(`null or ${recordId}`, value => value === null || value === recordId)
}

/**
 * Times that other events of the room have in themselves: the latest of those before it, those of all behind it, and the earliest
 * of those behind it that one answer told with it.
 */
interface Beside {
  readonly before: number | undefined
  readonly behind: readonly (number | undefined)[]
  readonly together: number | undefined
}

/** What was first told at one moment, one answer told: of each event the earliest time of those behind it in there. */
function cameTogether(
  rows: readonly (Row | undefined)[],
  times: readonly (number | undefined)[],
): (place: number) => number | undefined {
  const answers = Map.groupBy(rows.keys(), place => rows[place]?.received_at)
  return place => {
    const row = rows[place]
    const behind = row ? answers.get(row.received_at)!.filter(other => other > place) : []
    const own = behind.flatMap(other => times[other] ?? [])
    return own.length > 0 ? Math.min(...own) : undefined
  }
}

function cellsOf(
  room: TrueRoom,
  event: TrueEvent,
  { before: neighbour, behind, together }: Beside,
  context: EventContext,
): Row {
  const { answered, isLive, isOldToLog, isLogged, isEnd, areLogsRead, isExcused, clocks, end } = context
  const own = believed(event)
  const times = answered(room)
  const mayBeOld = own === undefined && !isLive(room, event)
  const isAnswer = (at: unknown) => typeof at === 'number' && at >= event.at && times.has(at)
  const isNext = (at: unknown) =>
    typeof at === 'number' && at >= event.at && behind.includes(at) && at <= (together ?? at)
  // What the feed alone has told has the time of what it told behind it, unless that is before what stands in front of both.
  const isInOrder = behind.every(time => time === undefined || time >= (neighbour ?? 0))
  const isLate = (at: unknown, source: unknown) =>
    source === 'feed' && isInOrder && together !== undefined && together < Number(at)
  // What stood in a log from its first reading on has the time of what stands before it, also where that is on another page.
  const isOldNews = (at: unknown) => neighbour !== undefined && isOldToLog(room, event, Number(at))
  const at =
    own !== undefined
      ? { at: own, at_source: 'event' }
      : {
          at: new Rule(
            mayBeOld
              ? `the last time before it, ${neighbour}, the next behind it, or when it was told`
              : 'the next behind it, or when it was told',
            (value, { at_source, source }) =>
              (mayBeOld && at_source === 'neighbour' && value === (neighbour ?? null)) ||
              (at_source === 'next' && isNext(value)) ||
              (at_source === 'provider' && isAnswer(value) && !isLate(value, source) && !isOldNews(value)),
          ),
          at_source: new Rule(
            mayBeOld ? 'neighbour, next or provider' : 'next or provider',
            value => (mayBeOld && value === 'neighbour') || value === 'next' || value === 'provider',
          ),
        }
  return {
    ...at,
    cmd: event.cmd,
    version: event.version ?? 1,
    data: dataOf(room, event, context),
    extra: null,
    event_time: ownTime(event),
    received_at: clocks.between(event.at, end),
    source: new Rule(room.muted ? 'feed' : 'log, when its log has told it', value => {
      if (room.muted) return value === 'feed'
      if (value === 'log' && !isLogged(room, event)) return false
      const isConfirmed = isEnd && areLogsRead && room.isServed && !isExcused(room, event)
      return value === 'log' || (value === 'feed' && !isConfirmed)
    }),
  }
}

import { canonical, storable, storableOnce } from './canonical.ts'
import { examineClassPlayers } from './class-players.ts'
import { examineClasses } from './classes.ts'
import { examineClassesWhole } from './classes-whole.ts'
import { examineEvents } from './classroom-events.ts'
import { examineRoomGaps } from './classroom-gaps.ts'
import { examineLists } from './classroom-lists.ts'
import { examineRooms } from './classroom-rooms.ts'
import { readRooms, type TrueEvent, type TrueRoom } from './classroom-truth.ts'
import { examineWidgets } from './classroom-widgets.ts'
import { examineComplete } from './complete.ts'
import { operationOf } from './contract.ts'
import { examineConversions } from './conversions.ts'
import { believed } from './event-rows.ts'
import type { Examination, Finding, Moments } from './examination.ts'
import { examineFeedGaps } from './feed-gaps.ts'
import { examineFollowed } from './followed.ts'
import { readGaps, type StoredGap, type Waiting } from './gaps.ts'
import { examineLetters } from './letters.ts'
import { deniedRecordings, liveEvents, loggedEvents, oldToLogs, unfiledLists } from './logs-read.ts'
import { isToldTooLate } from './margins.ts'
import { examineNeglected } from './neglected.ts'
import { ourClocks } from './our-clocks.ts'
import { examineOutcomes } from './outcomes.ts'
import { examinePeople } from './people.ts'
import { examineRetold, toldFirst } from './retold.ts'
import { examineRoomLosses, readings } from './room-losses.ts'
import { readSchema } from './rows.ts'
import { examineStays } from './stays.ts'
import { wasOff } from './switched-off.ts'
import { examineUnkept } from './unkept.ts'

/**
 * Compares every cell of the schema classroom with the world. Which events, items and entries must be there, the provider
 * says who served them, and the gap ledger; what they make of other tables follows from those that are.
 */
export async function examineClassroom(examination: Examination): Promise<readonly Finding[]> {
  const { sandbox, isEnd, end, apps } = examination
  const stored = await readSchema(examination, 'classroom')
  const players = await readSchema(examination, 'players')
  const rooms = readRooms(sandbox, stored, examination.isDiscreet)
  const { gaps, waiting } = await readGaps(examination)
  const waits = new Set(waiting.map(one => `${one.app} ${one.room} ${one.sequence} ${one.content}`))
  const lag = sandbox.universe.isPaused ? 0 : longestUnread
  const filing = sandbox.universe.isPaused ? 0 : longestFiling
  const isDenied = deniedRecordings(examination)
  const isOn = (stream: string) => examination.streams?.includes(stream) ?? true
  const told = answers(examination)
  const clocks = ourClocks(examination)
  const toldEvents = (room: TrueRoom) =>
    told(`${room.app} appEvents`, `${room.app} roomEvents ${room.roomUuid}`)
  const complete = await readComplete(examination)
  const isFed = fedEvents(examination)
  const memory = sandbox.settings.switches.roomMemorySeconds * 1_000
  const isOld = ({ endedAt }: TrueRoom, at = end) =>
    endedAt !== undefined && at - endedAt > shareRemembered * memory
  const isExcused = (room: TrueRoom, event: TrueEvent) => {
    // It may be found when the log is read for the last time.
    if (isToldTooLate(event) && !isOld(room)) return true
    if (isOn('room-events') && room.isServed) return event.at > end - lag
    const isComplete = complete.has(`${room.app} ${room.roomUuid} ${room.stored}`)
    if (room.muted && (isComplete || !isFed(room, event))) return !isComplete
    const content = () => `${event.cmd} ${canonical(storableOnce(event.data))}`
    const isWaiting =
      waits.size > 0 && waits.has(`${room.app} ${room.roomUuid} ${event.sequence} ${content()}`)
    if (isWaiting && (room.muted || !isOn('room-events'))) return true
    // Without a time, what another room of that name tells in the same words at the same place cannot be told from it.
    const isNobodys =
      isWaiting || (room.stored === undefined && believed(event) === undefined && isToldAlike(room, event))
    return gaps.some(gap => covers(gap, room, event, isNobodys))
  }
  const isToldAlike = ({ app, roomUuid }: TrueRoom, { sequence, cmd, data }: TrueEvent) => {
    const words = `${cmd} ${canonical(storableOnce(data))}`
    return stored
      .get('room_event')!
      .rows.some(
        row =>
          row.app_id === app &&
          row.room_uuid === roomUuid &&
          `${row.sequence}` === `${sequence}` &&
          `${row.cmd} ${canonical(row.data)}` === words,
      )
  }
  const isRead = (room: TrueRoom, stream: string, at: number) =>
    isEnd &&
    isOn(stream) &&
    !wasOff(examination, { app: room.app, stream }, room.openedAt, room.destroyedAt ?? end) &&
    !room.muted &&
    at <= end - lag &&
    (room.isServed || !(examination.isInterrupted || wasCutOff(examination, room, operationOf[stream])))
  const reading = readings(examination)
  /** Whose room it is, its log said when all files were there: until it does, nothing else is asked of a room that may be gone. */
  const isKnown = ({ events, destroyedAt = end, ...room }: TrueRoom) => {
    const filed = (events.at(-1)?.at ?? 0) + shareUntilFiled * memory
    return reading(room, 'room-events').some(time => time > filed && time < destroyedAt)
  }
  return [
    ...examineEvents(rooms, {
      ...{ stored, isExcused, isEnd, clocks, end },
      hasOneFeed: app => apps.every(({ id, regions }) => id !== app || regions.length === 1),
      areLogsRead: isOn('room-events'),
      answered: toldEvents,
      isLive: liveEvents(examination),
      isOldToLog: oldToLogs(examination),
      isLogged: loggedEvents(examination),
      isToldFirst: toldFirst(examination),
    }),
    ...examineRooms(rooms, {
      ...{ stored, clocks, end, sandbox, answered: toldEvents },
      regions: app => apps.find(({ id }) => id === app)?.regions ?? [],
    }),
    ...examineWidgets(rooms, {
      ...{ stored, clocks, end },
      areNumbered: sandbox.settings.switches.widgetItemSequence === 'present',
      submitter: sandbox.settings.switches.submitter,
      answered: (room, widget) => told(`${room.app} ${widget} ${room.roomUuid}`),
      isDue: (room, { widget, at }) => isRead(room, streamOf[widget], at),
    }),
    ...examineLists(rooms, {
      stored,
      areFilesEarly: sandbox.settings.quirks.earlyFiles > 0,
      answered: room => told(`${room.app} resources ${room.roomUuid}`),
      emptied: room => told(`${room.app} recordings ${room.roomUuid} empty`),
      unfiled: unfiledLists(examination),
      isCurrent: (room, stream) => {
        const told = Math.max(room.events.at(-1)?.at ?? 0, room.steps.at(-1)?.updateTime ?? 0)
        const at = told + (stream === 'recordings' ? filing : 0)
        return (
          isRead(room, stream, at) &&
          (stream === 'recordings' ? !isDenied(room) && (room.isServed || isKnown(room)) : room.isServed)
        )
      },
    }),
    ...examineRoomGaps(rooms, {
      ...{ stored, gaps, waiting },
      isEnd: isEnd && isOn('room-events'),
      areDense: sandbox.settings.switches.sequenceScope === 'room',
      until: end - lag,
      isOld,
      wasCutOff: room => wasCutOff(examination, room),
    }),
    ...(await examineStays(examination, stored)),
    ...(await examineOutcomes(examination, stored)),
    ...(await examinePeople(examination, stored)),
    ...(await examineClasses(examination, rooms, stored)),
    ...(await examineClassPlayers(examination, rooms, stored, players.get('cloud_player')!)),
    ...(await examineFeedGaps(examination, rooms, gaps)),
    ...(await examineFollowed(examination, rooms)),
    ...examineNeglected(examination, rooms),
    ...examineConversions(examination, rooms),
    ...(await examineRetold(examination, rooms, stored)),
    ...(await examineLetters(examination, rooms, isRead)),
    ...(await examineUnkept(examination)),
    ...examineRoomLosses(rooms, examination, { stored, gaps }),
    ...(await examineComplete(examination, rooms, stored, { isExcused, isOld })),
    ...(await examineClassesWhole(examination, rooms, stored)),
    ...owedEvents(rooms, waiting, isEnd && isOn('room-events') ? end - lag : undefined),
  ]
}

/** Whether the feed or the log of its app, or that operation, answered nothing for half the time for which the provider knows a room that ended. */
function wasCutOff(
  { faults, sandbox, start }: Examination,
  { app, openedAt, destroyedAt = Number.POSITIVE_INFINITY }: TrueRoom,
  operation?: string,
): boolean {
  const longest = sandbox.settings.switches.roomMemorySeconds * 500
  return faults.some(({ from, to, rules: [rule] }) => {
    const struck = rule?.operation
    const isOfLogs = struck === 'roomEvents' || struck === 'appEvents'
    const isOfIt = operation !== undefined && struck === operation
    const isMeanwhile = openedAt < start + to && start + from < destroyedAt
    return (isOfLogs || isOfIt) && (rule?.app ?? app) === app && to - from > longest && isMeanwhile
  })
}

const streamOf = { popupQuiz: 'popup-quiz', poll: 'poll' } as const

/** Where the world goes on to the end, what happened so late need not have been read, ms: an idle room waits five minutes. */
const longestUnread = 6 * 60_000
/** Of the time for which the provider knows a room that ended: for so much of it at least it is asked about. */
const shareRemembered = 0.7
/** Files of a recording come without an event, by then at the latest; */
const shareUntilFiled = 0.75
/** of most after this at most, ms. */
const longestFiling = 10 * 60_000

function covers(gap: StoredGap, room: TrueRoom, event: TrueEvent, isNobodys: boolean): boolean {
  if (gap.app !== room.app || (gap.state !== 'open' && gap.state !== 'lost')) return false
  if (gap.unit === 'time') return gap.stream === 'app-events' && gap.from <= event.at && event.at <= gap.to
  const incarnation = isNobodys && gap.incarnation === null ? null : room.stored
  return (
    gap.stream === 'room-events' &&
    gap.series === room.roomUuid &&
    gap.incarnation === incarnation &&
    gap.from <= event.sequence &&
    event.sequence <= gap.to
  )
}

/** What waits for the log of a room that is served would have been had. */
function owedEvents(
  rooms: readonly TrueRoom[],
  waiting: readonly Waiting[],
  until: number | undefined,
): readonly Finding[] {
  if (until === undefined || waiting.length === 0) return []
  const served = new Set(rooms.filter(one => one.isServed).map(one => `${one.app} ${one.roomUuid}`))
  const content = new Set(
    rooms.flatMap(({ app, roomUuid, isServed, events }) =>
      isServed
        ? events.flatMap(({ sequence, cmd, data, at }) =>
            at > until ? [] : [`${app} ${roomUuid} ${sequence} ${cmd} ${canonical(storable(data))}`],
          )
        : [],
    ),
  )
  return waiting
    .filter(one => served.has(`${one.app} ${one.room}`))
    .filter(one => content.has(`${one.app} ${one.room} ${one.sequence} ${one.content}`))
    .map(one => ({ kind: 'owed', text: `${one.app} ${one.room} ${one.sequence} waits for its log` }))
}

/** Moments at which the provider answered, by what was asked of it. */
function answers({ sandbox }: Examination): (...about: readonly string[]) => Moments {
  const times = new Map<string, Set<number>>()
  for (const { app, operation, target, time, fault } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    const room = /\/rooms\/([^/]+)\//.exec(target)?.[1]
    const subject = [app, operation, ...(room && operation !== 'appEvents' ? [decodeURIComponent(room)] : [])]
    const key = subject.join(' ')
    for (const each of fault === 'empty' ? [key, `${key} empty`] : [key])
      times.set(each, (times.get(each) ?? new Set()).add(time))
  }
  return (...about) => {
    const own = about.flatMap(key => times.get(key) ?? [])
    return { has: time => own.some(one => one.has(time)) }
  }
}

/**
 * Whether the feed handed an event out: one that tells each once, or some again, was told to the end long after, and what
 * became of the answers between then and the event the gap ledger says.
 */
function fedEvents({ sandbox, isCalm, isEnd }: Examination): (room: TrueRoom, event: TrueEvent) => boolean {
  if (!isCalm || !isEnd || sandbox.settings.switches.appFeed === 'sliding-window') return () => false
  const last = new Map<string, number>()
  for (const { app, operation, target, time, status, fault } of sandbox.arrivals.list(
    0,
    sandbox.arrivals.count,
  )) {
    if (operation !== 'appEvents' || status !== 200 || (fault && fault !== 'latency')) continue
    last.set(`${app} ${target.split('/')[1]}`, time)
    last.set(`${app} undefined`, time)
  }
  return ({ app, region }, { at }) => at + longestTelling < (last.get(`${app} ${region}`) ?? 0)
}

/** A feed of one event an answer is told to its end by then, ms. */
const longestTelling = 3 * 60_000

/** Logs that are said to be whole, by app, room and incarnation. */
async function readComplete({ rows }: Examination): Promise<ReadonlySet<string>> {
  const complete = await rows<{ readonly key: string }>(
    `select app_id || ' ' || room_uuid || ' ' || incarnation as key from ingest.room_complete
     where stream = 'room-events' and complete`,
  )
  return new Set(complete.map(({ key }) => key))
}

import type { TrueEvent, TrueRoom } from './classroom-truth.ts'
import type { Examination } from './examination.ts'

/** A log of so many events is known again, and one page holds as many as a class of a run has. */
const enoughToKnow = 12
const wholeLogs = 1_000
/** No answer holds more of a log, whatever is asked. */
const onePage = 100
/** Until an answer is stored, ms. */
export const onItsWay = 10_000

/**
 * When the log of a room was read to its end, where each answer was stored and one page holds it whole; undefined where
 * nobody knows.
 */
export function logsRead({
  sandbox,
  isCalm,
}: Examination): ((room: TrueRoom) => readonly number[]) | undefined {
  const { listShape, logEnd, batchItems } = sandbox.settings.switches
  // A page that names another one is not known to be the last.
  if (!isCalm || listShape === 'item' || logEnd === 'same' || batchItems < wholeLogs) return undefined
  const read = new Map<string, number[]>()
  for (const { app, operation, target, time, status, fault } of sandbox.arrivals.list(
    0,
    sandbox.arrivals.count,
  )) {
    const room =
      operation === 'roomEvents' && status === 200 && !fault && /\/rooms\/([^/]+)\//.exec(target)?.[1]
    if (!room) continue
    const key = `${app} ${decodeURIComponent(room)}`
    const times = read.get(key) ?? []
    read.set(key, times)
    times.push(time)
  }
  return ({ app, roomUuid, events }) =>
    events.length > onePage ? [] : (read.get(`${app} ${roomUuid}`) ?? [])
}

/** Whether the log of a room had been read to its end before an event happened. */
export function liveEvents(examination: Examination): (room: TrueRoom, event: TrueEvent) => boolean {
  const readAt = logsRead(examination)
  if (!readAt) return () => false
  const knownAt = new Map<TrueRoom, number | undefined>()
  return (room, { at }) => {
    // A log of which something came late is read again from its beginning: what is new then may be as old as the rest.
    if (room.events.some(({ loggedFrom }) => loggedFrom !== undefined)) return false
    if (!knownAt.has(room))
      knownAt.set(room, room.events.map(event => event.at).sort((a, b) => a - b)[enoughToKnow - 1])
    const known = knownAt.get(room)
    return known !== undefined && readAt(room).some(time => known < time && time + onItsWay < at)
  }
}

/**
 * Whether the log of a room told an event at a moment, and not the feed, and had it when it was answered first: it was read from its
 * beginning then. Of a log that was answered amiss nobody knows what was read of it first.
 */
export function oldToLogs({
  sandbox,
}: Examination): (room: TrueRoom, event: TrueEvent, at: number) => boolean {
  const answers = sandbox.arrivals.list(0, sandbox.arrivals.count).filter(({ status }) => status === 200)
  const fed = Map.groupBy(
    answers.filter(({ operation }) => operation === 'appEvents'),
    ({ app }) => app,
  )
  const fedAt = new Map([...fed].map(([app, own]) => [app, new Set(own.map(({ time }) => time))]))
  const logs = Map.groupBy(
    answers.filter(({ operation }) => operation === 'roomEvents'),
    ({ app, target }) => `${app} ${decodeURIComponent(/\/rooms\/([^/]+)\//.exec(target)?.[1] ?? '')}`,
  )
  return ({ app, roomUuid, openedAt }, { at: happened, loggedFrom, retold }, at) => {
    const own = (logs.get(`${app} ${roomUuid}`) ?? []).filter(({ time }) => time >= openedAt)
    const [first] = own
    if (first === undefined || loggedFrom !== undefined || retold || fedAt.get(app)?.has(at)) return false
    const isAmiss = own.some(({ time, fault }) => time <= at && fault !== undefined && fault !== 'latency')
    return !isAmiss && happened < first.time && own.some(({ time }) => time === at)
  }
}

/** Whether the log of a room was served after it had got an event: some are told by the feed before. */
export function loggedEvents({ sandbox }: Examination): (room: TrueRoom, event: TrueEvent) => boolean {
  const last = new Map<string, number>()
  for (const { app, operation, target, time, status } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    const room = operation === 'roomEvents' && status === 200 && /\/rooms\/([^/]+)\//.exec(target)?.[1]
    if (room) last.set(`${app} ${decodeURIComponent(room)}`, time)
  }
  return ({ app, roomUuid }, { at, loggedFrom = at }) => (last.get(`${app} ${roomUuid}`) ?? 0) >= loggedFrom
}

/** Whether the provider, when it was asked last, told of no recording of a room, whatever there was: nobody can know better. */
export function deniedRecordings({ sandbox }: Examination): (room: TrueRoom) => boolean {
  const told = new Map<string, { readonly time: number; readonly isEmpty: boolean }[]>()
  for (const { app, operation, target, time, status, fault } of sandbox.arrivals.list(
    0,
    sandbox.arrivals.count,
  )) {
    const room = operation === 'recordings' && status === 200 && /\/rooms\/([^/]+)\//.exec(target)?.[1]
    if (!room || (fault !== undefined && fault !== 'empty' && fault !== 'latency')) continue
    const key = `${app} ${decodeURIComponent(room)}`
    const own = told.get(key) ?? []
    told.set(key, own)
    own.push({ time, isEmpty: fault === 'empty' })
  }
  return ({ app, roomUuid, openedAt, destroyedAt = Number.POSITIVE_INFINITY }) =>
    told.get(`${app} ${roomUuid}`)?.findLast(({ time }) => openedAt <= time && time <= destroyedAt)
      ?.isEmpty ?? false
}

/** When the recordings of a room were listed as if none had its first file. */
export function unfiledLists({ sandbox }: Examination): (room: TrueRoom) => readonly number[] {
  const lists = sandbox.arrivals.list(0, sandbox.arrivals.count).filter(({ fault }) => fault === 'unfiled')
  return ({ app, roomUuid }) =>
    lists.flatMap(one => {
      const room = /\/rooms\/([^/]+)\//.exec(one.target)?.[1] ?? ''
      return one.app === app && decodeURIComponent(room) === roomUuid ? [one.time] : []
    })
}

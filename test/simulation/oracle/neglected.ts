import { askedOfRooms } from './asked.ts'
import type { TrueRoom } from './classroom-truth.ts'
import { operationOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

const streams = ['room-events', 'popup-quiz', 'poll', 'recordings', 'resources'] as const

/** From the begin of a class until the feed, which is asked every minute, has told of it, ms. */
const untilTold = 65_000
/** What chance adds to an interval. */
const spread = 1.05
/** What waits its turn, and the network, take, ms. */
const onItsWay = 20_000

/**
 * Where nothing goes wrong whatever belongs to a room is asked for soon after its class begins, also when it is started once more,
 * then at the longest interval at least while it goes on, and at the shortest after a quiz or poll that was new. What its log
 * holds the feed tells.
 */
export function examineNeglected(examination: Examination, rooms: readonly TrueRoom[]): readonly Finding[] {
  const { roomsEvery, isCalm, isUnbroken, isPrompt, isEnd, end, switchedOff = [] } = examination
  // What belongs to a room waits for its log.
  const areLogsThere = examination.sandbox.settings.switches.missingLogs === 'none'
  const isWell = isCalm && isUnbroken && isPrompt && areLogsThere && switchedOff.length === 0
  if (!roomsEvery || !isWell || !isEnd) return []
  const asked = askedOfRooms(examination)
  return rooms.flatMap(room =>
    streams.flatMap((stream): readonly Finding[] => {
      if (room.muted || !(examination.streams?.includes(stream) ?? true)) return []
      const isLog = stream === 'room-events'
      const { active, idle } = roomsEvery[isLog ? 'events' : 'others']
      const told = room.items.filter(({ widget }) => widget === operationOf[stream]).map(({ at }) => at)
      const questions = asked(room.app, operationOf[stream]!, room.roomUuid)
      const late = lessonsOf(room, end).flatMap(([from, to]) => {
        const times = questions.map(({ time }) => time).filter(time => time > from && time < to)
        const looks = [from, ...times, to]
        return looks.slice(1).flatMap((next, n) => {
          const [before = from, time] = [looks[n - 1], looks[n]!]
          // What is read for the first time may be old.
          const isNews = n === 0 ? !isLog : n > 1 && told.some(at => at > before && at < time)
          const most = (isNews ? active : idle) * spread + (n === 0 ? untilTold : 0) + onItsWay
          return next - time > most ? [time] : []
        })
      })
      if (late.length === 0) return []
      const since = new Date(late[0]!).toISOString()
      return [
        {
          kind: 'owed',
          text: `${room.app} ${room.roomUuid}: nobody asks for its ${stream} from ${since} on`,
        },
      ]
    }),
  )
}

/** When its class went on, ms since the epoch. */
function lessonsOf(
  { events, destroyedAt }: TrueRoom,
  end: number,
): readonly (readonly [from: number, to: number])[] {
  const states = events.filter(({ cmd }) => cmd === 1)
  return states.flatMap(({ data, at }, n) => {
    if ((data as { readonly state?: unknown }).state !== 1) return []
    return [[at, states[n + 1]?.at ?? destroyedAt ?? end] as const]
  })
}

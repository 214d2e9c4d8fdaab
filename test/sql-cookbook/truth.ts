import type { Equipment } from '../../sandbox/src/analytics/equipment.ts'
import { isBadCall } from '../../sandbox/src/analytics/quality.ts'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { isMalformed } from '../../sandbox/src/quirks.ts'
import type { Room, WidgetEntry } from '../../sandbox/src/world.ts'
import { apps, end, outage, timeZones } from './world.ts'

const minute = 60_000

/** Somebody who was in a class from one moment to another, Unix ms. */
export interface Stay {
  readonly userUuid: string
  readonly isStudent: boolean
  readonly from: number
  /** Undefined of one who is still there. */
  to: number | undefined
}

/** What the school itself knows of a class. */
export interface TrueClass {
  readonly app: string
  readonly roomUuid: string
  readonly startedAt: number
  readonly endedAt: number
  readonly stays: readonly Stay[]
  readonly messages: number
  readonly hands: number
  readonly quizzes: readonly TrueQuiz[]
  readonly polls: readonly TruePoll[]
  readonly recordings: number
  /** Something that is of it came in no shape that can be read. */
  readonly isUnreadable: boolean
  readonly calls: readonly { readonly callId: string; readonly isBad: boolean }[]
  /** What was told of people, the stage and hands, in order. */
  readonly changes: readonly { readonly sequence: number; readonly cmd: number; readonly data: object }[]
}

export interface TrueQuiz {
  readonly id: string
  readonly asked: number
  /** The last answer of each student. */
  readonly answers: ReadonlyMap<string, boolean>
}

export interface TruePoll {
  readonly id: string
  readonly items: readonly string[]
  /** The last vote of each student, by options from 0. */
  readonly votes: ReadonlyMap<string, readonly number[]>
}

/**
 * The classes that must be in the tables whole: over for long enough at the end, and neither going on nor about to be
 * forgotten while nobody read.
 */
export function classesOf({ universe }: Sandbox): readonly TrueClass[] {
  return [...universe.apps].flatMap(({ id: app, rooms }) =>
    rooms.filter(isWhole).map(room => ({ app, ...describeClass(room) })),
  )
}

/** A class that was given under a name, whether or not anybody read anything of it. */
export interface GivenClass {
  readonly app: string
  readonly roomUuid: string
  readonly startedAt: number
  /** Undefined of one that goes on. */
  readonly endedAt: number | undefined
  readonly callIds: readonly string[]
}

export function givenClasses({ universe }: Sandbox): readonly GivenClass[] {
  return [...universe.apps].flatMap(({ id: app, rooms }) =>
    rooms.flatMap(room => {
      const { uuid: roomUuid, startedAt, endedAt } = room
      if (startedAt === undefined) return []
      const callIds = room.contents().calls.map(({ callId }) => callId)
      return [{ app, roomUuid, startedAt, endedAt, callIds }]
    }),
  )
}

function isWhole({ startedAt, endedAt }: Room): boolean {
  if (startedAt === undefined || endedAt === undefined || endedAt > end - 45 * minute) return false
  return endedAt < outage.from - 45 * minute || startedAt > outage.to
}

interface Data {
  readonly onlineUsers?: readonly {
    readonly userUuid: string
    readonly role: number
    readonly updateTime: number
  }[]
  readonly offlineUsers?: readonly { readonly userUuid: string; readonly updateTime: number }[]
  readonly addProgressUsers?: readonly unknown[]
}

function describeClass(room: Room): Omit<TrueClass, 'app'> {
  const { events, widgets, recordings, calls } = room.contents()
  const stays: Stay[] = []
  let [messages, hands] = [0, 0]
  for (const { cmd, data, oddity } of events) {
    const { onlineUsers = [], offlineUsers = [], addProgressUsers = [] } = data as Data
    const isReadable = oddity !== 'malformedRecord' && oddity !== 'malformedData'
    if (cmd === 3 && isReadable) messages += 1
    if (cmd === 1502) hands += addProgressUsers.length
    if (cmd !== 20) continue
    for (const { userUuid, role, updateTime } of onlineUsers) {
      stays.push({ userUuid, isStudent: role === 2, from: updateTime, to: undefined })
    }
    for (const { userUuid, updateTime } of offlineUsers) {
      const stay = stays.findLast(one => one.userUuid === userUuid)
      if (stay) stay.to ??= updateTime
    }
  }
  return {
    ...{ roomUuid: room.uuid, startedAt: room.startedAt!, endedAt: room.endedAt!, stays, messages, hands },
    quizzes: startsIn(widgets.popupQuiz).map(start => trueQuiz(start, widgets.popupQuiz)),
    polls: startsIn(widgets.poll).map(start => truePoll(start, widgets.poll)),
    recordings: recordings.length,
    isUnreadable:
      events.some(({ oddity }) => isMalformed(oddity)) ||
      [...widgets.popupQuiz, ...widgets.poll].some(({ malformed }) => malformed),
    calls: calls.map(({ callId }) => ({ callId, isBad: isBadCall(callId) })),
    changes: events
      .filter(({ cmd }) => [20, 1501, 1502].includes(cmd))
      .map(({ sequence, cmd, data }) => ({ sequence: Number(sequence), cmd, data })),
  }
}

function startsIn(log: readonly WidgetEntry[]): readonly WidgetEntry[] {
  return log.filter(({ step }) => step === 'start')
}

/** What nobody can read is nowhere, also not in a count. */
function submissionsTo(id: string, log: readonly WidgetEntry[]): readonly WidgetEntry[] {
  return log.filter(entry => entry.id === id && entry.step === 'submission' && !entry.malformed)
}

function trueQuiz({ id, extra }: WidgetEntry, log: readonly WidgetEntry[]): TrueQuiz {
  const { totalCount } = extra as { readonly totalCount: number }
  const answers = submissionsTo(id, log).map(({ author, beside }) => {
    return [author.userUuid, (beside as { readonly isCorrect: boolean }).isCorrect] as const
  })
  return { id, asked: totalCount, answers: new Map(answers) }
}

function truePoll({ id, extra }: WidgetEntry, log: readonly WidgetEntry[]): TruePoll {
  const { pollItems } = extra as { readonly pollItems: Readonly<Record<string, string>> }
  // The tally counts also what nobody can read, so it is taken from the students' own choices.
  const all = log.filter(entry => entry.id === id && entry.step === 'submission')
  const votes = all.map(({ author, extra: choice }) => {
    return [author.userUuid, (choice as { readonly selectIndex: readonly number[] }).selectIndex] as const
  })
  return { id, items: Object.values(pollItems), votes: new Map(votes) }
}

/** IDs of the players that play where nobody can be. */
export function orphansOf(sandbox: Sandbox): readonly string[] {
  return apps.flatMap(({ id: app }) =>
    sandbox
      .players(app)
      .filter(({ destroyedAt, changes, channelName }) => {
        const isPlaying = ['connecting', 'running'].includes(changes.at(-1)!.status)
        return destroyedAt === undefined && isPlaying && sandbox.room(app, channelName)?.state !== 1
      })
      .map(({ id }) => id),
  )
}

export interface DayOfUse {
  readonly calls: number
  readonly users: number
  readonly sessions: number
  readonly userMinutes: number
}

/** The day that people of a school write at a moment, as Node knows their time zone. */
export function dayAt(app: string, at: number): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: timeZones[app], dateStyle: 'short' }).format(at)
}

/** Of the calls that began on a day of the school, by app. Times are whole seconds, as they are served. */
export function useOf(sandbox: Sandbox, day: string): ReadonlyMap<string, DayOfUse> {
  return new Map(
    apps.map(({ id }) => {
      const calls = [...sandbox.analytics(id).calls()].filter(({ createdAt }) => dayAt(id, createdAt) === day)
      const sessions = calls.flatMap(call => call.sessions)
      const seconds = sessions.map(({ item }) => item.leave_ts - item.join_ts)
      return [
        id,
        {
          calls: calls.length,
          users: new Set(sessions.map(({ uid }) => uid)).size,
          sessions: sessions.length,
          userMinutes: seconds.reduce((sum, one) => sum + one, 0) / 60,
        },
      ] as const
    }),
  )
}

/** What the users of the sessions of a day sat at, by sid. */
export function equipmentOn(sandbox: Sandbox, app: string, day: string): ReadonlyMap<string, Equipment> {
  const sessions = [...sandbox.analytics(app).calls()].flatMap(call => call.sessions)
  const ofDay = sessions.filter(({ joinedAt }) => new Date(joinedAt).toISOString().startsWith(day))
  return new Map(ofDay.map(session => [session.sid, session] as const))
}

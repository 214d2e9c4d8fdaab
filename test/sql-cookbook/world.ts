import { composedCall } from '../../sandbox/src/analytics/load.ts'
import { isBadCall } from '../../sandbox/src/analytics/quality.ts'
import type { Classroom } from '../../sandbox/src/classroom.ts'
import { befalls, hashOf } from '../../sandbox/src/hash.ts'
import { type AppOptions, createSandbox, type Deliver, type Sandbox } from '../../sandbox/src/index.ts'
import { currentCall, enter, leave } from '../../sandbox/src/lesson/people.ts'
import type { AppWorld, Room } from '../../sandbox/src/world.ts'
import type { Clock } from '../../src/clock/clock.ts'

const second = 1_000
const minute = 60 * second

/** Monday, 5 January 2026, 16:40 UTC. */
export const start = Date.UTC(2026, 0, 5, 16, 40)
/** Wednesday, in the middle of lessons. */
export const end = Date.UTC(2026, 0, 7, 7, 10)
/** Nobody reads in the night between. */
export const outage = { from: Date.UTC(2026, 0, 5, 21, 30), to: Date.UTC(2026, 0, 6, 1, 30) } as const

/** A day school whose plan measures everything, and an evening school whose plan tells of calls alone. */
export const apps: readonly AppOptions[] = [
  {
    ...{ id: 'dayschool', uid: 'penstock', token: 'token-of-the-dayschool', plan: 'enterprise' },
    rest: { key: 'key-of-the-dayschool', secret: 'secret-of-the-dayschool' },
    notifications: { secret: 'notices-of-the-dayschool' },
  },
  {
    ...{ id: 'evening', uid: 'penstock', token: 'token-of-the-evening', plan: 'standard' },
    rest: { key: 'key-of-the-evening', secret: 'secret-of-the-evening' },
    notifications: { secret: 'notices-of-the-evening' },
  },
]

/** Where the schools are: the days of one are those of UTC, those of the other begin at 18:15. */
export const timeZones: Readonly<Record<string, string>> = { dayschool: 'UTC', evening: 'Asia/Kathmandu' }

const lessonMinutes = 24

export interface World {
  readonly sandbox: Sandbox
  /** Lets happen what is due; to be called once a minute from the start on. */
  readonly turn: () => void
}

/** Share of the students who are not there yet at the first turn of a lesson and come late. */
const late = 0.12
/** Minutes after the bell. */
const latestArrivals = [6, 8, 11, 15] as const

/**
 * Two schools and what befalls them: students who come late, and calls that cannot be heard, in which half of the
 * students give up. Of the days before the start only calls are left, and a player that nobody has ended since. Equal turns make equal worlds, whoever reads in them.
 */
export function openWorld(clock: Clock, deliver?: Deliver): World {
  const sandbox = createSandbox({
    ...{ clock, apps, deliver, seed: 'a filled school' },
    profile: {
      kind: 'school',
      ...{ classes: 3, students: 8, lessonMinutes, breakMinutes: 80, eventsPerMinute: 6, historyMinutes: 20 },
    },
    switches: {
      ...{ roomReuse: 'on', roomMemorySeconds: 3_600, feedWindowSeconds: 200, metricSeconds: 120 },
      ...{ playerFailRate: 0.05, noticeLossRate: 0.05, noticeRepeatRate: 0.05 },
    },
    quirks: {
      ...{ unknownCmd: 0.004, malformedRecord: 0.003, malformedData: 0.003, malformedWidgetItem: 0.01 },
      malformedValue: 0.0002,
    },
    faults: [
      { kind: 'lost-response', operation: 'appEvents', at: [150, 900, 1_388] },
      { kind: 'status', status: 500, rate: 0.004 },
    ],
  })
  const { universe } = sandbox
  const begun = new WeakMap<Room, number>()
  const screens = createScreens()
  for (const world of universe.apps) recallFormerDays(world)

  function turn(): void {
    const now = universe.advance()
    for (const world of universe.apps) {
      for (const room of world.rooms) {
        if (room.state !== 1 || room.startedAt === undefined || begun.get(room) === room.startedAt) continue
        begun.set(room, room.startedAt)
        plant(universe.classrooms.of(room).classroom, room.startedAt)
      }
      screens(world, now)
    }
  }
  return { sandbox, turn }
}

function plant(classroom: Classroom, bell: number): void {
  const { room, contents, students, present } = classroom
  const missing = students.filter(({ userUuid }) => !present.has(userUuid))
  for (const [place, student] of missing.entries()) {
    const { userUuid } = student
    if (!befalls(late, 'late', room.uuid, bell, userUuid)) continue
    const arrival = bell + latestArrivals[place % latestArrivals.length]! * minute
    contents.held.kicks.set(userUuid, { at: bell, until: arrival })
    classroom.later(arrival, now => enter(classroom, student, now))
  }
  const call = currentCall(contents)
  if (!call || !isBadCall(call.callId)) return
  const half = students.filter((_, place) => place % 2 === 0)
  for (const [place, student] of half.entries()) {
    classroom.later(bell + (8 + 2 * place) * minute, now => leave(classroom, [student], now))
    // Whoever has given up stays away, also after a connection that was lost.
    classroom.later(bell + (8 + 2 * place) * minute, now => {
      contents.held.kicks.set(student.userUuid, { at: now, until: null })
    })
  }
}

/** Bells of classes that had come and gone, and were forgotten, before anybody read. */
const formerBells = [Date.UTC(2026, 0, 2, 17), Date.UTC(2026, 0, 3, 9), Date.UTC(2026, 0, 4, 18)] as const

/** The provider keeps their calls. */
function recallFormerDays({ id, calls }: AppWorld): void {
  for (const cname of ['algebra-7b-0', 'c#-club-2']) {
    for (const createdAt of formerBells) {
      const hash = hashOf('former days', id, cname, createdAt)
      const callId = [1, 2, 3, 4].map(n => hashOf(hash, n).toString(16).padStart(8, '0')).join('')
      const destroyedAt = createdAt + lessonMinutes * minute
      calls.add(composedCall({ ...{ callId, cname, createdAt, destroyedAt, hash }, users: 6 }))
    }
  }
}

const noUsers: ReadonlySet<number> = new Set()

/** Streams that somebody began to show, and has forgotten since. */
const forgotten = [
  {
    ...{ at: Date.UTC(2026, 0, 4, 18, 5), app: 'dayschool', channelName: 'c#-club-2', name: 'sunday-stream' },
    streamUrl: 'https://live.example/parliament/index.m3u8',
  },
  {
    ...{ at: Date.UTC(2026, 0, 6, 15), app: 'dayschool', channelName: 'entrance-hall', name: 'hall-camera' },
    streamUrl: 'rtmp://live.example/school/entrance',
  },
  {
    ...{ at: Date.UTC(2026, 0, 7, 5, 40), app: 'dayschool', channelName: 'staff-meeting', name: undefined },
    streamUrl: 'https://live.example/parliament/index.m3u8',
  },
  {
    ...{ at: Date.UTC(2026, 0, 6, 20), app: 'evening', channelName: 'open-evening', name: 'welcome-film' },
    streamUrl: 'rtmp://live.example/school/welcome',
  },
  {
    ...{ at: Date.UTC(2026, 0, 6, 9), app: 'dayschool', channelName: 'assembly', name: 'lost-lecture' },
    streamUrl: 'http://unreachable.example/lost-lecture.flv',
  },
] as const

/** Answers a function that makes those of an app that are due. */
function createScreens(): (world: AppWorld, now: number) => void {
  const made = new Set<object>()
  return (world, now) => {
    for (const screen of forgotten) {
      if (screen.app !== world.id || screen.at > now || made.has(screen)) continue
      made.add(screen)
      const { streamUrl, channelName, name } = screen
      world.players.create(
        {
          ...{ region: 'eu', streamUrl, channelName, uid: 0, account: undefined, name, token: undefined },
          ...{ idleTimeout: 300, playTs: 0, repeatTime: 1, seekPosition: 0 },
        },
        noUsers,
        screen.at < start ? screen.at : now,
      )
    }
  }
}

import { cmds } from '../../../src/provider/classroom/index.ts'
import type { Call, CallSession } from '../calls.ts'
import type { Classroom, Pupil, Rules } from '../classroom.ts'
import { type Draw, drawFrom } from '../draw.ts'
import { befalls } from '../hash.ts'
import { firstNames, lastNames } from '../names.ts'
import type { Quirks } from '../quirks.ts'
import { seededRandom } from '../seeded.ts'
import { roleIn } from '../served.ts'
import type { Contents } from '../world.ts'

/** Far enough for no clock to be so wrong, ms. */
const farAhead = 3 * 86_400_000

const roles = { teacher: 1, student: 2, assistant: 3 } as const

/** The teacher and the students of a class; equal seeds give the same people, lesson after lesson. */
export function roster(seed: string, students: number): [Pupil, ...Pupil[]] {
  const draw = drawFrom(seededRandom(seed))
  return [person(draw, roles.teacher), ...Array.from({ length: students }, () => person(draw, roles.student))]
}

/** The same people, the last of them an assistant in a share of the rooms. */
export function withAssistant(
  people: readonly [Pupil, ...Pupil[]],
  { assistants }: Pick<Quirks, 'assistants'>,
): [Pupil, ...Pupil[]] {
  const [teacher, ...students] = people
  const last = students.at(-1)
  if (!last || !befalls(assistants, last.userUuid)) return [teacher, ...students]
  return [teacher, ...students.slice(0, -1), { ...last, role: roles.assistant }]
}

/** The same people, the last two of them at one machine in a share of the rooms: calls have one number for both. */
export function atOneMachine(
  people: readonly [Pupil, ...Pupil[]],
  { sharedMachine }: Pick<Quirks, 'sharedMachine'>,
): [Pupil, ...Pupil[]] {
  const [teacher, ...students] = people
  const [one, other] = students.slice(-2)
  if (!one || !other || !befalls(sharedMachine, other.userUuid)) return [teacher, ...students]
  const { uid, streamUuid } = one
  return [teacher, ...students.slice(0, -1), { ...other, uid, streamUuid }]
}

function person(draw: Draw, role: number): Pupil {
  const uid = draw.whole(1, 4_000_000_000)
  return {
    userUuid: `user-${uid.toString(36)}`,
    userName: `${draw.pick(firstNames)} ${draw.pick(lastNames)}`,
    role,
    uid,
    streamUuid: String(draw.whole(10_000_000, 99_999_999)),
  }
}

/** Whoever is there already, or was put out and may not come back yet, does not enter. */
export function enter(room: Classroom, who: Pupil, now: number): void {
  const pupil = asNow(room, who)
  const { userUuid } = pupil
  if (room.present.has(userUuid) || isKeptOut(room, userUuid, now)) return
  room.present.set(userUuid, pupil)
  room.known.add(userUuid)
  joinCall(room, { sid: room.draw.id(), uid: pupil.uid, user: 'person', speaks: speaks(pupil) }, now)
  const others = leftFor(room, pupil, now)
  const [onlineUsers, offlineUsers] = [[pupil], others].map(all => all.map(one => shown(room, one, now)))
  room.tell(cmds.attendance, { total: 1 + others.length, onlineUsers, offlineUsers }, now)
}

/** Some students help at first. */
function asNow({ room, known, rules }: Classroom, pupil: Pupil): Pupil {
  const helps = pupil.role === roles.student && !known.has(pupil.userUuid)
  return helps && befalls(rules.quirks.helpsAtFirst, room.uuid, pupil.userUuid)
    ? { ...pupil, role: roles.assistant }
    : pupil
}

/** Who perhaps leaves in the moment in which another enters, and is back a little later. */
function leftFor(room: Classroom, entering: Pupil, now: number): readonly Pupil[] {
  const { crossing } = room.rules.quirks
  const other = studentsPresent(room).find(one => one !== entering)
  if (!other || crossing === 0 || !room.draw.chance(crossing)) return []
  room.later(now + room.draw.wait(60_000), later => enter(room, other, later))
  return withdraw(room, [other], now)
}

function isKeptOut({ contents }: Classroom, userUuid: string, now: number): boolean {
  const kick = contents.held.kicks.get(userUuid)
  return kick !== undefined && (kick.until === null || kick.until > now)
}

/** Nothing, where no call goes on: before a class begins and once everyone has left. */
export function joinCall(
  { contents }: Classroom,
  session: Omit<CallSession, 'joinedAt' | 'leftAt'>,
  now: number,
): void {
  currentCall(contents)?.sessions.push({ ...session, joinedAt: now, leftAt: undefined })
}

/** Ends the last stay of a user. */
export function leaveCall({ contents }: Classroom, uid: number, now: number): void {
  const session = currentCall(contents)?.sessions.findLast(one => one.uid === uid)
  if (session) session.leftAt ??= now
}

/** The call that goes on. */
export function currentCall({ calls }: Contents): Call | undefined {
  const call = calls.at(-1)
  return call?.destroyedAt === undefined ? call : undefined
}

/** The teacher speaks, and some of the students do. */
function speaks({ role, uid }: Pupil): boolean {
  return role === roles.teacher || uid % 4 === 0
}

/** Those of them who were there, as what they came; whoever leaves takes the hand down and comes off the stage without a word. */
function withdraw(room: Classroom, pupils: readonly Pupil[], now: number): readonly Pupil[] {
  const leavers = pupils.flatMap(({ userUuid }) => {
    const there = room.present.get(userUuid)
    room.present.delete(userUuid)
    return there ?? []
  })
  for (const { userUuid, uid } of leavers) {
    room.onStage.delete(userUuid)
    room.waving.delete(userUuid)
    leaveCall(room, uid, now)
  }
  return leavers
}

export function leave(room: Classroom, pupils: readonly Pupil[], now: number): void {
  const leavers = withdraw(room, pupils, now)
  if (leavers.length === 0) return
  const isCounted = leavers.length > 1 && room.rules.switches.crowds === 'counted'
  const offlineUsers = isCounted ? [] : leavers.map(pupil => shown(room, pupil, now))
  room.tell(cmds.attendance, { total: leavers.length, onlineUsers: [], offlineUsers }, now)
}

export function studentsPresent(room: Classroom): readonly Pupil[] {
  return room.students.filter(({ userUuid }) => room.present.has(userUuid))
}

/** One student loses the connection and is back a little later. */
export function dropOut(room: Classroom, now: number): void {
  const students = studentsPresent(room)
  if (students.length === 0) return
  const student = room.draw.pick(students)
  leave(room, [student], now)
  room.later(now + room.draw.wait(60_000), later => enter(room, student, later))
}

/** The uuid of the stream that somebody sends. */
export function streamOf({ switches }: Rules, { uid, streamUuid }: Pupil): string {
  return switches.streamUuids === 'uid' ? String(uid) : streamUuid
}

function shown({ rules }: Classroom, pupil: Pupil, updateTime: number): object {
  const { userUuid, userName, role: type } = pupil
  const role = roleIn(rules.switches, type)
  const person = { userUuid, userName, role, streamUuid: streamOf(rules, pupil), type }
  const { eventTimes } = rules.switches
  if (eventTimes === 'absent') return person
  const isFar = eventTimes === 'far' && befalls(0.2, userUuid, updateTime)
  return { ...person, updateTime: isFar ? updateTime + farAhead : updateTime }
}

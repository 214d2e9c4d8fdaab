import { cmds } from '../../../src/provider/classroom/index.ts'
import type { Classroom, Pupil } from '../classroom.ts'
import { messages } from '../names.ts'
import { roleIn } from '../served.ts'
import { enter, leave, streamOf, studentsPresent } from './people.ts'

export function chat(room: Classroom, now: number): void {
  if (room.present.size === 0) return
  const { userUuid, userName, role } = room.draw.pick([...room.present.values()])
  const fromUser = { userUuid, userName, role: roleIn(room.rules.switches, role) }
  room.tell(cmds.chat, { fromUser, message: room.draw.pick(messages), type: 1 }, now)
}

/** The teacher is there early, says a few things, and goes once more: none of it is told with a time. */
export function tryMicrophone(room: Classroom, now: number): void {
  enter(room, room.teacher, now)
  for (let said = 0; said < remarks; said++) chat(room, now)
  leave(room, [room.teacher], now)
}

const remarks = 10

/** A hand goes up; sooner or later the teacher notices. */
export function raiseHand(room: Classroom, now: number): void {
  const student = oneOf(room, ({ userUuid }) => !room.waving.has(userUuid))
  if (!student) return
  const others = leftFor(room, room.waving)
  room.waving.set(student.userUuid, student)
  tellHands(room, [student], others, now)
  room.later(now + room.draw.wait(30_000), later => {
    if (!room.waving.delete(student.userUuid)) return
    tellHands(room, [], [student], later)
    if (room.draw.chance(0.5)) callToStage(room, student, later)
  })
}

/** Who perhaps leaves its place to one who comes, and is there no more. */
function leftFor({ rules, draw }: Classroom, places: Map<string, Pupil>): readonly Pupil[] {
  const { tradedPlace } = rules.quirks
  const [first] = places.values()
  if (!first || tradedPlace === 0 || !draw.chance(tradedPlace)) return []
  places.delete(first.userUuid)
  return [first]
}

export function callSomeoneToStage(room: Classroom, now: number): void {
  const student = oneOf(room, ({ userUuid }) => !room.onStage.has(userUuid))
  if (student) callToStage(room, student, now)
}

function callToStage(room: Classroom, student: Pupil, now: number): void {
  const others = leftFor(room, room.onStage)
  room.onStage.set(student.userUuid, student)
  tellStage(room, [student], others, now)
  room.later(now + room.draw.wait(120_000), later => {
    if (room.onStage.delete(student.userUuid)) tellStage(room, [], [student], later)
  })
}

export function reward(room: Classroom, now: number): void {
  const student = oneOf(room, () => true)
  if (!student) return
  const { quirks, switches } = room.rules
  const { sharedReward } = quirks
  const { rewardTotal } = switches
  const isShared = sharedReward > 0 && room.draw.chance(sharedReward)
  const other = isShared ? oneOf(room, ({ userUuid }) => userUuid !== student.userUuid) : undefined
  const rewardDetails = [student, ...(other ? [other] : [])].map(({ userUuid }) => {
    const before = room.rewards.get(userUuid) ?? 0
    // Who has four has them taken away, and begins anew.
    const changedReward = before < 4 ? 1 : -before
    const total = before + changedReward
    room.rewards.set(userUuid, total)
    return { userUuid, changedReward, [rewardTotal]: total }
  })
  room.tell(cmds.rewards, { rewardDetails, updateTime: now }, now)
}

function tellHands(room: Classroom, added: readonly Pupil[], removed: readonly Pupil[], now: number): void {
  const hand = ({ userUuid }: Pupil) => ({ userUuid, payload: { timeout: 30 } })
  const data = {
    progressUsers: [...room.waving.values()].map(hand),
    addProgressUsers: added.map(hand),
    removeProgressUsers: removed.map(hand),
  }
  room.tell(cmds.hands, data, now)
}

function tellStage(room: Classroom, added: readonly Pupil[], removed: readonly Pupil[], now: number): void {
  const seat = (pupil: Pupil) => ({ userUuid: pupil.userUuid, streamUuid: streamOf(room.rules, pupil) })
  const data = {
    acceptedUsers: [...room.onStage.values()].map(seat),
    addAcceptedUsers: added.map(seat),
    removeAcceptedUsers: removed.map(seat),
  }
  room.tell(cmds.stage, data, now)
}

function oneOf(room: Classroom, isMeant: (pupil: Pupil) => boolean): Pupil | undefined {
  const candidates = studentsPresent(room).filter(isMeant)
  return candidates.length > 0 ? room.draw.pick(candidates) : undefined
}

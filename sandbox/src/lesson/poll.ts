import { pollModes, questionStates, widgetStates } from '../../../src/provider/classroom/index.ts'
import type { Classroom, Pupil } from '../classroom.ts'
import { befalls } from '../hash.ts'
import { questions } from '../names.ts'
import { studentsPresent } from './people.ts'

interface Poll {
  readonly id: string
  readonly mode: number
  readonly items: readonly string[]
  /** Whether summaries tell how many voted for which option. */
  readonly isCounted: boolean
  /** The options each student chose last. */
  readonly votes: Map<string, readonly number[]>
}

/** A poll: opened, voted on by most within a minute, then closed by the teacher. */
export function openPoll(room: Classroom, now: number): void {
  const students = studentsPresent(room)
  if (students.length === 0 || room.running.has('poll')) return
  const id = room.draw.id()
  const poll: Poll = {
    id,
    mode: room.draw.pick(Object.values(pollModes)),
    items: room.draw.pick(questions),
    isCounted: !befalls(room.rules.quirks.uncountedPoll, 'uncounted', id),
    votes: new Map(),
  }
  room.running.set('poll', later => closePoll(room, poll, later))
  announcePoll(room, poll, now)
  const end = now + room.draw.between(45_000, 90_000)
  for (const student of students) {
    if (room.draw.chance(0.8)) voteLater(room, poll, student, now + room.draw.between(3_000, 40_000))
  }
  room.later(end, later => closePoll(room, poll, later))
}

function announcePoll(room: Classroom, poll: Poll, now: number): void {
  const { id, mode, items } = poll
  const extra = {
    mode,
    pollingState: questionStates.inProgress,
    pollDetails: tally(poll),
    pollId: id,
    pollItems: Object.fromEntries(items.entries()),
  }
  const state = widgetStates.active
  room.note('poll', { id, step: 'start', at: now, state, extra, cause: 'start', author: room.teacher })
}

function voteLater(room: Classroom, poll: Poll, student: Pupil, time: number): void {
  room.later(time, now => {
    if (!room.present.has(student.userUuid)) return
    vote(room, poll, student, now)
    if (room.draw.chance(poll.isCounted ? 0.05 : 0.5))
      room.later(now + 4_000, later => vote(room, poll, student, later))
  })
}

function vote(room: Classroom, poll: Poll, student: Pupil, now: number): void {
  const { id, mode, items } = poll
  const all = [...items.keys()]
  const several = all.filter(() => room.draw.chance(0.5))
  const selectIndex =
    mode === pollModes.multipleChoice && several.length > 0 ? several : [room.draw.pick(all)]
  poll.votes.set(student.userUuid, selectIndex)
  const shared = { id, at: now, cause: 'submit', author: student }
  room.note('poll', {
    ...shared,
    step: 'submission',
    extra: { pollId: id, selectIndex: selectIndex.map(option => dressed(room, items, option)) },
    starter: room.teacher,
  })
  room.note('poll', { ...shared, step: 'summary', extra: { pollDetails: tally(poll), pollId: id } })
}

function dressed({ rules }: Classroom, items: Poll['items'], option: number): unknown {
  const text = items[option]
  switch (rules.switches.voteOptions) {
    case 'index':
      return option
    case 'object':
      return { index: option, text }
    case 'unknown':
      return { text, weight: 1, of: items.length }
  }
}

function closePoll(room: Classroom, poll: Poll, now: number): void {
  const { id } = poll
  room.running.delete('poll')
  const extra = { pollingState: questionStates.ended, pollDetails: tally(poll), pollId: id }
  room.note('poll', { id, step: 'end', at: now, extra, cause: 'end', author: room.teacher })
}

/** Students who chose each option, and their share among those who voted. */
function tally({ items, isCounted, votes }: Poll): object {
  if (!isCounted) return {}
  const choices = [...votes.values()]
  const detail = (option: number) => {
    const num = choices.filter(chosen => chosen.includes(option)).length
    return { num, percentage: choices.length === 0 ? 0 : num / choices.length }
  }
  return Object.fromEntries([...items.keys()].map(option => [option, detail(option)]))
}

import { questionStates, widgetStates } from '../../../src/provider/classroom/index.ts'
import type { Classroom, Pupil } from '../classroom.ts'
import { befalls } from '../hash.ts'
import { questions } from '../names.ts'
import { studentsPresent } from './people.ts'

interface Quiz {
  readonly id: string
  readonly items: readonly string[]
  readonly correctItems: readonly string[]
  /** Who could answer so far. */
  readonly asked: Set<string>
  /** Whether it is asked of those who come later, too. */
  readonly isOpen: boolean
  /** Who has answered, and whether the last answer was right. */
  readonly answers: Map<string, boolean>
}

/** Share of the answers that a student thinks over. */
const thinkAgain = 0.05

/** A pop-up quiz: asked, answered by most within a minute (some think again), then ended by the teacher. */
export function askQuiz(room: Classroom, now: number): void {
  const students = studentsPresent(room)
  if (students.length === 0 || room.running.has('popupQuiz')) return
  const items = room.draw.pick(questions)
  const id = room.draw.id()
  const quiz: Quiz = {
    id,
    items,
    correctItems: [room.draw.pick(items)],
    asked: new Set(students.map(({ userUuid }) => userUuid)),
    isOpen: befalls(room.rules.quirks.openQuiz, 'open', id),
    answers: new Map(),
  }
  room.running.set('popupQuiz', later => endQuiz(room, quiz, later))
  announceQuiz(room, quiz, now)
  const end = now + room.draw.between(45_000, 90_000)
  for (const student of students) {
    if (room.draw.chance(0.85)) answerLater(room, quiz, student, now + room.draw.between(3_000, 40_000))
  }
  room.later(end, later => endQuiz(room, quiz, later))
}

function announceQuiz(room: Classroom, { id, items, correctItems, asked }: Quiz, now: number): void {
  const extra = {
    correctItems,
    correctCount: 0,
    answerState: questionStates.inProgress,
    receiveQuestionTime: now,
    popupQuizId: id,
    averageAccuracy: 0,
    totalCount: asked.size,
    items,
  }
  const state = widgetStates.active
  room.note('popupQuiz', { id, step: 'start', at: now, state, extra, cause: 'start', author: room.teacher })
}

function answerLater(room: Classroom, quiz: Quiz, student: Pupil, time: number): void {
  room.later(time, now => {
    if (!room.present.has(student.userUuid)) return
    answer(room, quiz, student, now)
    const secondThought = Math.max(thinkAgain, room.rules.quirks.secondThought)
    if (room.draw.chance(secondThought)) room.later(now + 4_000, later => answer(room, quiz, student, later))
  })
}

function answer(room: Classroom, quiz: Quiz, student: Pupil, now: number): void {
  const selectedItems = [room.draw.chance(0.6) ? quiz.correctItems[0]! : room.draw.pick(quiz.items)]
  const isCorrect = selectedItems[0] === quiz.correctItems[0]
  quiz.answers.set(student.userUuid, isCorrect)
  const beside = { lastCommitTime: now, popupQuizId: quiz.id, selectedItems, isCorrect }
  const shared = { id: quiz.id, at: now, cause: 'submit', author: student }
  room.note('popupQuiz', { ...shared, step: 'submission', extra: {}, beside, starter: room.teacher })
  room.note('popupQuiz', { ...shared, step: 'summary', extra: tally(room, quiz) })
}

function endQuiz(room: Classroom, quiz: Quiz, now: number): void {
  room.running.delete('popupQuiz')
  const extra = { ...tally(room, quiz), answerState: questionStates.ended }
  room.note('popupQuiz', { id: quiz.id, step: 'end', at: now, extra, cause: 'end', author: room.teacher })
}

/** The document gives these summaries no popupQuizId. */
function tally(room: Classroom, { answers, asked, isOpen }: Quiz): object {
  if (isOpen) for (const { userUuid } of studentsPresent(room)) asked.add(userUuid)
  const correctCount = [...answers.values()].filter(isCorrect => isCorrect).length
  const averageAccuracy = answers.size === 0 ? 0 : correctCount / answers.size
  return { selectedCount: answers.size, correctCount, averageAccuracy, totalCount: asked.size }
}

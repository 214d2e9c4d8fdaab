import {
  popupQuiz as operation,
  QuizChange,
  questionStates,
  widgetStates,
} from '../provider/classroom/index.ts'
import { type QuizRow, type QuizSubmissionRow, quiz, quizSubmission } from '../tables/classroom.ts'
import { blank } from '../tables/table.ts'
import type { Reject } from './page.ts'
import { fieldsWithout, isSaid } from './parts/items.ts'
import { notAfter, timestampIfAny } from './parts/values.ts'
import type { Change } from './widgets/read-items.ts'
import {
  leftBehind,
  overlay,
  unnamed,
  type WidgetContext,
  type WidgetReading,
  widgetStream,
} from './widgets/widget-stream.ts'

type Quiz = Change<QuizChange>

/**
 * The pop-up quizzes of a room (operation 17): each is started, answered and ended; between, summaries tell
 * the counts. What an item is shows in the fields it has.
 */
export const popupQuiz = widgetStream(
  {
    name: 'popup-quiz',
    title: 'Pop-up quizzes of each room, with their submissions',
    operation,
    writes: [quiz, quizSubmission],
  },
  { widget: 'popupQuiz', schema: QuizChange, starts, read },
)

const fields = Object.keys(QuizChange.shape)
const columns = new Set(fields)

function read(changes: readonly Quiz[], context: WidgetContext): WidgetReading {
  const quizzes = new Map<string, QuizRow>()
  const submissions: QuizSubmissionRow[] = []
  const rejects: Reject[] = []
  let { question } = context
  for (const change of changes) {
    const over = leftBehind(change, starts(change), question)
    if (over !== null) {
      const ended = { ...blank(quiz), room_uuid: context.room, quiz_id: over, state: 'ended' } as const
      quizzes.set(over, overlay(quizzes.get(over), ended))
    }
    if (starts(change)) question = change.value.popupQuizId || question
    const quizId = change.value.popupQuizId || question
    if (!isSubmission(change) && !isSummary(change)) continue
    if (quizId === null) rejects.push(unnamed('popupQuizId', change))
    else if (isSubmission(change)) submissions.push(submissionRow(change, quizId, context))
    else if (!change.isKnown)
      quizzes.set(quizId, overlay(quizzes.get(quizId), quizRow(change, quizId, context)))
  }
  const rows = { 'classroom.quiz': [...quizzes.values()], 'classroom.quiz_submission': submissions }
  return { rows, rejects, question }
}

function isSubmission({ raw }: Quiz): boolean {
  return isSaid(raw.selectedItems) || isSaid(raw.lastCommitTime)
}

function isSummary({ raw }: Quiz): boolean {
  return fields.some(field => isSaid(raw[field]) && raw[field] !== '')
}

/** The first summary of a quiz names it and says that it runs; the others may leave the name out. */
function starts(change: Quiz): boolean {
  const { value, state, raw } = change
  if (!value.popupQuizId || isSubmission(change)) return false
  if (isSaid(value.answerState)) return value.answerState === questionStates.inProgress
  return state === widgetStates.active || isSaid(raw.items)
}

/** One who submitted and is not told has no name; the place in the log tells submissions apart. */
function submissionRow(
  { position, value, raw, item, unread }: Quiz,
  quizId: string,
  context: WidgetContext,
): QuizSubmissionRow {
  const user = item[context.settings.submitter]
  return {
    room_uuid: context.room,
    quiz_id: quizId,
    user_uuid: user?.userUuid ?? '',
    ordinal: position,
    user_name: user?.userName ?? null,
    selected_items: raw.selectedItems ?? null,
    is_correct: value.isCorrect ?? null,
    committed_at: notAfter(context.latest, timestampIfAny(value.lastCommitTime)),
    extra: fieldsWithout(columns, { ...raw, ...unread }, value),
  }
}

function quizRow(change: Quiz, quizId: string, { room, latest }: WidgetContext): QuizRow {
  const { value, raw, item, unread, at } = change
  const hasStarted = starts(change)
  const state = stateOf(change)
  return {
    room_uuid: room,
    quiz_id: quizId,
    correct_items: raw.correctItems ?? null,
    items: raw.items ?? null,
    correct_count: value.correctCount ?? null,
    selected_count: value.selectedCount ?? null,
    total_count: value.totalCount ?? null,
    average_accuracy: value.averageAccuracy ?? null,
    state,
    started_at: notAfter(latest, timestampIfAny(value.receiveQuestionTime)) ?? (hasStarted ? at : null),
    ended_at: state === 'ended' ? at : null,
    started_by: hasStarted ? (item.operator?.userUuid ?? null) : null,
    extra: fieldsWithout(columns, hasStarted ? { ...raw, ...unread } : raw, value),
  }
}

function stateOf(change: Quiz): QuizRow['state'] {
  if (change.value.answerState === questionStates.ended) return 'ended'
  return change.value.answerState === questionStates.inProgress || starts(change) ? 'running' : null
}

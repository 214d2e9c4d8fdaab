import { z } from 'zod'
import type { Operation } from '../operation.ts'
import { batchOf } from './batches.ts'
import { classroomErrors } from './errors.ts'
import { anyObject, instant, open, Person, sequence } from './fields.ts'
import { appId, region, roomUuid } from './identifiers.ts'
import { nextId } from './parameters.ts'

/** Every item has a cause and an operator, and says what changed. */
export const widgetBatch = batchOf('sequence', 'action', 'changeProperties', 'cause', 'operator', 'fromUser')

const shared = {
  family: 'classroom',
  method: 'GET',
  pathParams: { appId, roomUuid },
  queryParams: {
    nextId,
    count: z
      .int('must be an integer')
      .min(1, 'must be 1 or more')
      .optional()
      .describe('Items wanted in the batch, 1 or more; 100 unless told'),
  },
  answer: widgetBatch.answer,
  errors: classroomErrors,
  limitGroup: 'classroom',
} as const

export const popupQuiz = {
  ...shared,
  name: 'popupQuiz',
  number: 17,
  summary: 'Reads the data of the pop-up quizzes of a room in order',
  path: '/edu/apps/{appId}/v2/rooms/{roomUuid}/widgets/popupQuiz/sequences',
} as const satisfies Operation

export const poll = {
  ...shared,
  name: 'poll',
  number: 18,
  summary: 'Reads the data of the polls of a room in order',
  path: '/edu/apps/{appId}/v2/rooms/{roomUuid}/widgets/poll/sequences',
} as const satisfies Operation

/**
 * The same widget operation behind a region segment. The document's path has none; some deployments serve
 * these paths only with it.
 */
export function withRegion(operation: Operation): Operation {
  const { path, pathParams } = operation
  return { ...operation, path: `/{region}${path}`, pathParams: { region, ...pathParams } }
}

/** One change of a quiz or poll. What changed is read by widgetChange, then by QuizChange or PollChange. */
export const WidgetItem = z.looseObject({
  sequence: sequence.nullish(),
  /** 1 set, 2 delete, as far as is known; the document does not show the numbers. */
  action: z.int32().nullish(),
  changeProperties: anyObject.nullish(),
  cause: z.union([z.string(), anyObject]).nullish(),
  operator: open(Person),
  fromUser: open(Person),
})
export type WidgetItem = z.infer<typeof WidgetItem>

/** Fields of `extra` over the life of a quiz: start, submission, summaries and end each carry some of them. */
export const QuizChange = z.looseObject({
  popupQuizId: z.string().min(1).nullish(),
  items: z.array(z.unknown()).nullish(),
  correctItems: z.array(z.unknown()).nullish(),
  correctCount: z.int32().nullish(),
  selectedCount: z.int32().nullish(),
  totalCount: z.int32().nullish(),
  averageAccuracy: z.number().nullish(),
  answerState: z.int32().nullish(),
  receiveQuestionTime: instant.nullish(),
  lastCommitTime: instant.nullish(),
  selectedItems: z.array(z.unknown()).nullish(),
  isCorrect: z.boolean().nullish(),
})
export type QuizChange = z.infer<typeof QuizChange>

const plainIndex = z.union([
  z.int32().min(0),
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
])

/** The document calls the options chosen objects and does not show them: one has a field `index`, or one index in all. */
const optionIndex = z.union([
  plainIndex,
  z.looseObject({ index: plainIndex }).transform(({ index }) => index),
  z.looseObject({}).transform((option, context) => {
    const indexes = Object.values(option).flatMap(value => plainIndex.safeParse(value).data ?? [])
    if (indexes.length === 1) return indexes[0]!
    context.addIssue({ code: 'custom', message: 'does not name one option' })
    return z.NEVER
  }),
])

/** Students who chose an option, and their share among those who submitted. */
export const PollDetail = z.looseObject({ num: z.int32().nullish(), percentage: z.number().nullish() })

/** Fields of `extra` over the life of a poll. The state is called `pollState` in some deployments. */
export const PollChange = z.looseObject({
  pollId: z.string().min(1).nullish(),
  mode: z.int32().nullish(),
  pollingState: z.int32().nullish(),
  pollState: z.int32().nullish(),
  /** Key: index of the option, from 0. */
  pollDetails: z.record(z.string().regex(/^\d{1,9}$/), PollDetail).nullish(),
  pollItems: z.unknown().optional(),
  selectIndex: open(z.array(optionIndex)),
})
export type PollChange = z.infer<typeof PollChange>

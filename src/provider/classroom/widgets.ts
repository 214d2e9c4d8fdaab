import { z } from 'zod'
import { isObject } from '../fits.ts'
import type { Operation } from '../operation.ts'
import { listOf, ofClassroom } from './answers.ts'
import {
  anyObject,
  appId,
  instant,
  int32,
  itemIdIfAny,
  nextId,
  number,
  open,
  Person,
  region,
  roomUuid,
  sequence,
} from './fields.ts'

/** State of the quiz and poll widgets themselves. */
export const widgetStates = { inactive: 0, active: 1 } as const

/** `answerState` of a quiz and `pollingState` of a poll. */
export const questionStates = { ended: 0, inProgress: 1 } as const

export const pollModes = { singleChoice: 1, multipleChoice: 2 } as const

/** One change of a quiz or poll. What changed is read by widgetChange, then by QuizChange or PollChange. */
export const WidgetItem = z.looseObject({
  sequence: sequence.nullish(),
  /** 1 set, 2 delete, as far as is known; the document does not show the numbers. */
  action: open(int32),
  changeProperties: anyObject.nullish(),
  cause: z.unknown().optional(),
  operator: open(Person),
  fromUser: open(Person),
})
export type WidgetItem = z.infer<typeof WidgetItem>

const shared = {
  ...ofClassroom,
  // Every item has a cause and an operator, and says what changed.
  ...listOf(WidgetItem, 'sequence', 'action', 'changeProperties', 'cause', 'operator', 'fromUser'),
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
} as const

export const popupQuiz = {
  ...shared,
  name: 'popupQuiz',
  summary: 'Reads the data of the pop-up quizzes of a room in order',
  path: '/edu/apps/{appId}/v2/rooms/{roomUuid}/widgets/popupQuiz/sequences',
} as const satisfies Operation

export const poll = {
  ...shared,
  name: 'poll',
  summary: 'Reads the data of the polls of a room in order',
  path: '/edu/apps/{appId}/v2/rooms/{roomUuid}/widgets/poll/sequences',
} as const satisfies Operation

export const widgetOperations = [popupQuiz, poll] as const

/**
 * The same widget operation behind a region segment. The document's path has none; some deployments serve
 * these paths only with it.
 */
export function withRegion(operation: Operation): Operation {
  const { path, pathParams } = operation
  return { ...operation, path: `/{region}${path}`, pathParams: { region, ...pathParams } }
}

/** Fields of `extra` over the life of a quiz: start, submission, summaries and end each carry some of them. */
export const QuizChange = z.looseObject({
  popupQuizId: itemIdIfAny,
  items: z.unknown().optional(),
  correctItems: z.unknown().optional(),
  correctCount: open(int32),
  selectedCount: open(int32),
  totalCount: open(int32),
  averageAccuracy: open(number),
  answerState: int32.nullish(),
  receiveQuestionTime: open(instant),
  lastCommitTime: open(instant),
  selectedItems: z.unknown().optional(),
  isCorrect: open(z.boolean()),
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
export const PollDetail = z.looseObject({ num: int32.nullish(), percentage: number.nullish() })

/** Fields of `extra` over the life of a poll. The state is called `pollState` in some deployments. */
export const PollChange = z.looseObject({
  pollId: itemIdIfAny,
  mode: open(int32),
  pollingState: int32.nullish(),
  pollState: int32.nullish(),
  /** Each a PollDetail, by the index of its option from 0, or in their order. */
  pollDetails: open(z.union([anyObject, z.array(z.unknown())])),
  pollItems: z.unknown().optional(),
  selectIndex: open(z.array(optionIndex)),
})

type Properties = Readonly<Record<string, unknown>>
type Tree = Map<string, Tree | Leaf>
interface Leaf {
  readonly value: unknown
}

interface WidgetChange {
  /** State of the widget (widgetStates), where the change says it. */
  readonly state: unknown
  /** All that changed besides, whether it came inside `extra` or beside it. */
  readonly extra: Properties
}

/** A key with more dots than any documented one has is a name, not a path. */
const deepestPath = 8

/**
 * Reads `changeProperties` in each way it is known to come: nested or with dotted keys
 * (`"extra.correctItems"`), a student's data inside `extra` or beside it. A field inside `extra` wins.
 */
export function widgetChange(changeProperties: Properties): WidgetChange {
  const { state, extra, ...beside } = nestKeys(changeProperties)
  if (extra === undefined) return { state, extra: beside }
  if (!isObject(extra)) return { state, extra: { ...beside, extra } }
  return { state, extra: { ...beside, ...extra } }
}

/** `{"a.b": 1, "a": {"c": 2}}` becomes `{a: {b: 1, c: 2}}`. Only keys of the outermost object are paths. */
export function nestKeys(properties: Properties): Properties {
  const root: Tree = new Map()
  for (const [key, value] of Object.entries(properties)) {
    const path = key.split('.')
    plant(root, path.length > deepestPath ? [key] : path, value)
  }
  return objectFrom(root)
}

function plant(tree: Tree, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length > 0) {
    plant(branch(tree, key), rest, value)
    return
  }
  const there = tree.get(key)
  if (!(there instanceof Map) || !isObject(value)) {
    tree.set(key, { value })
    return
  }
  for (const [name, inner] of Object.entries(value)) there.set(name, { value: inner })
}

function branch(tree: Tree, key: string): Tree {
  const there = tree.get(key)
  if (there instanceof Map) return there
  const entries = isObject(there?.value) ? Object.entries(there.value) : []
  const grown: Tree = new Map(entries.map(([name, value]) => [name, { value }]))
  tree.set(key, grown)
  return grown
}

/** Object.fromEntries defines own properties only, so a key `__proto__` stays a harmless name. */
function objectFrom(tree: Tree): Properties {
  return Object.fromEntries(
    [...tree].map(([key, node]) => [key, node instanceof Map ? objectFrom(node) : node.value]),
  )
}

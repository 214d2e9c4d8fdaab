import { z } from 'zod'
import { fits, isObject, isSaid, readNumber } from '../fits.ts'
import type { BusinessError } from '../operation.ts'
import { number, open } from './fields.ts'

/** Headers that authenticate a request, where the deployment has no names of its own. */
export const credentialHeaders = { token: 'x-svc-token', uid: 'x-svc-uid' } as const

/** Most items in one batch of recordings, room events or (by default) widget data. */
export const batchSize = 100

/** Fields of every answer. */
const envelope = { code: z.int(), msg: z.unknown().optional(), ts: open(number) }

/** What every answer has, refusals included: business code, details, server time in ms. */
const Envelope = z.looseObject(envelope)

/** `code` of an answer that succeeded. */
export const successCode = 0

export const classroomCodes = {
  badRequest: 400,
  muted: 30_403_200,
  noRoom: 20_404_100,
  noUser: 20_404_200,
  recordingNotStarted: 30_409_410,
  recordingNotEnded: 30_409_411,
  classStarted: 30_409_100,
  classEnded: 30_409_101,
  internal: 500,
} as const

/** The classroom document's table of errors. It belongs to every operation: the document assigns none. */
export const classroomErrors: readonly BusinessError[] = [
  { status: 400, code: classroomCodes.badRequest, meaning: 'a request parameter is incorrect' },
  { status: 401, meaning: 'x-svc-uid or x-svc-token is missing or wrong' },
  {
    status: 403,
    code: classroomCodes.muted,
    meaning: 'the classroom is muted, users cannot send chat messages',
    // It tells of one room, and not of what the app may do.
    kind: 'conflict',
  },
  { status: 404, meaning: 'there is no such resource' },
  { status: 404, code: classroomCodes.noRoom, meaning: 'there is no such classroom' },
  { status: 404, code: classroomCodes.noUser, meaning: 'there is no such user' },
  { status: 409, code: classroomCodes.recordingNotStarted, meaning: 'the recording has not been started' },
  { status: 409, code: classroomCodes.recordingNotEnded, meaning: 'the recording has not been ended' },
  { status: 409, code: classroomCodes.classStarted, meaning: 'the class has been started' },
  { status: 409, code: classroomCodes.classEnded, meaning: 'the class has been ended' },
  { status: 500, code: classroomCodes.internal, meaning: 'the server failed' },
  { status: 503, meaning: 'a gateway got no timely reply from upstream' },
]

/** What the operations have in common where they do not say otherwise. */
export const ofClassroom = {
  family: 'classroom',
  queryParams: {},
  answer: Envelope,
  errors: classroomErrors,
  limitGroup: 'classroom',
} as const

const NextId = z.union([z.string(), z.number(), z.bigint()]).nullish()
type NextId = z.infer<typeof NextId>

/** `data` as an array, or as an object of whatever fields; the nextId stands inside it or beside it. */
const Answer = z.looseObject({
  ...envelope,
  data: z.union([z.array(z.unknown()), z.looseObject({ nextId: NextId })]).nullish(),
  nextId: NextId,
})
type BatchAnswer = z.infer<typeof Answer>

export interface Batch<Item = unknown> {
  /** As they came: each is parsed alone, so that a bad one does not spoil its page. */
  readonly items: readonly Item[]
  /** What the next call passes on; undefined where the listing ends. */
  readonly nextId: string | undefined
  /** How many items it says there are in all; absent where it does not say. */
  readonly total?: number
  /** The answer lacks the data that the document promises: there is nothing, or it was lost on the way. */
  readonly lacksData?: true
}

/** What an operation that serves items adds to its contract. */
export interface Listing<Item> {
  /** Refuses an answer of which cannot be told what it holds: that one is not empty. */
  readonly answer: z.ZodType<BatchAnswer>
  /** The same of an answer before which there was none: a total of more than nothing belies that there is nothing. */
  readonly firstAnswer: z.ZodType<BatchAnswer>
  /** Shape of one item. */
  readonly item: z.ZodType<Item>
  /** Items and nextId of an answer, whichever way its data is shaped. Throws where `answer` refuses it. */
  readonly readBatch: (answer: unknown) => Batch
}

/**
 * The answers of an operation that serves items. The document says of most no more than that `data` is an object
 * which holds the items and the nextId: a list of any name, several items by name, or the item itself with the nextId
 * beside its fields. `marks` are fields that only an item has, any one of them.
 */
export function listOf<Item>(item: z.ZodType<Item>, ...marks: readonly string[]): Listing<Item> {
  const isItem = (value: unknown) => isObject(value) && marks.some(mark => isSaid(value[mark]))
  const answer = Answer.refine(({ data }) => itemsOf(data, isItem) !== undefined, {
    path: ['data'],
    error: 'cannot be told what it holds',
  })
  const readBatch = (unread: unknown): Batch => {
    const { data, nextId } = fits(answer, unread) ? (unread as BatchAnswer) : answer.parse(unread)
    const inside = isObject(data) ? readNextId(data.nextId as NextId) : undefined
    const items = itemsOf(data, isItem) ?? []
    const total = isObject(data) ? readNumber(data.total) : undefined
    const batch = { items, nextId: inside ?? readNextId(nextId), ...(total !== undefined && { total }) }
    return isSaid(data) ? batch : { ...batch, lacksData: true }
  }
  const firstAnswer = answer.refine(
    read => {
      if (!isObject(read.data) || !isAboveNone(read.data.total)) return true
      const { items, nextId } = readBatch(read)
      return items.length > 0 || nextId !== undefined
    },
    { path: ['data'], error: 'names a total and holds nothing' },
  )
  return { answer, firstAnswer, item, readBatch }
}

type Fields = Readonly<Record<string, unknown>>
type IsItem = (value: unknown) => boolean

/** Fields that belong to the batch, not to an item or a list in it. */
const batchFields: ReadonlySet<string> = new Set(['nextId', 'total', 'count'])

function itemsOf(data: BatchAnswer['data'], isItem: IsItem): readonly unknown[] | undefined {
  if (!isSaid(data)) return []
  if (Array.isArray(data)) return data
  if (Array.isArray(data.list)) return data.list
  if (isObject(data.list) && !isVoid(data.list)) return [data.list]
  const own = Object.entries(data).filter(([name]) => !batchFields.has(name))
  const members = own.map(([, value]) => value)
  const lists = members.filter(isListOfObjects)
  const ofItems = lists.filter(list => list.some(isItem))
  if (ofItems.length > 0) return onlyOf(ofItems)
  if (isItem(data)) return [Object.fromEntries(own)]
  if (lists.length > 0) return onlyOf(lists)
  const items = members.filter(isItem)
  if (items.length > 0) return items
  return isEmpty(data, members) ? [] : undefined
}

/** Holds nothing for certain. Where a list is there and empty, a total may count what other batches hold. */
function isEmpty({ list, total, count }: Fields, members: readonly unknown[]): boolean {
  const said = members.filter(isSaid)
  const hasList = list === null || said.some(isVoid)
  if (!hasList && said.length > 0) return false
  return !said.some(mayHoldItems) && !isAboveNone(count) && (hasList || !isAboveNone(total))
}

function onlyOf<T>(values: readonly T[]): T | undefined {
  return values.length === 1 ? values[0] : undefined
}

function isListOfObjects(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.some(isObject)
}

/** Beside an empty list plain values tell of the batch, as the size of a page does. */
function mayHoldItems(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isObject(value) && Object.values(value).some(inner => typeof inner === 'object' && inner !== null)
}

/** An empty list; some servers write it as an object. */
function isVoid(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** What is no count may be any: an object, also one that stands for a number too large for any other. */
function isAboveNone(count: unknown): boolean {
  return isSaid(count) && (typeof count === 'object' || Number(count) > 0)
}

/** Empty and null ask for the first batch, so neither can be where the next one begins, null written out no more than null. */
function readNextId(nextId: NextId): string | undefined {
  return isSaid(nextId) && nextId !== '' && nextId !== 'null' ? String(nextId) : undefined
}

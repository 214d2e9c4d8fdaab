import { hash } from 'node:crypto'
import { z } from 'zod'
import { EventRecord, instant, open, WidgetItem, widgetChange } from '../../provider/classroom/index.ts'
import type { Widget, WidgetEventRow } from '../../tables/classroom.ts'
import type { Json, JsonObject, Timestamp } from '../../tables/json.ts'
import { isLast, type Page, type Reject } from '../page.ts'
import { bySequence, normalSequence, type Sequence } from '../parts/holes.ts'
import { canonicalJson, isObject, isSaid, judge, redact, unreadFields } from '../parts/items.ts'
import { arrivalTime, latestBelieved, notAfter, timestamp, timestampIfAny } from '../parts/values.ts'

/** What has been learned of a widget's log up to the beginning of a page. */
const WidgetFold = z.object({
  /** How many items came before the page. */
  position: z.int().min(0),
  /** The quiz or poll last started: later summaries may name none. */
  question: z.string().nullable(),
  /** A page told of a quiz or poll before it was started. */
  isBackwards: z.literal(true).exactOptional(),
  /** Lowest place on the first page of the log. */
  first: EventRecord.shape.sequence.nullable().default(null),
})
type WidgetFold = z.infer<typeof WidgetFold>

export const WidgetState = z.object({
  incarnation: z.int().min(1).default(1),
  /** State before the page at the stored cursor; null while that is the beginning. */
  fold: WidgetFold.nullable().default(null),
  /** Highest position that has been read. */
  seen: EventRecord.shape.sequence.nullable().default(null),
  /** The log has been read to its end: what comes after `seen` on the last page is new. */
  caughtUp: z.boolean().default(false),
  /** How many items the last page of the log held; null where another page is read next. */
  held: z.int().min(0).nullable().default(null),
  /** What was known at the stored cursor is lost: the log must be read from its beginning. */
  lost: z.boolean().default(false),
})
export type WidgetState = z.infer<typeof WidgetState>

export const beginning: WidgetFold = { position: 0, question: null, first: null }

/** One change of a quiz or poll. */
export interface Change<T> {
  /** Its place in the log. */
  readonly position: Sequence
  readonly item: WidgetItem
  /** State of the widget, where the change says it. */
  readonly state: unknown
  readonly value: T
  /** All that changed, unknown fields included. */
  readonly raw: JsonObject
  /** Those who made it, where what is said of them could not be read. */
  readonly unread: JsonObject
  /**
   * It was read before: what it said of its quiz or poll is stored, and so may be what others said later. Nothing is
   * known of a last page that has got an item before others: no later one takes back what it says.
   */
  readonly isKnown: boolean
  /** When it happened, as far as that is known. */
  readonly at: Timestamp | null
}

interface WidgetPage<T> {
  readonly events: readonly WidgetEventRow[]
  readonly changes: readonly Change<T>[]
  readonly rejects: readonly Reject[]
}

const Place = z.looseObject({ sequence: WidgetItem.shape.sequence })

/** An item that does not say what changed, where that is looked for, says what cannot be understood. */
const Told = WidgetItem.extend({ changeProperties: WidgetItem.shape.changeProperties.unwrap().unwrap() })

/**
 * Reads the items of a page one by one. Every item that is an object and has a place is kept raw, whether or
 * not anything else in it can be read. `first` is the place of the first item among all of the log.
 */
export function readItems<T>(
  page: Page,
  widget: Widget,
  schema: z.ZodType<T>,
  first: number,
  streamState: WidgetState,
): WidgetPage<T> {
  const latest = latestBelieved(page)
  const events = new Map<Sequence, WidgetEventRow>()
  const changes: Change<T>[] = []
  const rejects: Reject[] = []
  for (const [index, raw] of page.items.entries()) {
    const item = redact(raw)
    const place = judge(Place, fieldsOf(item), '', item)
    if (!place.ok) {
      rejects.push(place.reject)
      continue
    }
    const position = normalSequence(place.value.sequence ?? first + index)
    const event = eventRow(page, widget, position, item)
    const earlier = events.get(position)
    if (earlier && earlier.content_hash !== event.content_hash) {
      rejects.push({ reason: 'out_of_range', detail: 'sequence: belongs to another item of the page', item })
    }
    if (earlier) continue
    events.set(position, event)
    const change = readChange(schema, item)
    if ('reason' in change) rejects.push(change)
    else
      changes.push({
        ...change,
        position,
        isKnown: isKnown(position, streamState),
        at: notAfter(latest, ownTime(item)) ?? liveTime(page, position, streamState),
      })
  }
  // The sequence keeps items in order; that an answer lists them in it is not promised.
  changes.sort((a, b) => bySequence(a.position, b.position))
  const isToldAnew = isLast(page) && hasLateOne([...events.keys()], streamState)
  return {
    events: [...events.values()],
    changes: isToldAnew ? changes.map(change => ({ ...change, isKnown: false })) : changes,
    rejects,
  }
}

function eventRow(page: Page, widget: Widget, position: Sequence, item: Json): WidgetEventRow {
  return {
    room_uuid: page.series,
    widget,
    position,
    content_hash: hash('sha256', canonicalJson(item), 'hex'),
    data: item,
    received_at: arrivalTime(page),
  }
}

function readChange<T>(
  schema: z.ZodType<T>,
  item: Json,
): Omit<Change<T>, 'at' | 'isKnown' | 'position'> | Reject {
  const fields = fieldsOf(item)
  const judged = judge(Told, fields, '', item)
  if (!judged.ok) return judged.reject
  const { state, extra } = widgetChange(judged.value.changeProperties)
  const change = judge(schema, extra, 'changeProperties.extra', item)
  if (!change.ok) return change.reject
  const unread = unreadFields(['operator', 'fromUser'], fields, judged.value)
  return { item: judged.value, state, value: change.value, raw: isObject(extra) ? extra : {}, unread }
}

/** The document tells of "data items": their fields may stand in the item, or under its data as in an event. */
function fieldsOf(item: Json): Json {
  if (!isObject(item) || isSaid(item.changeProperties) || !isObject(item.data)) return item
  const { data, ...beside } = item
  return { ...beside, ...data }
}

const itemTime = open(instant)

/** The document shows no time; an item that has the `ts` of the rest of the API means it. */
function ownTime(item: Json): Timestamp | null {
  return timestampIfAny(itemTime.parse(isObject(item) ? item.ts : undefined))
}

/** What is new on the last page of a log that had been read to its end has just happened. */
function liveTime(page: Page, position: Sequence, streamState: WidgetState): Timestamp | null {
  const isLive = streamState.caughtUp && isLast(page) && !isKnown(position, streamState)
  return isLive ? timestamp(page.answeredAt) : null
}

function isKnown(position: Sequence, { seen }: WidgetState): boolean {
  return seen !== null && position <= seen
}

/** Whether the last page of a log holds an item that came later than others behind it. */
function hasLateOne(positions: readonly Sequence[], streamState: WidgetState): boolean {
  const { held } = streamState
  return held !== null && positions.filter(position => isKnown(position, streamState)).length > held
}

import { isObject, isRawJSON, isSaid, readNumber } from '../provider/fits.ts'
import { roomEvent } from '../tables/classroom.ts'
import type { Table } from '../tables/index.ts'
import type { Json, JsonObject } from '../tables/json.ts'

/** What is kept of people; what is `off` is never written. */
export interface Keeping {
  readonly chat: 'on' | 'off'
  readonly names: 'on' | 'off'
}

/** The command of the events that tell chat messages. */
export const chatCmd = 3

/** Fields that hold a person, or several. A text there is none, and may be a name. */
const people =
  'user|operator|sender|author|owner|creator|submitter|voter|participant|attendee|member|student|pupil|teacher'
const personField = new RegExp(`(?:${people})s?$|(?:people|persons?|rewardDetails)$`, 'i')
const listOfPeople = new RegExp(`(?:${people})s$|(?:people|persons|rewardDetails)$`, 'i')

const personId = new RegExp(`(?:${people}|account|peer)_?u?u?ids?$|^uids?$`, 'i')

/** Fields that hold what a person is called, also where nobody says of whom they speak. */
const nameField = /(?:names?|nick|alias)$/i
const plainName = new RegExp(
  `(?:${people}|nick|display|real|full|first|last|given|family)[_-]?names?$|nick$`,
  'i',
)
const otherName = /(?:resource|file|room|channel|app|class|stream|event|device|^c)[_-]?names?$/i

/** Who wrote a message. */
const sender = /^from_?user$/i

/** Fields of items that are no events: those of widgets may have theirs under `data`. */
const ofWidget = /^changeProperties$/
const ofFile = /^(?:recordId|resourceUuid)$/

/** What an answer says beside its data. */
const envelope = /^(?:code|msg|ts|nextId|total|count)$/i

/** Where a value stands. */
interface Place {
  /** Its field, or that of the list that it is in. */
  readonly field: string
  /** It tells of a person. */
  readonly isPerson: boolean
  /** It tells of a classroom. */
  readonly inClass: boolean
}

/**
 * Takes out what the operator does not keep: names and chats. What has another shape than it should have may hold either:
 * it is left out as a whole. What stands in its place is taken by its readers for what they took it for before.
 */
export class Unkept {
  readonly #chat: boolean
  readonly #names: boolean

  constructor({ chat, names }: Keeping) {
    this.#chat = chat === 'off'
    this.#names = names === 'off'
  }

  /** All is kept. */
  get isNothing(): boolean {
    return !this.#chat && !this.#names
  }

  row(table: Table, row: Readonly<Record<string, Json>>): Readonly<Record<string, Json>> {
    if (this.isNothing) return row
    const inClass = table.within === 'room'
    const left: Record<string, Json> = { ...row }
    for (const [field, { tells, type }] of Object.entries(table.columns)) {
      const value = row[field]
      if (!isSaid(value)) continue
      if (tells === 'name') left[field] = this.#names ? null : value
      else if (tells === 'chat' && this.#chat) left[field] = this.#chatColumn(value)
      else if (type === 'jsonb')
        left[field] = this.#value(value, { field, isPerson: tells === 'person', inClass })
      else if (type === 'text' && !tells && !table.key.includes(field) && isJsonText(String(value)))
        left[field] = ''
    }
    if (table !== roomEvent) return left
    const isChat = this.#chat && row.cmd === chatCmd
    return { ...left, data: this.#data(row.data ?? null, isChat), ...(isChat && { extra: null }) }
  }

  #chatColumn(value: Json): Json {
    if (!isObject(value)) return nothing(value)
    const kept = this.#message(value)
    return isEmpty(kept) ? null : kept
  }

  /** An item that was set aside: one of a log of events, a part of one that `detail` names, or another. */
  item(item: Json, detail: string, isOfEvents: boolean): Json {
    if (this.isNothing) return item
    const list = isOfEvents ? /^data\.(\w+)\.\d/.exec(detail)?.[1] : undefined
    if (list) return this.#value(item, { ...inEvent, field: list, isPerson: personField.test(list) })
    if (!isObject(item)) return nothing(item)
    return isOfEvents ? this.#event(item) : this.json(item, true)
  }

  /** An answer of classrooms that nobody could use. Of what is none of its items nobody knows what it tells. */
  answer(answer: Json): Json {
    if (this.isNothing) return answer
    if (Array.isArray(answer)) return answer.map(each => this.answer(each as Json))
    if (!isObject(answer)) return typeof answer === 'string' ? '' : answer
    const isOfWidget = [answer, answer.data].some(each => isObject(each) && has(each, ofWidget))
    if (isOfWidget || has(answer, ofFile)) return this.json(answer, true)
    if (has(answer, /^(?:cmd|sequence|roomUuid)$/i)) return this.#event(answer)
    const told = Object.entries(answer).map(([key, value]): [string, Json] => [
      key,
      envelope.test(key) && typeof value === 'string' ? value : this.answer(value),
    ])
    return Object.fromEntries(told)
  }

  /** Any JSON that is kept beside the tables. */
  json(value: Json, inClass: boolean): Json {
    return this.isNothing ? value : this.#value(value, { field: '', isPerson: false, inClass })
  }

  #value(value: Json, place: Place): Json {
    if (typeof value === 'string') return this.#text(value, place)
    if (Array.isArray(value)) return value.map(each => this.#value(each as Json, place))
    return isObject(value) && !isRawJSON(value) ? this.#object(value, place) : value
  }

  #text(text: string, { field, inClass }: Place): string {
    if ((inClass || this.#names) && isJsonText(text)) return ''
    const isPerson = this.#names && inClass && personField.test(field)
    return isPerson && readNumber(text) === undefined ? '' : text
  }

  #object(object: JsonObject, place: Place): Json {
    const { inClass } = place
    if (inClass && has(object, /^cmd$/i) && has(object, /^(?:data|sequence)$/i)) return this.#event(object)
    const isMessage = has(object, sender) && has(object, /^message$/i)
    return inClass && isMessage && this.#chat ? this.#message(object) : this.#fields(object, place)
  }

  #fields(object: JsonObject, { isPerson, inClass }: Place): JsonObject {
    const hasId = inClass && has(object, personId)
    const isMessage = has(object, sender)
    const fields = Object.entries(object).map(([key, value]): [string, Json] => {
      // Keys of widgets may be paths.
      const [field = '', owner = ''] = key.split('.').reverse()
      const ofPerson = isPerson || personField.test(owner)
      if (this.#names && isName(field, ofPerson || hasId))
        return [key, typeof value === 'string' ? null : nothing(value)]
      if (this.#names && inClass && listOfPeople.test(field) && isObject(value)) return [key, false]
      if (inClass && /^message$/i.test(field)) {
        if (this.#chat) return [key, nothing(value)]
        // Who writes may write JSON.
        if (isMessage && typeof value === 'string') return [key, value]
      }
      const tellsPerson = ofPerson || personField.test(field) || personId.test(field)
      return [key, this.#value(value, { field, isPerson: tellsPerson, inClass })]
    })
    return Object.fromEntries(fields)
  }

  /** An event as it came. One that does not say of what kind it is may be a message. */
  #event(event: JsonObject): JsonObject {
    const cmd = Object.entries(event).find(([key]) => /^cmd$/i.test(key))?.[1]
    const isChat = this.#chat && (readNumber(cmd) ?? chatCmd) === chatCmd
    const record = isChat ? recordOf(event) : this.#fields(event, inEvent)
    return 'data' in event ? { ...record, data: this.#data(event.data!, isChat) } : record
  }

  #data(data: Json, isChat: boolean): Json {
    if (isChat) return isObject(data) ? this.#message(data) : nothing(data)
    return this.#names && !isObject(data) ? nothing(data) : this.#value(data, inEvent)
  }

  /** Of a message that is not kept: who wrote it. */
  #message(message: JsonObject): JsonObject {
    const kept = Object.entries(message).filter(([key]) => /^(?:fromUser|message|type)$/.test(key))
    return Object.fromEntries(
      kept.map(([key, value]) => {
        if (key === 'fromUser' && isObject(value)) {
          return [key, this.#fields(senderOf(value), { ...inEvent, isPerson: true })]
        }
        return [key, key === 'type' ? numberOf(value) : nothing(value)]
      }),
    )
  }
}

const inEvent: Place = { field: 'data', isPerson: false, inClass: true }

/** Whether a field holds what a person is called. */
export function isName(field: string, isOfPerson: boolean): boolean {
  return nameField.test(field) && !otherName.test(field) && (isOfPerson || plainName.test(field))
}

/** What says of an event which one it is. */
function recordOf(event: JsonObject): JsonObject {
  const kept = Object.entries(event).filter(([key]) => /^(?:roomUuid|cmd|sequence|version|data)$/.test(key))
  return Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'roomUuid' ? scalarOf(value) : numberOf(value)]),
  )
}

/** Who wrote, as far as it is told in single words. */
function senderOf(person: JsonObject): JsonObject {
  const known = (key: string) =>
    personId.test(key) || isName(key, true) || /^(?:streamUuid|role|type|updateTime)$/.test(key)
  const kept = Object.entries(person).filter(([key]) => known(key))
  return Object.fromEntries(kept.map(([key, value]) => [key, scalarOf(value)]))
}

function numberOf(value: Json): Json {
  return readNumber(value) === undefined ? nothing(value) : value
}

function scalarOf(value: Json): Json {
  return typeof value === 'object' ? nothing(value) : value
}

/** What stands in the place of a value: a text stays one, and whoever could not read it still cannot. */
function nothing(value: Json): Json {
  if (value === null) return null
  return typeof value === 'string' ? '' : false
}

/** What is nested too deep comes as such a text, and anybody may write one. */
export function isJsonText(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false
  try {
    const told: unknown = JSON.parse(text)
    return typeof told === 'string' ? isJsonText(told) : true
  } catch {
    return false
  }
}

function has(object: object, key: RegExp): boolean {
  return Object.keys(object).some(each => key.test(each))
}

export function isEmpty(value: Json): boolean {
  return isObject(value) && Object.keys(value).length === 0
}

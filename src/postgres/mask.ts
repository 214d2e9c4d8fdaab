import { createHmac } from 'node:crypto'
import { isObject, isRawJSON } from '../provider/fits.ts'
import type { Reject } from '../streams/page.ts'
import { roomEvent } from '../tables/classroom.ts'
import type { RowSet, Table } from '../tables/index.ts'
import type { Json, JsonObject } from '../tables/json.ts'
import { readJson, writeJson } from './encode.ts'
import { chatCmd, isEmpty, isJsonText, isName, type Keeping, Unkept } from './unkept.ts'

/** By what a person is forgotten: everywhere in classrooms, everywhere in calls, or all who were in a room. */
export type Identity = 'user' | 'uid' | 'room'

/** Who is forgotten of an app: keyed hashes, which tell nothing to whoever lacks the key. */
export interface Forgotten {
  readonly key: Buffer
  /** As `markOf` makes them. */
  readonly marks: ReadonlySet<string>
}

/** The keyed hash by which someone who is forgotten is known again. */
export function markOf(key: Buffer, app: string, kind: Identity, id: string): string {
  return `${kind} ${hashed(key, [app, kind, id])}`
}

function hashed(key: Buffer, value: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(value)).digest('hex')
}

const pseudonym = /^forgotten-[0-9a-f]{16}$/

/** Fields that hold who a person is, and of these the ones that hold the ID of calls. */
const idField = /(?:user|account|peer|operator|sender|author|owner|stream)(?:_?u?u?ids?|s)?$|^uids?$/i
const uidField = /^uids?$|stream|peer/i

/** Fields that never hold anything of a person, and by which rows belong together. */
const otherField =
  /(?:role|type|state|status|action|kind|mode|cmd|version|ext|source|platform|network|region|(?:^c|channel_?|room_?)name|id)$/i

/** A shorter ID is looked for only where IDs stand: as a word of other texts it may mean anything. */
export const shortest = 6

/** What may be an ID inside a text: with all that stands between two of its letters, with what an address of mail has, and without. */
const words = [
  /[\p{L}\p{N}_](?:[^\s"'<>\\,;]*[\p{L}\p{M}\p{N}_])?/gu,
  /[\p{L}\p{M}\p{N}_.@+-]+/gu,
  /[\p{L}\p{M}\p{N}_-]+/gu,
]

/** A room that a text of JSON names, as it stands there. */
const roomOfText = /"roomUuid"\s*:\s*("(?:[^"\\]|\\.)*")/g

/** What stands in the place of bytes that may tell of people. */
const withheld = /^\[withheld: \d+ bytes that cannot be read may tell of people\]$/

/** IDs that were looked up, and are remembered for all apps at most. */
const mostRemembered = 20_000

/** What stands for IDs that were looked up, by mask; undefined of who is not forgotten. */
export type Remembered = Map<string, string | undefined>

/** Where a value stands. */
interface Place {
  /** Its field, or that of the list that it is in. */
  readonly field: string
  /** Everyone is masked who is told there. */
  readonly everyone: boolean
  /** It tells of a classroom. */
  readonly inClass: boolean
  /** It is what else was told of a person, and the person's pseudonym where that one is masked. */
  readonly isPerson?: boolean
  readonly person?: string | undefined
  /** It is a chat message, and its text is not kept. */
  readonly isChat?: boolean
}

/** Takes out of what one app brings whoever is forgotten, and what is not kept of anybody. */
export class Mask {
  /** How many are forgotten: whoever commits with fewer than there are must begin again. */
  readonly count: number
  readonly #app: string
  readonly #unkept: Unkept
  readonly #forgotten: Forgotten
  static #made = 0
  /** Who looks up what must not be told what another one was told. */
  readonly #mine = `${Mask.#made++}`
  readonly #remembered: Remembered

  /** `remembered` is shared by the masks of all apps, of which there may be thousands. */
  constructor(app: string, keeping: Keeping, forgotten: Forgotten, remembered: Remembered = new Map()) {
    this.#remembered = remembered
    this.#app = app
    this.#unkept = new Unkept(keeping)
    this.#forgotten = forgotten
    this.count = forgotten.marks.size
  }

  get #isIdle(): boolean {
    return this.count === 0 && this.#unkept.isNothing
  }

  /** What a page brings, without the people who are not kept of it. Keys, counts and digests stay as they are. */
  page<P extends { readonly rows: RowSet; readonly rejects: readonly Reject[]; readonly series?: string }>(
    page: P,
    writes: readonly Table[],
    isOfRoom = false,
  ): P {
    if (this.#isIdle) return page
    const rows = Object.entries(page.rows).map(([name, rows]) => {
      const table = writes.find(each => each.name === name)
      return [name, table ? (rows as readonly object[]).map(row => this.row(table, row, isOfRoom)) : rows]
    })
    const inClass = writes.some(({ within }) => within === 'room')
    const isOfEvents = writes.includes(roomEvent)
    const rejects = page.rejects.map(({ item = null, ...why }) => {
      const kept = inClass
        ? this.#unkept.item(item as Json, why.detail, isOfEvents)
        : this.#unkept.json(item as Json, false)
      return { ...why, item: this.#item(kept, page.series ?? '', inClass, isOfRoom) }
    })
    return { ...page, rows: Object.fromEntries(rows), rejects }
  }

  /** `isOfRoom`: it is of a room that is forgotten, whatever it says itself. */
  row<Row extends object>(table: Table, row: Row, isOfRoom = false): Row {
    if (this.#isIdle) return row
    const values = this.#unkept.row(table, row as Readonly<Record<string, Json>>)
    if (this.count === 0) return values as Row
    const everyone = isOfRoom || this.isForgottenRoom(values.room_uuid ?? values.cname)
    const inClass = table.within === 'room'
    const columns = Object.entries(table.columns).filter(([column]) => values[column] !== undefined)
    const masked: Record<string, Json> = { ...values }
    let person: string | undefined
    for (const [column, { tells }] of columns) {
      const value = values[column]!
      if ((tells !== 'user' && tells !== 'uid') || typeof value !== 'string') continue
      masked[column] = this.id(value, tells, everyone)
      if (tells === 'user') person = asPseudonym(masked[column])
    }
    const place = { field: '', everyone, inClass, person }
    for (const [column, { tells, type }] of columns) {
      const value = values[column]!
      const isKey = table.key.includes(column)
      if (tells === 'name') masked[column] = this.#name(value, place)
      else if (tells === 'chat' && type === 'text') masked[column] = this.#chatText(value, place)
      else if (type === 'text' && !tells && !isKey)
        masked[column] = this.#value(value, { ...place, field: column, everyone: false })
      else if (type === 'jsonb') {
        const tellsChat =
          tells === 'chat' || (table === roomEvent && column === 'data' && values.cmd === chatCmd)
        const isChat = tellsChat && this.#isUnkeptChat(place)
        const json = this.#value(value, { ...place, isPerson: tells === 'person', isChat })
        masked[column] = tells === 'chat' && isEmpty(json) ? null : json
      }
    }
    return masked as Row
  }

  /** Any JSON that is kept beside the tables. */
  json(value: Json, inClass: boolean, everyone: boolean): Json {
    if (this.#isIdle) return value
    return this.#value(this.#unkept.json(value, inClass), { field: '', everyone, inClass })
  }

  /** What is remembered from page to page of an item of the work queue: of people, the users that were counted. */
  ofItem(state: Json, everyone: boolean): Json {
    if (this.#isIdle || !isObject(state) || !Array.isArray(state.users)) return state
    return { ...state, users: this.#value(state.users, { field: 'users', everyone, inClass: false }) } as Json
  }

  /** Bytes that could not be used: of what nobody can read nobody can tell whether it names someone. */
  letter(body: Uint8Array, series: string, inClass: boolean, isOfRoom = false): Uint8Array {
    if (this.#isIdle) return body
    const text = Buffer.from(body).toString()
    const everyone = isOfRoom || this.isForgottenRoom(series)
    try {
      const item = readJson(text) as Json
      const before = writeJson(item)
      const kept = inClass ? this.#unkept.answer(item) : this.#unkept.json(item, false)
      const after = writeJson(this.#item(kept, series, inClass, isOfRoom))
      return after === before ? body : Buffer.from(after)
    } catch {
      const isUnkept = inClass && !this.#unkept.isNothing
      const isOfForgotten = everyone || this.#namesForgottenRoom(text)
      const tellsOfSomeone = isOfForgotten || this.#text(text, { field: '', everyone, inClass }) !== text
      if (withheld.test(text) || (!isUnkept && !tellsOfSomeone)) return body
      return Buffer.from(`[withheld: ${body.length} bytes that cannot be read may tell of people]`)
    }
  }

  /** An item that was set aside, which may be a whole event or a page of them. */
  #item(item: Json, series: string, inClass: boolean, isOfRoom = false): Json {
    if (Array.isArray(item)) return item.map(each => this.#item(each as Json, series, inClass, isOfRoom))
    const room = isObject(item) ? (item.roomUuid ?? series) : series
    const place = { field: '', everyone: isOfRoom || this.isForgottenRoom(room), inClass }
    if (!isObject(item) || item.cmd !== chatCmd) return this.#value(item, place)
    const { data = null, ...record } = item
    const told = this.#value(data, { ...place, isChat: this.#isUnkeptChat(place) })
    return { ...(this.#value(record, place) as JsonObject), data: told }
  }

  #value(value: Json, place: Place): Json {
    if (typeof value === 'string') return this.#holdsSomeone(value, place) ? '' : this.#text(value, place)
    if (typeof value === 'number' || typeof value === 'bigint') return this.#number(value, place)
    if (Array.isArray(value)) return value.map(each => this.#value(each as Json, place))
    return isObject(value) && !isRawJSON(value) ? this.#object(value, place) : value
  }

  #object(object: JsonObject, around: Place): Json {
    const isOfForgotten = around.inClass && this.isForgottenRoom(object.roomUuid)
    const place = isOfForgotten ? { ...around, everyone: true } : around
    const inside = (field: string): Place => ({ field, everyone: place.everyone, inClass: place.inClass })
    const entries = Object.entries(object)
    const ids = entries.filter(([key, value]) => idField.test(key) && isScalar(value))
    const masked = ids.flatMap(([key, value]) => asPseudonym(this.#value(value, inside(key))) ?? [])
    const author = isObject(object.fromUser) ? this.#personOf(object.fromUser, inside('fromUser')) : undefined
    const person = masked[0] ?? place.person
    const isPerson = place.isPerson || ids.length > 0
    const isChat =
      place.isChat ||
      (isObject(object.fromUser) && 'message' in object && this.#isUnkeptChat({ ...place, person: author }))
    const kept = isChat ? entries.filter(([key]) => /^(?:fromUser|message|type)$/.test(key)) : entries
    const told = kept.map(([key, value]): [string, Json] => {
      const name = this.#text(key, { ...place, field: '' })
      if (key === 'message' && isChat) return [name, typeof value === 'string' ? '' : null]
      if (key === 'message')
        return [name, this.#chatText(value, { ...place, everyone: false, person: undefined })]
      if (isName(key, isPerson)) return [name, this.#name(value, { ...place, person })]
      return [name, this.#value(value, inside(key))]
    })
    return Object.fromEntries(told)
  }

  /** The pseudonym of the person whom an object tells, where that one is masked. */
  #personOf(object: JsonObject, place: Place): string | undefined {
    const own = Object.entries(object).find(([key, value]) => idField.test(key) && isScalar(value))
    if (!own) return undefined
    return asPseudonym(this.#value(own[1], { ...place, field: own[0] }))
  }

  #isUnkeptChat({ everyone, person }: Place): boolean {
    return everyone || person !== undefined
  }

  #chatText(value: Json, place: Place): Json {
    if (typeof value === 'string' && this.#isUnkeptChat(place)) return ''
    return this.#value(value, { ...place, field: 'message' })
  }

  /** What is no text was not taken for a name by whoever read it, and must not become one. */
  #name(value: Json, place: Place): Json {
    const { everyone, person } = place
    if (value === null) return value
    if (!everyone && person === undefined) return this.#value(value, { ...place, field: 'name' })
    return typeof value === 'string' ? (person ?? null) : false
  }

  /** What was a number stays one: whoever read it did not take it for an ID. */
  #number(value: number | bigint, { field, everyone, inClass }: Place): Json {
    const text = String(value)
    if (!idField.test(field)) return value
    const masked = this.id(text, kindOf(field, inClass), everyone)
    return masked === text ? value : -Number.parseInt(masked.slice(-12), 16)
  }

  /** A text of JSON is masked as a whole: what stands in it beside an ID is no name that could be found. */
  #holdsSomeone(text: string, { everyone }: Place): boolean {
    if (this.count === 0 || !isJsonText(text)) return false
    const isKnown = (word: string) => this.#known('user', word) ?? this.#known('uid', word)
    return everyone || words.some(word => text.match(word)?.some(isKnown))
  }

  #text(text: string, { field, everyone, inClass }: Place): string {
    if (idField.test(field)) return this.id(text, kindOf(field, inClass), everyone)
    if (this.count === 0 || text.length < shortest || otherField.test(field)) return text
    const masked = (each: string) =>
      each.length < shortest ? each : (this.#known('user', each) ?? this.#known('uid', each) ?? each)
    return words.reduce((told, word) => told.replace(word, masked), masked(text))
  }

  /** Empty is nobody, and 0 the user of the session that a value was measured in. */
  id(text: string, kind: 'user' | 'uid', everyone: boolean): string {
    if (text === '' || text === '0' || pseudonym.test(text)) return text
    return this.#known(kind, text) ?? (everyone ? this.#pseudonymOf(text) : text)
  }

  #known(kind: 'user' | 'uid', text: string): string | undefined {
    if (this.count === 0) return undefined
    const name = `${this.#mine} ${kind} ${text}`
    if (this.#remembered.has(name)) return this.#remembered.get(name)
    const { key, marks } = this.#forgotten
    const found = marks.has(markOf(key, this.#app, kind, text)) ? this.#pseudonymOf(text) : undefined
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear()
    this.#remembered.set(name, found)
    return found
  }

  /** Whether any room is. */
  get hasRooms(): boolean {
    return [...this.#forgotten.marks].some(mark => mark.startsWith('room '))
  }

  isForgottenRoom(room: Json | undefined): boolean {
    if (this.count === 0 || typeof room !== 'string' || room === '') return false
    const { key, marks } = this.#forgotten
    return marks.has(markOf(key, this.#app, 'room', room))
  }

  /** Whether a text that nobody can read says all the same that it is of such a room. */
  #namesForgottenRoom(text: string): boolean {
    if (!this.hasRooms) return false
    return [...text.matchAll(roomOfText)].some(([, name]) => {
      try {
        return this.isForgottenRoom(JSON.parse(name!) as Json)
      } catch {
        return true
      }
    })
  }

  /** One for each person of an app, whatever they were forgotten by. */
  #pseudonymOf(id: string): string {
    return `forgotten-${hashed(this.#forgotten.key, [this.#app, id]).slice(0, 16)}`
  }
}

function kindOf(field: string, inClass: boolean): 'user' | 'uid' {
  return uidField.test(field) || (!inClass && !/account/i.test(field)) ? 'uid' : 'user'
}

/** What was masked before is told like what is masked now. */
function asPseudonym(id: Json | undefined): string | undefined {
  return typeof id === 'string' && pseudonym.test(id) ? id : undefined
}

function isScalar(value: Json): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
}

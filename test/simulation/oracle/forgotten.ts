import { Findings } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** Somebody who is to be forgotten: in classrooms by the ID of a user, in calls by that of calls, or whoever was in a room. */
export interface Person {
  readonly app: string
  readonly kind: 'user' | 'uid' | 'room'
  readonly id: string
}

/** Every row of every table as a text, by the name of the table. */
export type Told = ReadonlyMap<string, readonly string[]>

/** All that is stored, but what tells of nobody: how far it was read. */
export async function readTold({ rows }: Examination): Promise<Told> {
  const tables = await rows<{ name: string }>(
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('classroom', 'analytics', 'players', 'ingest') and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  )
  const told = new Map<string, readonly string[]>()
  for (const { name } of tables) {
    const texts = await rows<{ text: string }>(`select to_jsonb(t)::text as text from ${name} t`)
    told.set(
      name,
      texts.map(({ text }) => text),
    )
  }
  return told
}

/** Tables whose rows stay as they are once all is read, but for who is told there. */
const lasting = /^classroom\.(?!room$)|^analytics\.(call_session|session_series)$/
const pseudonym = /forgotten-[0-9a-f]{16}/g

/**
 * Of who is forgotten the ID stands nowhere any more, also after their rooms and calls were read again; what else is told of
 * them goes with it. Rows stay, and what tells of others stays as it is.
 */
export async function examineForgotten(
  { rows }: Examination,
  people: readonly Person[],
  before: Told,
  after: Told,
): Promise<readonly Finding[]> {
  const found = new Findings()
  const names = people.map(({ id }) => ({ id, ...wordOf(id) }))
  const tells = ({ plain, bytes }: (typeof names)[number], text: string) =>
    plain.test(text) || text.includes(bytes)
  const pseudonyms = new Set<string>()
  for (const [table, texts] of after) {
    for (const text of texts) for (const [name] of text.matchAll(pseudonym)) pseudonyms.add(name)
    for (const name of names)
      for (const text of texts)
        if (tells(name, text))
          found.add('different', `forgotten in ${table}`, `${name.id} still stands in ${text.slice(0, 300)}`)
    if (!lasting.test(table)) continue
    const former = before.get(table) ?? []
    if (former.length !== texts.length)
      found.add('lost', `forgotten in ${table}`, `there were ${former.length} rows, and are ${texts.length}`)
    const now = new Set(texts)
    for (const text of former)
      if (!now.has(text) && !names.some(name => tells(name, text)))
        found.add('lost', `forgotten in ${table}`, `of others there was ${text.slice(0, 300)}`)
  }
  const toldOf = names.filter(name =>
    [...before.values()].some(texts => texts.some(text => tells(name, text))),
  )
  if (pseudonyms.size !== toldOf.length)
    found.add('different', 'forgotten', `${toldOf.length} people have ${pseudonyms.size} pseudonyms`)
  const words = await rows<{ user: string; name: string | null; message: string | null }>(
    `select user_uuid as user, user_name as name, message from classroom.chat_message where user_uuid ~ '^forgotten-'
     union all select user_uuid, user_name, null from classroom.attendance where user_uuid ~ '^forgotten-'`,
  )
  for (const { user, name, message } of words) {
    if (name !== null && name !== user) found.add('different', 'forgotten', `${user} is called ${name}`)
    if (message) found.add('different', 'forgotten', `${user} wrote ${message}`)
  }
  return found.list()
}

/** Who was forgotten comes to another class, and is told by nothing that is stored. */
export function examineToldAgain(people: readonly Person[], told: Told): readonly Finding[] {
  const found = new Findings()
  for (const { id } of people) {
    const { plain, bytes } = wordOf(id)
    for (const [table, texts] of told)
      for (const text of texts)
        if (plain.test(text) || text.includes(bytes))
          found.add('different', `told again in ${table}`, `${id} stands in ${text.slice(0, 300)}`)
  }
  return found.list()
}

/**
 * Of whoever was in a room of that name, however often it was used, no row of it tells any more, nor what they wrote; its rows
 * stay, and those of other rooms stay as they are.
 */
export function examineRoomForgotten(room: Room, before: Told, after: Told): readonly Finding[] {
  const found = new Findings()
  const isOf = ofRoom(room, before)
  const people = new Set(
    (before.get('classroom.attendance') ?? []).filter(isOf).flatMap(text => {
      const { user_uuid: id } = JSON.parse(text) as { readonly user_uuid: string | null }
      return id === null || namesIn(id).length > 0 ? [] : [id]
    }),
  )
  const words = [...people].map(id => ({ id, ...wordOf(id) }))
  for (const [table, texts] of after) {
    const [own, others] = [texts.filter(isOf), texts.filter(text => !isOf(text))]
    for (const { id, plain, bytes } of words)
      for (const text of own)
        if (plain.test(text) || text.includes(bytes))
          found.add('different', `room forgotten in ${table}`, `${id} still stands in ${text.slice(0, 300)}`)
    if (!lasting.test(table)) continue
    const former = before.get(table) ?? []
    const count = former.filter(isOf).length
    if (count !== own.length)
      found.add('lost', `room forgotten in ${table}`, `there were ${count} rows, and are ${own.length}`)
    const now = new Set(others)
    for (const text of former)
      if (!isOf(text) && !now.has(text))
        found.add('lost', `room forgotten in ${table}`, `of others there was ${text.slice(0, 300)}`)
  }
  for (const text of (after.get('analytics.call_session') ?? []).filter(isOf)) {
    const { uid } = JSON.parse(text) as { readonly uid: string | null }
    if (uid !== null && namesIn(uid).length === 0)
      found.add('different', 'room forgotten', `${uid} was in a call`)
  }
  for (const text of (after.get('classroom.chat_message') ?? []).filter(isOf)) {
    const { message } = JSON.parse(text) as { readonly message: string }
    if (message !== '') found.add('different', 'room forgotten', `somebody wrote ${message}`)
  }
  return found.list()
}

/**
 * Of a class that comes after a room was forgotten nobody is taken out with it: in what tells of other rooms, and of calls that
 * were in none of that name, no other pseudonyms stand than before.
 */
export function examineToldBeside(room: Room, before: Told, after: Told): readonly Finding[] {
  const found = new Findings()
  const isOf = ofRoom(room, after)
  const known = new Set(
    [...before].flatMap(([, texts]) => texts.filter(text => !isOf(text)).flatMap(namesIn)),
  )
  for (const [table, texts] of after) {
    if (!lasting.test(table)) continue
    for (const text of texts)
      if (!isOf(text) && namesIn(text).some(name => !known.has(name)))
        found.add(
          'lost',
          `told beside a forgotten room in ${table}`,
          `somebody else is masked in ${text.slice(0, 300)}`,
        )
  }
  return found.list()
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(pseudonym)].map(([name]) => name)
}

/** Whether a row is of a room, whichever class it was, or of a call in it. */
function ofRoom(room: Room, told: Told): (text: string) => boolean {
  type Row = Readonly<Record<string, unknown>>
  const calls = new Set(
    (told.get('analytics.call') ?? [])
      .map(text => JSON.parse(text) as Row)
      .filter(({ app_id, cname }) => app_id === room.app && cname === room.name)
      .map(({ call_id }) => call_id),
  )
  return text => {
    const row = JSON.parse(text) as Row
    const isOfLetter = typeof row.body === 'string' && bytesOf(row.body).includes(JSON.stringify(room.name))
    const isOwn = (row.room_uuid ?? row.series) === room.name || calls.has(row.call_id)
    return row.app_id === room.app && (isOwn || isOfLetter)
  }
}

/** What stands in bytes as the database writes them. */
function bytesOf(hex: string): string {
  return Buffer.from(hex.replace(/^\\x/, ''), 'hex').toString()
}

/** A room, however often its name was used. */
export interface Room {
  readonly app: string
  readonly name: string
}

/** How an ID stands in a text, and how in bytes. */
function wordOf(id: string): { readonly plain: RegExp; readonly bytes: string } {
  const escaped = id.replaceAll(/[^\w-]/g, '\\$&')
  return { plain: new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`), bytes: Buffer.from(id).toString('hex') }
}

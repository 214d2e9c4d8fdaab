import { Findings } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** Somebody who is to be forgotten: in classrooms by the ID of a user, in calls by that of calls. */
export interface Person {
  readonly app: string
  readonly kind: 'user' | 'uid'
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

/** How an ID stands in a text, and how in bytes. */
function wordOf(id: string): { readonly plain: RegExp; readonly bytes: string } {
  const escaped = id.replaceAll(/[^\w-]/g, '\\$&')
  return { plain: new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`), bytes: Buffer.from(id).toString('hex') }
}

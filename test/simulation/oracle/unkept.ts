import { Findings } from './asked.ts'
import { fieldsOf } from './event-rows.ts'
import type { Examination, Finding } from './examination.ts'
import { readTold } from './forgotten.ts'

type Fields = Readonly<Record<string, unknown>>

/** The command of an event that is a chat message. */
const chat = 3
/** A shorter message may stand anywhere. */
const shortest = 8

/** An event or an item as it is stored where neither names nor chats are kept: of a message its writer stays. */
export function withoutPeople<Told extends object>(told: Told): Told {
  const { cmd, data } = told as { readonly cmd?: unknown; readonly data?: unknown }
  if (cmd !== chat) return nameless(told) as Told
  const { fromUser, message, type } = fieldsOf(data)
  const kept = {
    fromUser,
    type,
    ...(message !== undefined && { message: typeof message === 'string' ? '' : false }),
  }
  return { ...told, data: nameless(kept) }
}

function nameless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nameless)
  if (typeof value !== 'object' || value === null) return value
  const told = Object.entries(value).map(([key, inner]) => [key, key === 'userName' ? null : nameless(inner)])
  return Object.fromEntries(told)
}

/** Where neither names nor chats are kept none of those that the provider told stands anywhere, in letters neither. */
export async function examineUnkept(examination: Examination): Promise<readonly Finding[]> {
  if (!examination.isDiscreet) return []
  const words = new Map<string, string>()
  for (const line of examination.sandbox.truth()) {
    if (line.kind !== 'event' && line.kind !== 'widget') continue
    for (const word of wordsIn(line.kind === 'event' ? line.data : line.item))
      words.set(word, Buffer.from(word).toString('hex'))
  }
  const found = new Findings()
  for (const [table, rows] of await readTold(examination)) {
    const text = rows.join('\n')
    for (const [word, bytes] of words)
      if (text.includes(word) || text.includes(bytes))
        found.add('different', `unkept in ${table}`, `${JSON.stringify(word)} stands in it`)
  }
  return found.list()
}

function wordsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(wordsIn)
  return Object.entries(fieldsOf(value) as Fields).flatMap(([key, inner]) => {
    const isName = key === 'userName' && typeof inner === 'string'
    const isMessage = key === 'message' && typeof inner === 'string' && inner.length >= shortest
    return isName || isMessage ? [inner] : wordsIn(inner)
  })
}

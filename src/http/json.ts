import { setImmediate } from 'node:timers/promises'
import { redactBytes } from '../provider/redaction.ts'
import { exactNumber, type JsonCaps, JsonError, type Part, scanJson } from './json-scan.ts'

export { type JsonCaps, JsonError, JsonTooLarge } from './json-scan.ts'

/** Half a million pairs of numbers, each an array and two values: twice what twenty sessions of an hour have. */
const defaultJsonCaps: JsonCaps = {
  depth: 64,
  nodes: 500_000,
  scalars: 1_000_000,
  members: 50_000,
  precious: 100_000,
}

/** `decodeSteps` in one go. */
export function decodeJson(bytes: Uint8Array, caps?: JsonCaps): unknown {
  return atOnce(decodeSteps(bytes, caps))
}

/**
 * Reads a JSON body without losing a digit: integers beyond 2^53 become bigint; a number that a double cannot
 * hold (1e400) becomes the object of JSON.rawJSON, which JSON.stringify writes as it came. Of duplicate keys the
 * last one counts; `__proto__` is a key like any other. What is nested too deep becomes the text of its JSON, without white space and
 * secrets: whoever takes part in a class may nest what it sends, and nobody else's events are to be lost by that. A byte
 * order mark is passed over, as RFC 8259 allows: what a feed tells once must not be lost by it. Throws JsonError for invalid
 * UTF-8 and anything that is no JSON, and JsonTooLarge for one with too many parts.
 *
 * Yields after each few milliseconds of work, so that others may have their turn in a long body.
 */
export function* decodeSteps(body: Uint8Array, caps: JsonCaps = defaultJsonCaps): Steps<unknown> {
  const isMarked = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  const bytes = isMarked ? body.subarray(3) : body
  if (bytes.length === 0) throw new JsonError('the body is empty')
  const { parts, precious, deep, values: count } = scanJson(bytes, caps)
  const values = new Array<unknown>(count)
  for (let i = 0; i < precious.length; i += 3) {
    values[precious[i + 2]!] = exactNumber(bytes, precious[i]!, precious[i + 1]!)
  }
  for (let i = 0; i < deep.length; i += 3) {
    yield
    values[deep[i + 2]!] = textOfDeep(bytes.subarray(deep[i]!, deep[i + 1]!))
  }
  for (const part of parts) {
    if (part.of > 0) yield
    add(values, part, putBack(parse(textOf(bytes, part)), values, part.marks.length > 0))
  }
  return values[0]
}

/** The text of a part, in which `[1e999,n]` stands for the n-th value. */
function textOf(bytes: Uint8Array, { holds, from, to, marks }: Part): string {
  const pieces: string[] = []
  let end = from
  for (let i = 0; i < marks.length; i += 3) {
    pieces.push(decodeUtf8(bytes.subarray(end, marks[i])), `[1e999,${marks[i + 2]}]`)
    end = marks[i + 1]!
  }
  pieces.push(decodeUtf8(bytes.subarray(end, to)))
  const text = pieces.length === 1 ? pieces[0]! : pieces.join('')
  return holds === 'elements' ? `[${text}]` : text
}

/** What tells the inside of texts of JSON from what is between them; a pattern of whole texts fails on those of megabytes. */
const quoteOrSpace = /\\.|"|[ \t\n\r]+/g

function textOfDeep(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes)
  parse(text)
  let isInside = false
  const told = text.replace(quoteOrSpace, found => {
    if (found === '"') isInside = !isInside
    return isInside || found === '"' ? found : ''
  })
  return decodeUtf8(redactBytes(Buffer.from(told)))
}

/** Puts what was parsed where it belongs. */
function add(values: unknown[], { holds, of }: Part, parsed: unknown): void {
  if (holds === 'value') {
    values[of] = parsed
    return
  }
  const elements = parsed as unknown[]
  // Nothing stood behind the last comma.
  if (elements.length === 0) throw new JsonError('the body is not JSON')
  const known = values[of] as unknown[] | undefined
  if (!known) values[of] = elements
  else for (const element of elements) known.push(element)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new JsonError('the body is not JSON')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new JsonError('the body is not UTF-8')
  }
}

/**
 * Marks in a text of JSON stand for values that are kept beside it: `[1e999,n]` for the n-th of them. JSON.parse reads
 * 1e999 as Infinity, and every number that it would read so is itself kept beside, so that nothing else in a body can
 * look like a mark. A reviver would find them too, but calls a function for every value, and builds each array twice.
 */
function putBack(parsed: unknown, values: readonly unknown[], hasMarks: boolean): unknown {
  return hasMarks && typeof parsed === 'object' && parsed !== null ? back(parsed, values) : parsed
}

/** Only what is there already is replaced, so that a key `__proto__` stays a plain one. */
function back(parsed: object, values: readonly unknown[]): unknown {
  if (Array.isArray(parsed)) {
    if (parsed.length === 2 && parsed[0] === Number.POSITIVE_INFINITY) return values[parsed[1]]
    for (let i = 0; i < parsed.length; i++) {
      const inner: unknown = parsed[i]
      if (typeof inner === 'object' && inner !== null) parsed[i] = back(inner, values)
    }
    return parsed
  }
  for (const [key, inner] of Object.entries(parsed)) {
    if (typeof inner !== 'object' || inner === null) continue
    const value = back(inner, values)
    if (value !== inner) Object.defineProperty(parsed, key, { value })
  }
  return parsed
}

/** Work that takes long: it yields after each few milliseconds of it. */
export type Steps<T> = Generator<undefined, T, void>

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Lets everything else that waits have its turn between two steps. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await setImmediate()
  }
}

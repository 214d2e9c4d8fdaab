import { exactNumber } from './json-number.ts'
import { type JsonCaps, JsonError, type Part, scanJson } from './json-scan.ts'
import { putBack } from './marks.ts'
import { atOnce, type Steps } from './steps.ts'

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
 * last one counts; `__proto__` is a key like any other. Throws JsonError for a byte order mark, invalid UTF-8,
 * a body too deep and anything that is no JSON, and JsonTooLarge for one with too many parts.
 *
 * Yields after each few milliseconds of work, so that others may have their turn in a long body.
 */
export function* decodeSteps(bytes: Uint8Array, caps: JsonCaps = defaultJsonCaps): Steps<unknown> {
  if (bytes.length === 0) throw new JsonError('the body is empty')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new JsonError('the body begins with a byte order mark')
  }
  const { parts, precious, values: count } = scanJson(bytes, caps)
  const values = new Array<unknown>(count)
  for (let i = 0; i < precious.length; i += 3) {
    values[precious[i + 2]!] = exactNumber(bytes, precious[i]!, precious[i + 1]!)
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

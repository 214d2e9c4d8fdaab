export interface JsonCaps {
  /** Deepest nesting of objects and arrays. JSON.stringify dies at some thousand levels, JSON.parse does not. */
  readonly depth: number
  /** Most object keys, arrays and objects together: what costs memory far beyond its bytes. */
  readonly nodes: number
}

export const defaultJsonCaps: JsonCaps = { depth: 64, nodes: 500_000 }

/** A body that is no acceptable JSON. The text is a clause of ours and holds nothing of the body. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

/** Where nothing matches, no number can lose a digit or overflow, and plain JSON.parse is exact. */
const suspicious = /\d{16}|\d[eE][+-]?\d{3}/

const integer = /^-?\d+$/

/** A longer integer is an attack, and BigInt takes its time over millions of digits. */
const longestInteger = 1_000

const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => object }

/**
 * Reads a JSON body without losing a digit: integers beyond 2^53 become bigint; a number that a double cannot
 * hold (1e400) becomes the object of JSON.rawJSON, which JSON.stringify writes as it came. Of duplicate keys the
 * last one counts; `__proto__` is a key like any other. Throws JsonError for a byte order mark, invalid UTF-8,
 * a body too deep or with too many parts, and anything that is no JSON.
 */
export function decodeJson(bytes: Uint8Array, caps: JsonCaps = defaultJsonCaps): unknown {
  if (bytes.length === 0) throw new JsonError('the body is empty')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new JsonError('the body begins with a byte order mark')
  }
  checkSize(bytes, caps)
  const text = decodeUtf8(bytes)
  try {
    return suspicious.test(text) ? JSON.parse(text, keepNumber) : JSON.parse(text)
  } catch {
    throw new JsonError('the body is not JSON')
  }
}

function keepNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value
  if (integer.test(source) && source.length <= longestInteger) return BigInt(source)
  return Number.isFinite(value) && !integer.test(source) ? value : rawJSON(source)
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new JsonError('the body is not UTF-8')
  }
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const openArray = 0x5b
const openObject = 0x7b
const closeArray = 0x5d
const closeObject = 0x7d

/** One pass over the bytes before anything is built of them; no byte of a longer UTF-8 character looks like these. */
function checkSize(bytes: Uint8Array, caps: JsonCaps): void {
  let depth = 0
  let nodes = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === quote) {
      i = endOfString(bytes, i + 1)
    } else if (byte === openArray || byte === openObject) {
      nodes++
      if (++depth > caps.depth) throw new JsonError(`the body is nested deeper than ${caps.depth}`)
    } else if (byte === closeArray || byte === closeObject) {
      depth--
    } else if (byte === colon) {
      nodes++
    }
    if (nodes > caps.nodes) throw new JsonError(`the body has more than ${caps.nodes} parts`)
  }
}

function endOfString(bytes: Uint8Array, start: number): number {
  let i = start
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1
  return i
}

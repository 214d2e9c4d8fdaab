import type { Json } from '../tables/json.ts'

/** Escapes what Postgres refuses: NUL, lone surrogates, and the escape character itself. */
const ESCAPE = '\\u001a'

/** An escaped backslash is matched first, so that the text `\\u0000` is not taken for a NUL. */
const refused = /\\(?:\\|u(0000|001a|d[89a-f][0-9a-f]{2}))/g

/**
 * Writes a value as JSON that Postgres takes without loss. NUL, lone surrogates and U+001A become U+001A and
 * their four hex digits, so that two texts which differ only there stay different. bigint keeps every digit.
 */
export function encodeJson(value: unknown): string {
  return escaped(writeJson(value))
}

/** Reads JSON as it came from elsewhere, to the last digit and character. */
export function readJson(text: string): unknown {
  return decodeJson(escaped(text))
}

function escaped(text: string): string {
  if (!text.includes('\\u')) return text
  return text.replace(refused, (match, unit: string | undefined) => (unit ? `${ESCAPE}${unit}` : match))
}

/** Reads what encodeJson wrote, to the last digit and character. */
export function decodeJson(text: string): unknown {
  return JSON.parse(text, revive)
}

/** The same of a column that may be null. */
export function decodeColumn(text: string | null): Json {
  return text === null ? null : (decodeJson(text) as Json)
}

/** Escapes a text that is bound as it is; encodeJson does the same to texts inside a value. */
export function encodeText(text: string): string {
  const isTaken = text.isWellFormed() && !text.includes('\0') && !text.includes('\u001a')
  return isTaken ? text : (JSON.parse(encodeJson(text)) as string)
}

/** Undoes the escaping of encodeJson and encodeText in one string as read from Postgres. */
export function decodeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: U+001A is the escape character
  return text.replace(/\u001a([0-9a-f]{4})/g, (_, unit: string) =>
    String.fromCharCode(Number.parseInt(unit, 16)),
  )
}

/** JSON of a value, bigint with every digit. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // JSON.stringify refuses bigint; a replacer costs several times as much, so only such pages pay for it.
    return JSON.stringify(value, (_, item: unknown) =>
      typeof item === 'bigint' ? rawJson(item.toString()) : item,
    )
  }
}

function revive(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value === 'string') return decodeText(value)
  if (typeof value === 'number') return exactInteger(value, context?.source)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if (!Object.keys(value).some(key => key.includes('\u001a'))) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [decodeText(key), item]))
}

/** Integers above 2^53 come back with every digit, as they were written. */
function exactInteger(value: number, source: string | undefined): number | bigint {
  return source !== undefined && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value
}

/** JSON.rawJSON is not yet in TypeScript's library. */
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

/** Escapes what Postgres refuses: NUL, lone surrogates, and the escape character itself. */
const ESCAPE = '\\u001a'

/** An escaped backslash is matched first, so that the text `\\u0000` is not taken for a NUL. */
const refused = /\\(?:\\|u(0000|001a|d[89a-f][0-9a-f]{2}))/g

/**
 * Writes a value as JSON that Postgres takes without loss. NUL, lone surrogates and U+001A become U+001A and
 * their four hex digits, so that two texts which differ only there stay different. bigint keeps every digit.
 */
export function encodeJson(value: unknown): string {
  const text = stringify(value)
  if (!text.includes('\\u')) return text
  return text.replace(refused, (match, unit: string | undefined) => (unit ? `${ESCAPE}${unit}` : match))
}

/** Undoes the escaping of encodeJson in one string as read from Postgres. */
export function decodeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: U+001A is the escape character
  return text.replace(/\u001a([0-9a-f]{4})/g, (_, unit: string) =>
    String.fromCharCode(Number.parseInt(unit, 16)),
  )
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // JSON.stringify refuses bigint; a replacer costs several times as much, so only such pages pay for it.
    return JSON.stringify(value, (_, item: unknown) =>
      typeof item === 'bigint' ? rawJson(item.toString()) : item,
    )
  }
}

/** JSON.rawJSON is not yet in TypeScript's library. */
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

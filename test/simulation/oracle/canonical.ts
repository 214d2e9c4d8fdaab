/** A JSON value as text with its keys in order, so that equal values are equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`)
  return `{${fields.join(',')}}`
}

/** Whether two JSON values are equal, wherever their keys stand: as their canonical texts tell, and quicker. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, n) => isSame(item, other[n]))
  if (!isRecord(one) || !isRecord(other)) return canonical(one) === canonical(other)
  const [own, its] = [namesOf(one), namesOf(other)]
  return (
    own.length === its.length &&
    own.every(name => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  )
}

type Record = Readonly<{ [name: string]: unknown }>

function isRecord(value: unknown): value is Record {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function namesOf(value: Record): readonly string[] {
  return Object.keys(value).filter(name => value[name] !== undefined)
}

const stored = new WeakMap<object, unknown>()

/** The same of a value that never changes, made once. */
export function storableOnce(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return storable(value)
  const known = stored.get(value)
  if (known !== undefined) return known
  const made = storable(value)
  stored.set(value, made as object)
  return made
}

/**
 * A JSON value as it may be stored: tokens are replaced by a mark, and what Postgres cannot hold, NUL and lone surrogates,
 * is written as U+001A and four hex digits.
 */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(suspect, escaped)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(
    fields.map(([key, inner]) => [key, /token/i.test(key) ? '[redacted]' : storable(inner)]),
  )
}

/** Control characters and, with the flag u, surrogates that stand alone. */
const suspect = /[\p{Cc}\p{Cs}]/gu
const kept = (code: number) => code !== 0 && code !== 0x1a && code < 0xd800

function escaped(character: string): string {
  const code = character.charCodeAt(0)
  return kept(code) ? character : `\u001a${code.toString(16).padStart(4, '0')}`
}

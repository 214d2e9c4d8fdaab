/** Values as they come out of Postgres or out of the truth, brought to one form so that they can be compared. */

export type Fields = Readonly<Record<string, unknown>>

const mark = '[redacted]'
const secretFields: ReadonlySet<string> = new Set(['boardToken', 'taskToken'])

/** What the provider served, as it must look in the database: the two documented tokens become a mark. */
export function withoutTokens(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTokens)
  if (!isFields(value)) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      secretFields.has(key) && inner !== null ? mark : withoutTokens(inner),
    ]),
  )
}

/** What the database holds, with characters that Postgres refuses put back: U+001A and four hex digits stand for one. */
export function restored(value: unknown): unknown {
  if (typeof value === 'string') return restoredText(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(restored)
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [restoredText(key), restored(inner)]))
}

function restoredText(text: string): string {
  const [first = '', ...rest] = text.split('\u001a')
  return rest.reduce((all, part) => {
    return all + String.fromCharCode(Number.parseInt(part.slice(0, 4), 16)) + part.slice(4)
  }, first)
}

/** One text for equal values, whatever the order of their keys. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (!isFields(value)) return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null')
  const keys = Object.keys(value).toSorted()
  return `{${keys.map(key => `${JSON.stringify(key)}:${textOf(value[key])}`).join()}}`
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list inside an event; an absent one is empty. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** Unix milliseconds as the time the database shows. */
export function timeOf(ms: unknown): string | null {
  return typeof ms === 'number' ? new Date(ms).toISOString() : null
}

/** The fields of an item that have no column; null where there is none. */
export function rest(item: Fields, columns: readonly string[]): unknown {
  const left = Object.entries(item).filter(([key]) => !columns.includes(key))
  return left.length === 0 ? null : withoutTokens(Object.fromEntries(left))
}

import type { Json } from '../tables/json.ts'

/** JSON with the keys of every object in order, so that equal values have equal texts. Bigints keep their digits. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`)
  return `{${members.join(',')}}`
}

function isArray(value: object): value is readonly Json[] {
  return Array.isArray(value)
}

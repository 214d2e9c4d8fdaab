import { redacted } from '../provider/redaction.ts'
import type { Json } from '../rows/json.ts'

/** taskToken and boardToken are secrets; any other name like theirs is taken for one. */
const secretName = /token|secret|password/i

/**
 * The item without its secrets, whatever their depth: each value under a secret name becomes the mark. An item
 * that holds none is handed back as it is. Takes what a JSON reader made, no deeper than the transport allows.
 */
export function redact(item: unknown): Json {
  return (holdsSecret(item) ? masked(item) : item) as Json
}

function holdsSecret(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(holdsSecret)
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null && (secretName.test(key) || holdsSecret(inner))) return true
  }
  return false
}

/** Object.fromEntries defines own properties only, so a key `__proto__` stays a harmless name. */
function masked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(masked)
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      inner !== null && secretName.test(key) ? redacted : masked(inner),
    ]),
  )
}

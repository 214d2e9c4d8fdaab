import type { Switches } from './switches.ts'

/** What is told of the people in something: where some of them have no ID, without the ones that they would have. */
export function told<T>(value: T, { personIds }: Switches): T {
  return personIds === 'present' ? value : (withoutIds(value) as T)
}

function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([key, inner]) => key !== 'userUuid' || !isGuest(inner))
  return Object.fromEntries(fields.map(([key, inner]) => [key, withoutIds(inner)]))
}

/** Every third, and the same each time. */
function isGuest(userUuid: unknown): boolean {
  return String(userUuid).charCodeAt(String(userUuid).length - 1) % 3 === 0
}

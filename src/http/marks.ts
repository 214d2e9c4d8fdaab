/**
 * Marks in a text of JSON stand for values that are kept beside it: `[1e999,n]` for the n-th of them. JSON.parse reads
 * 1e999 as Infinity, and every number that it would read so is itself kept beside, so that nothing else in a body can
 * look like a mark. A reviver would find them too, but calls a function for every value, and builds each array twice.
 */
export function putBack(parsed: unknown, values: readonly unknown[], hasMarks: boolean): unknown {
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

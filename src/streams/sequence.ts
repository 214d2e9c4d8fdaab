/** A place in a log, 0 to 2^63 - 1. A number up to 2^53 - 1, a bigint above, so that `===` and `<` both hold. */
export type Sequence = number | bigint

/** Of the two ways to write a small sequence, the number. */
export function normalSequence(sequence: Sequence): Sequence {
  return typeof sequence === 'bigint' && sequence <= Number.MAX_SAFE_INTEGER ? Number(sequence) : sequence
}

/** The next sequence. */
export function after(sequence: Sequence): Sequence {
  if (typeof sequence === 'number' && sequence < Number.MAX_SAFE_INTEGER) return sequence + 1
  return BigInt(sequence) + 1n
}

/** The sequence before, of one that is not 0. */
export function before(sequence: Sequence): Sequence {
  if (typeof sequence === 'number') return sequence - 1
  return normalSequence(sequence - 1n)
}

/** Orders from the lowest to the highest. */
export function bySequence(a: Sequence, b: Sequence): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The higher of two; null stands for none. */
export function highest(a: Sequence | null, b: Sequence | null): Sequence | null {
  if (a === null) return b
  if (b === null) return a
  return a > b ? a : b
}

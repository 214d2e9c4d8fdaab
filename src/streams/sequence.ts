/** A place in a log. A number up to 2^53 - 1, a bigint above: normalised so, `===` and `<` both hold. */
export type Sequence = number | bigint

export function normalSequence(sequence: Sequence): Sequence {
  return typeof sequence === 'bigint' && sequence <= Number.MAX_SAFE_INTEGER ? Number(sequence) : sequence
}

export function after(sequence: Sequence): Sequence {
  if (typeof sequence === 'number' && sequence < Number.MAX_SAFE_INTEGER) return sequence + 1
  return BigInt(sequence) + 1n
}

export function before(sequence: Sequence): Sequence {
  if (typeof sequence === 'number') return sequence - 1
  return normalSequence(sequence - 1n)
}

export function bySequence(a: Sequence, b: Sequence): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function highest(a: Sequence | null, b: Sequence | null): Sequence | null {
  if (a === null) return b
  if (b === null) return a
  return a > b ? a : b
}

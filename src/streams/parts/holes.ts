/** Sequences from `from` to `to`, both included. */
export type Range = readonly [from: Sequence, to: Sequence]

/** A hole and how many complete readings of its log have shown it. */
export type Tally = readonly [from: Sequence, to: Sequence, reads: number]

/** A log with more holes than this is not numbered densely: its holes mean nothing. */
export const mostHoles = 200

/** A hole that this many complete readings have shown was never served, and is not lost; */
export const readsUntilAbsent = 3

/** the next one counts after so long, ms: what the provider writes late would be missing in all that follow at once. */
export const readsApart = 30_000

export interface Walk {
  /** Highest sequence passed; null before the first. */
  readonly last: Sequence | null
  readonly holes: readonly Range[]
}

/** Goes on through a log: what is skipped between neighbours is a hole, what comes late closes one. */
export function walkOn(walk: Walk, sequences: readonly Sequence[]): Walk {
  let { last } = walk
  let holes = [...walk.holes]
  for (const sequence of sequences) {
    if (last === null || sequence > last) {
      if (last !== null && sequence > after(last)) holes.push([after(last), before(sequence)])
      last = sequence
    } else {
      holes = holes.flatMap(hole => without(hole, sequence))
    }
  }
  return { last, holes }
}

/** Counts the holes of a log read to its end. `again` counts known ones once more, `same` only adds new ones. */
export function tallyHoles(
  holes: readonly Range[],
  tally: readonly Tally[],
  reading: 'again' | 'same',
): readonly Tally[] {
  return holes.map(([from, to]) => {
    // What is left of a hole was missing in each reading that showed the whole.
    const known = tally.find(([first, last]) => first <= from && to <= last)?.[2]
    if (known === undefined) return [from, to, 1]
    return [from, to, reading === 'again' ? Math.min(known + 1, readsUntilAbsent) : known]
  })
}

function without([from, to]: Range, sequence: Sequence): Range[] {
  if (sequence < from || sequence > to) return [[from, to]]
  const left: Range[] = sequence > from ? [[from, before(sequence)]] : []
  const right: Range[] = sequence < to ? [[after(sequence), to]] : []
  return [...left, ...right]
}

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
function before(sequence: Sequence): Sequence {
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

import { after, before, type Sequence } from './sequence.ts'

/** Sequences from `from` to `to`, both included. */
export type Range = readonly [from: Sequence, to: Sequence]

/** A hole and how many complete readings of its log have shown it. */
export type Tally = readonly [from: Sequence, to: Sequence, reads: number]

/** A log with more holes than this is not numbered densely: its holes mean nothing. */
export const mostHoles = 200

/** A hole that this many complete readings have shown was never served, and is not lost. */
export const readsUntilAbsent = 3

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
  const reads = new Map(tally.map(([from, to, count]) => [`${from}-${to}`, count]))
  return holes.map(([from, to]) => {
    const known = reads.get(`${from}-${to}`)
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

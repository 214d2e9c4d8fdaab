/** From `from` up to and without `to`, in whole Unix seconds, UTC; never empty. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Ranges in order that neither overlap nor touch. */
export type Ranges = readonly Range[]

/** The last multiple of `step` that is not after `second`. */
export function floorTo(second: number, step: number): number {
  return Math.floor(second / step) * step
}

/** The first multiple of `step` that is not before `second`. */
export function ceilTo(second: number, step: number): number {
  return Math.ceil(second / step) * step
}

/** Any ranges as one set: in order, those that overlap or touch made one, empty ones left out. */
export function normalise(list: readonly Range[]): Ranges {
  return joined(list.toSorted((a, b) => a.from - b.from))
}

/** What is in either. */
export function union(a: Ranges, b: Ranges): Ranges {
  const merged: Range[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    const left = a[i]
    const right = b[j]
    if (right === undefined || (left !== undefined && left.from <= right.from)) {
      merged.push(left!)
      i += 1
    } else {
      merged.push(right)
      j += 1
    }
  }
  return joined(merged)
}

/** What is in both. */
export function intersect(a: Ranges, b: Ranges): Ranges {
  const common: Range[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const left = a[i]!
    const right = b[j]!
    const from = Math.max(left.from, right.from)
    const to = Math.min(left.to, right.to)
    if (from < to) common.push({ from, to })
    if (left.to <= right.to) i += 1
    else j += 1
  }
  return common
}

/** What is in `a` and not in `b`. */
export function subtract(a: Ranges, b: Ranges): Ranges {
  const rest: Range[] = []
  let j = 0
  for (const { from, to } of a) {
    let start = from
    while (j < b.length && b[j]!.to <= start) j += 1
    for (let k = j; k < b.length && b[k]!.from < to; k++) {
      if (start < b[k]!.from) rest.push({ from: start, to: b[k]!.from })
      start = b[k]!.to
      j = k
    }
    if (start < to) rest.push({ from: start, to })
  }
  return rest
}

/** Seconds in all of them. */
export function lengthOf(ranges: Ranges): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0)
}

/** The set of the one range, or of nothing where it is empty. */
export function between(from: number, to: number): Ranges {
  return from < to ? [{ from, to }] : []
}

function joined(ordered: readonly Range[]): Ranges {
  const whole: { from: number; to: number }[] = []
  for (const { from, to } of ordered) {
    if (from >= to) continue
    const last = whole.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else whole.push({ from, to })
  }
  return whole
}

/** The steps of a range, a multiple of them long, for which no value was received; `received` in Unix seconds. */
export function withoutValue(range: Range, step: number, received: readonly number[]): Ranges {
  const steps = received.map(second => {
    const from = floorTo(second, step)
    return { from, to: from + step }
  })
  return subtract([range], normalise(steps))
}

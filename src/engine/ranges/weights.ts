/** What each of several things in a question adds to its answer, as the last answers tell. */
export interface Weights {
  /** An answer about so many of them took such a share of what an answer may weigh. */
  readonly learn: (count: number, fill: number) => void
  /** So many fit into one answer; without limit where nothing is known. */
  readonly most: () => number
}

/** So many answers are remembered. */
const LAST = 8

/**
 * The lightest of the last answers counts: one request too many is as dear as one whose answer is too large, and where
 * light ones come among heavy ones nobody knows of which kind the next will be.
 */
export function createWeights(): Weights {
  const last: number[] = []
  return {
    learn: (count, fill) => {
      last.push(fill / count)
      if (last.length > LAST) last.shift()
    },
    most: () => (last.length > 0 ? Math.max(1, Math.floor(1 / Math.min(...last))) : Infinity),
  }
}

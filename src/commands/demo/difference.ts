/** How the rows in Postgres differ from what happened. */
export interface Difference {
  /** Things that happened and are not stored, or not as they are by now. */
  readonly lost: number
  /** Rows beyond the first for one thing, or for nothing that ever happened. */
  readonly duplicates: number
}

export const none: Difference = { lost: 0, duplicates: 0 }

export function add(one: Difference, other: Difference): Difference {
  return { lost: one.lost + other.lost, duplicates: one.duplicates + other.duplicates }
}

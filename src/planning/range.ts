/** From `from` up to and without `to`, in whole Unix seconds, UTC; never empty. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Ranges in order that neither overlap nor touch. */
export type Ranges = readonly Range[]

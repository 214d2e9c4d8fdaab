/** A range of time in Unix seconds: from the first up to and without the second. */
export type Span = readonly [from: number, to: number]

/** What of the last eight days is stored of a stream of an app. */
export interface Timeline {
  readonly app: string
  readonly stream: string
  /** Whether progress is ranges of time; of others only what is missing is known by time. */
  readonly isByTime: boolean
  /** Unix seconds before which nothing was asked for; null where that is not known. */
  readonly begins: number | null
  /** Read, and final; of all series. */
  readonly complete: readonly Span[]
  /** Read at least once; of all series. */
  readonly seen: readonly Span[]
  /** Missing, and may still be had. */
  readonly waiting: readonly Span[]
  readonly lost: readonly Span[]
}

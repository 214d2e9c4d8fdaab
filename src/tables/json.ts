/** Anything that JSON can say, plus bigint for integers above 2^53, which are kept to the last digit. */
export type Json =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json }

/** An instant in UTC as ISO 8601 with milliseconds, for example `2026-01-31T08:00:00.000Z`. */
export type Timestamp = string

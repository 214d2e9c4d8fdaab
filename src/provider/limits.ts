/**
 * Documented limits as values, in the provider's own units. A number stands once, beside the operation it
 * belongs to, with the document it comes from.
 */
export interface Rate {
  /** Requests allowed in any window of this length. */
  readonly requests: number
  /** Length of the window in seconds. */
  readonly window: number
}

export function perSecond(requests: number): Rate {
  return { requests, window: 1 }
}

export function perDay(requests: number): Rate {
  return { requests, window: 86_400 }
}

/**
 * Everything that can go wrong with one request, as a closed set. The kind alone decides how it is retried,
 * how long it waits, which label it counts under and at which level it is logged (engine/admission/retry-rules.ts).
 * A failure never carries a payload or a secret: `text` is a sentence of ours for the log.
 */
export const failureKinds = [
  'network', // refused, reset, name not found, TLS: nothing is known of what the provider did
  'timeout', // the total deadline passed
  'redirect', // any 3xx whose body does not say more: never followed
  'too_large', // the body passed its cap
  'malformed', // not UTF-8, not JSON, too deep, or not of the operation's shape
  'bad_request', // 400: our request is wrong
  'unauthorized', // 401
  'forbidden', // 403
  'not_found', // 404
  'conflict', // 409
  'rate_limited', // 429
  'quota', // 403 or 429: the project has as many players as it may have
  'qps_limit', // code 300: too many requests in the short window
  'qpd_limit', // code 300: too many requests in a day
  'latency_limit', // code 300: the range ends too close to now
  'time_range_limit', // code 300: the range begins before what the plan serves
  'time_length_limit', // code 300: the range is longer than the plan allows
  'no_access', // code 300: the plan does not include the service
  'limit_exceeded', // code 300 with a text that the contract does not name
  'server_error', // 5xx other than the two below
  'unavailable', // 503
  'gateway_timeout', // 504: the operation may have happened
  'unexpected_status', // a status that the contract does not name
  'unexpected_code', // a business code that the contract does not name
] as const

export type FailureKind = (typeof failureKinds)[number]

/** By which IDs a request can be found again at the provider. */
export interface Trace {
  /** The X-Request-ID that was sent. */
  readonly requestId: string
  /** The ID that the answer names, where it is another one. */
  readonly answeredId?: string
  /** X-Resource-ID of the answer: the player that was made, or that stands in the way. */
  readonly resourceId?: string
}

export interface Failure {
  readonly kind: FailureKind
  /** One sentence for people. */
  readonly text: string
  readonly status?: number
  /** Business code of the body. */
  readonly code?: number
  /** How long the provider asked us to wait, in seconds, as far as it was readable. */
  readonly retryAfter?: number
  /** Bytes that arrived and could not be used, for the dead letters. */
  readonly body?: Uint8Array
  /** Absent where nothing was sent. */
  readonly trace?: Trace
}

const kindByStatus: Readonly<Record<number, FailureKind>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  429: 'rate_limited',
  500: 'server_error',
  503: 'unavailable',
  504: 'gateway_timeout',
}

/** The kind that an HTTP status outside 2xx stands for. */
export function kindOfStatus(status: number): FailureKind {
  if (status >= 300 && status < 400) return 'redirect'
  if (status >= 500) return kindByStatus[status] ?? 'server_error'
  return kindByStatus[status] ?? 'unexpected_status'
}

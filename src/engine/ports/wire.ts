import type { Failure } from '../../provider/errors.ts'
import type { Family, RequestLine } from '../../provider/operation.ts'

export interface Transport {
  /**
   * Sends one request, once, and never throws for anything the provider or the network does. Follows no
   * redirect, retries nothing, caps the body, and ends by its total deadline.
   */
  readonly send: (
    app: string,
    request: RequestLine,
    signal?: AbortSignal,
    arrived?: Arrived,
  ) => Promise<Reply>
  /** Undefined before the provider's first answer. */
  readonly clockOffset: (family: Family) => ClockOffset | undefined
}

/** Called with the bytes of an answer that is all there, before anything is made of it, which waits until it is done. */
export type Arrived = (bytes: number) => Promise<void>

/** How far a provider's clock is ahead of ours: `ahead`, give or take `doubt`, both in ms. */
export interface ClockOffset {
  readonly ahead: number
  readonly doubt: number
  /** So much further from ours is what the answers say, and not believed, ms. */
  readonly beyond?: number
}

export type Reply =
  | { readonly ok: true; readonly answer: Answer; readonly timing: Timing }
  | { readonly ok: false; readonly failure: Failure; readonly timing: Timing }

/** An answer of so many bytes is worth some care: it may take long, or be more than a process can hold. */
export const LARGE_ANSWER = 1_048_576

export interface Answer {
  /** The parsed body, checked against the operation's shape. Integers above 2^53 are bigint. Undefined where it is empty by contract. */
  readonly body: unknown
  /** The provider's clock when it answered, ms since the epoch, where the answer has one. */
  readonly answeredAt: number | undefined
  /** Bytes of the body as it came. */
  readonly size: number
  /** Share that it takes of what an answer may weigh. */
  readonly fill?: number
  /** Of a large answer: the body once more, parsed from its bytes, which are far smaller than what is made of them. */
  readonly again?: () => Promise<unknown>
}

export interface Timing {
  /** Our wall clock when the answer was complete or given up, ms since the epoch. */
  readonly receivedAt: number
  /** From the first byte sent to the last byte read, ms on the monotonic clock. */
  readonly elapsed: number
}

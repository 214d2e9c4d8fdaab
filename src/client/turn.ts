import type { Clock } from '../clock/clock.ts'

/**
 * The wait of one attempt for its turn. It ends when the attempt is sent, when patience is over, when the limit is
 * known to free later than that, or when the client closes. What is sent is never cut off.
 */
export interface Turn {
  /** Aborts when the wait ends without a turn. */
  readonly signal: AbortSignal
  /** The request goes to the wire now. */
  readonly begin: () => void
  /** The limit leaves no room for `ms`. */
  readonly mustWait: (ms: number) => void
  /** The attempt is over; nothing of the wait is left behind. */
  readonly end: () => void
}

export interface TurnOptions {
  readonly clock: Clock
  /** When patience ends, on the monotonic clock, ms. */
  readonly until: number
  /** Aborts when the client closes. */
  readonly closing: AbortSignal
}

export function awaitTurn({ clock, until, closing }: TurnOptions): Turn {
  const stop = new AbortController()
  const over = new AbortController()
  const giveUp = () => stop.abort()
  const release = () => {
    closing.removeEventListener('abort', giveUp)
    over.abort()
  }
  if (closing.aborted) giveUp()
  closing.addEventListener('abort', giveUp, { once: true })
  void clock.sleep(until - clock.monotonic(), over.signal).then(() => {
    if (!over.signal.aborted) giveUp()
  })
  return {
    signal: stop.signal,
    begin: release,
    mustWait: ms => {
      if (clock.monotonic() + ms > until) giveUp()
    },
    end: release,
  }
}

import type { Clock } from '../../clock/clock.ts'
import type { Fence, Store } from '../ports.ts'

/** What one feed of an app may have handed out and nobody stored, from one reading to the next. */
export interface FeedGaps {
  /** A reading of the feed may have come to nothing. */
  readonly suspect: () => void
  /** The feed told all that waited there, or may have held back more. */
  readonly heard: (what: 'all' | 'a part') => void
  /** Brings the gap ledger up to date before the feed is read; `missed`: the logs of all rooms must be read. */
  readonly review: () => Promise<'missed' | 'nothing new'>
}

export interface FeedGapsContext {
  readonly app: string
  readonly series: string
  readonly store: Store
  readonly fence: () => Fence
  readonly clock: Clock
  /** How long after a debit its request may still reach the provider, ms. */
  readonly arrivesWithin: number
  /** How long the provider remembers what the feed did not tell, ms. */
  readonly memory: number
}

/** Begins suspicious: a process before this one may have been killed over an answer. */
export function createFeedGaps(context: FeedGapsContext): FeedGaps {
  const { app, series, store, fence, clock, arrivesWithin, memory } = context
  let isSuspect = true
  /** A request of ours that was never settled counts as unread only when it can no longer arrive. */
  let suspectUntil = clock.monotonic()
  let areOpen = true
  /** An answer may still be made after it was given up: the logs are read once more when that is over. */
  let settledAt = Number.POSITIVE_INFINITY
  let toldAllAt = clock.monotonic()

  function suspect(): void {
    isSuspect = true
    suspectUntil = clock.monotonic() + arrivesWithin
  }

  return {
    suspect,
    heard: what => {
      if (what === 'all') toldAllAt = clock.monotonic()
      else if (clock.monotonic() - toldAllAt > memory) suspect()
    },
    review: async () => {
      const missed = isSuspect && (await store.recordUnread(fence(), app, series)) > 0
      isSuspect &&= clock.monotonic() <= suspectUntil
      areOpen ||= missed
      if (areOpen) areOpen = (await store.settleFeedGaps(fence(), app)) > 0
      const settled = areOpen && clock.monotonic() >= settledAt
      if (missed) settledAt = clock.monotonic() + arrivesWithin
      else if (settled) settledAt = Number.POSITIVE_INFINITY
      return missed || settled ? 'missed' : 'nothing new'
    },
  }
}

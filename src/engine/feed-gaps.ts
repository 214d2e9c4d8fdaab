import type { Fence, Store } from './ports.ts'

/** What the feed of an app may have handed out and nobody stored, from one reading to the next. */
export interface FeedGaps {
  /** A reading of the feed may have come to nothing. */
  readonly suspect: () => void
  /** Brings the gap ledger up to date before the feed is read; `missed`: the logs of all rooms must be read. */
  readonly review: () => Promise<'missed' | 'nothing new'>
}

export interface FeedGapsContext {
  readonly app: string
  readonly store: Store
  readonly fence: () => Fence
}

/** Begins suspicious: a process before this one may have been killed over an answer. */
export function createFeedGaps({ app, store, fence }: FeedGapsContext): FeedGaps {
  let isSuspect = true
  let areOpen = true
  return {
    suspect: () => {
      isSuspect = true
    },
    review: async () => {
      const missed = isSuspect && (await store.recordUnread(fence(), app)) > 0
      isSuspect = false
      areOpen ||= missed
      if (areOpen) areOpen = (await store.settleFeedGaps(fence(), app)) > 0
      return missed ? 'missed' : 'nothing new'
    },
  }
}

import { chooseLive } from '../../planning/live-channels.ts'
import type { AppContext } from '../context.ts'
import type { LiveChannel } from '../ports.ts'

/** Which channels real time is asked of: one choice for all streams of a limit group. */
export interface LiveChoice {
  /**
   * The channels of this minute, `most` of them at most. `isAsked` tells of the first choice which ones were asked
   * about before this process began. Throws StoreUnavailable.
   */
  readonly now: (most: number, isAsked: (channel: string) => boolean) => Promise<readonly LiveChannel[]>
}

/** How often it is looked which rooms and calls go on, ms. */
const CHOOSE_EVERY_MS = 60_000

/** A channel keeps its place for so long after its end, seconds, so that what came last is read. */
const GRACE = 900

/** `now`: the provider's clock, Unix seconds. */
export function createLiveChoice({ app, clock, store }: AppContext, now: () => number): LiveChoice {
  let chosen: readonly LiveChannel[] | undefined
  let chosenAt = Number.NEGATIVE_INFINITY
  return {
    now: async (most, isAsked) => {
      if (chosen && clock.monotonic() - chosenAt < CHOOSE_EVERY_MS) return chosen
      const listed = await store.liveChannels(app.id, now() - GRACE)
      // Half of a surrogate pair cannot be sent.
      const askable = listed.filter(({ channel }) => channel.isWellFormed())
      const before = chosen && new Set(chosen.map(({ channel }) => channel))
      chosen = chooseLive(askable, before ? channel => before.has(channel) : isAsked, most)
      chosenAt = clock.monotonic()
      return chosen
    },
  }
}

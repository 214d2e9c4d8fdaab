/** What a feed told of late: tells a feed that has more to tell from one that tells the same again. */
export interface Heard {
  /** Takes note of what an answer told, and answers whether more of the kind may be waiting. */
  readonly isNews: (told: readonly string[]) => boolean
}

/** Names that are kept; of an answer that holds more of them, as many as it holds. */
const MOST_NAMES = 20_000

/**
 * Of an answer so small a share is new where a feed tells all of the last seconds each time: to ask again at once would
 * bring the same once more. Where each event is told once, or now and then again, nearly all of an answer is new.
 */
const SHARE_OF_NEWS = 1 / 4

/**
 * An answer that holds so much may have left something behind, whatever others held. No document says how much one may
 * hold, so else the largest that was seen tells it: a smaller one told all that there was.
 */
const FULL_ANSWER = 100

export function createHeard(): Heard {
  /** The latest at the end. */
  const names = new Set<string>()
  let largest = 0
  return {
    isNews: told => {
      let news = 0
      for (const name of told) {
        if (!names.delete(name)) news += 1
        names.add(name)
      }
      const most = Math.max(MOST_NAMES, told.length)
      for (const oldest of names) {
        if (names.size <= most) break
        names.delete(oldest)
      }
      largest = Math.max(largest, told.length)
      const isFull = told.length >= Math.min(largest, FULL_ANSWER)
      return isFull && news > 0 && news >= told.length * SHARE_OF_NEWS
    },
  }
}

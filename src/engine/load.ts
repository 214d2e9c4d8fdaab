/**
 * What answers weigh that are under way or being worked on, over all groups and apps, in bytes of their bodies: whatever
 * is made of a page, its memory goes with them.
 */
export interface Load {
  /**
   * Waits until an answer of this kind fits beside the others; undefined when the signal aborts. Who waits longest goes
   * first, so that small ones never keep a large one waiting; one larger than all that there is room for goes alone.
   * Whoever holds a share must not wait for another.
   */
  readonly take: (kind: string, signal: AbortSignal) => Promise<Share | undefined>
  /** Bytes of answers that there is room for. */
  readonly room: number
}

export interface Share {
  /** The answer has come: from now on it counts by what it weighs, and others of its kind are expected to weigh as much. */
  readonly weigh: (bytes: number) => void
  /** It has been committed, or will never be. */
  readonly release: () => void
}

/** An answer of so many bytes is worth some care: it may take long, or be more than a process can hold. */
export const LARGE_ANSWER = 1_048_576

/** Answers of a kind that has never been seen are taken for this share of the room. */
const UNKNOWN_SHARE = 0.5

/** By how much less the next answer is expected to weigh when the last one was light: seldom is what is heavy forgotten. */
const FADING = 0.9

interface Waiting {
  readonly kind: string
  readonly enter: () => void
}

export function createLoad(room: number): Load {
  const expected = new Map<string, number>()
  const waiting: Waiting[] = []
  let taken = 0

  function weightOf(kind: string): number {
    return Math.min(room, expected.get(kind) ?? room * UNKNOWN_SHARE)
  }

  function admit(): void {
    for (let next = waiting[0]; next && taken + weightOf(next.kind) <= room; next = waiting[0]) {
      waiting.shift()
      next.enter()
    }
  }

  function hold(kind: string): Share {
    let held = weightOf(kind)
    taken += held
    let isOver = false
    const change = (to: number) => {
      taken += to - held
      held = to
      admit()
    }
    return {
      weigh: bytes => {
        if (isOver) return
        expected.set(kind, Math.max(bytes, (expected.get(kind) ?? 0) * FADING))
        change(bytes)
      },
      release: () => {
        if (isOver) return
        isOver = true
        change(0)
      },
    }
  }

  return {
    room,
    take: async (kind, signal) => {
      if (signal.aborted) return undefined
      if (waiting.length === 0 && taken + weightOf(kind) <= room) return hold(kind)
      return await new Promise<Share | undefined>(resolve => {
        const leave = () => {
          waiting.splice(waiting.indexOf(one), 1)
          resolve(undefined)
          admit()
        }
        const one: Waiting = {
          kind,
          enter: () => {
            signal.removeEventListener('abort', leave)
            resolve(hold(kind))
          },
        }
        signal.addEventListener('abort', leave, { once: true })
        waiting.push(one)
      })
    },
  }
}

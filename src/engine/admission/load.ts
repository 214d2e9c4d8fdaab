/**
 * What answers weigh that are under way or being worked on, over all groups and apps, in bytes of their bodies: whatever
 * is made of a page, its memory goes with them.
 */
export interface Load {
  /**
   * Waits until an answer of this kind fits beside the others; undefined when the signal aborts. Among heavy ones who
   * waits longest goes first, so that small ones never keep a large one waiting; one larger than all that there is room
   * for goes alone. Light ones have a part of the room of their own, so that heavy ones that do not come keep no feed
   * and no log waiting. Whoever holds a share must not wait for another.
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

/** Light is what is expected to weigh no more than this share of the room. */
const LIGHT_SHARE = 1 / 32

/** Share of the room that light answers have for themselves. */
const ROOM_OF_LIGHT = 1 / 8

/** An answer of a kind that has never been seen is taken for this share of the room. */
const UNKNOWN_SHARE = 1 / 16

/** So many of a kind that has never been seen are under way: two may weigh much, many would be too much. */
const MOST_UNKNOWN = 2

/** By how much less the next answer is expected to weigh when the last one was light: seldom is what is heavy forgotten. */
const FADING = 0.9

interface Waiting {
  readonly kind: string
  readonly enter: () => void
}

/** A part of the room and what fills it. */
interface Lane {
  readonly room: number
  taken: number
}

export function createLoad(room: number): Load {
  const expected = new Map<string, number>()
  /** How many answers are under way of each kind of which nothing was known. */
  const exploring = new Map<string, number>()
  /** In the order in which they came. */
  const waiting = new Set<Waiting>()
  const light: Lane = { room: room * ROOM_OF_LIGHT, taken: 0 }
  const heavy: Lane = { room: room - light.room, taken: 0 }

  function weightOf(kind: string): number {
    return expected.get(kind) ?? room * UNKNOWN_SHARE
  }

  function laneOf(kind: string): Lane {
    return weightOf(kind) <= room * LIGHT_SHARE ? light : heavy
  }

  function fits(kind: string): boolean {
    const lane = laneOf(kind)
    return lane.taken + Math.min(lane.room, weightOf(kind)) <= lane.room
  }

  function isExplored(kind: string): boolean {
    return !expected.has(kind) && (exploring.get(kind) ?? 0) >= MOST_UNKNOWN
  }

  function explore(kind: string, more: 1 | -1): void {
    exploring.set(kind, (exploring.get(kind) ?? 0) + more)
  }

  /** Those that may enter now, in the order in which they came. */
  function admit(): void {
    const full = new Set<Lane>()
    for (const next of waiting) {
      if (full.size === 2) return
      const lane = laneOf(next.kind)
      if (full.has(lane) || isExplored(next.kind)) continue
      if (!fits(next.kind)) {
        full.add(lane)
        continue
      }
      waiting.delete(next)
      next.enter()
    }
  }

  function hold(kind: string): Share {
    const lane = laneOf(kind)
    const explores = !expected.has(kind)
    let held = Math.min(lane.room, weightOf(kind))
    lane.taken += held
    if (explores) explore(kind, 1)
    let isOver = false
    const change = (to: number) => {
      lane.taken += to - held
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
        if (explores) explore(kind, -1)
        change(0)
      },
    }
  }

  return {
    room,
    take: (kind, signal) => {
      if (signal.aborted) return Promise.resolve(undefined)
      return new Promise<Share | undefined>(resolve => {
        const leave = () => {
          waiting.delete(one)
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
        waiting.add(one)
        admit()
      })
    },
  }
}

/**
 * What answers weigh that are under way or being worked on, over all groups and apps, in bytes of their bodies: whatever
 * is made of a page, its memory goes with them.
 */
export type Load = ReturnType<typeof createLoad>

/** Bytes of answers that there is room for: of heavy ones, and of light ones, which have theirs for themselves. */
export interface AnswerRoom {
  readonly heavy: number
  readonly light: number
}

export interface Share {
  /** The answer has come: from now on it counts by what it weighs, and others of its kind are expected to weigh as much. */
  readonly weigh: (bytes: number) => void
  /** It has been committed, or will never be. */
  readonly release: () => void
}

/**
 * However much memory a machine has: so much keeps both writers of a database busy, and whatever is made of it fits a small
 * container.
 */
export const MOST_ROOM: AnswerRoom = { heavy: 2_621_440, light: 1_572_864 }

/** Whatever an answer weighs, its request takes some memory too. */
const LEAST_WEIGHT = 4_096

/** Light is what is expected to weigh no more than this share of the whole room. */
const LIGHT_SHARE = 1 / 32

/** An answer of a kind that has never been seen is taken for this share of the whole room. */
const UNKNOWN_SHARE = 1 / 16

/** So many of a kind that has never been seen are under way: two may weigh much, many would be too much. */
const MOST_UNKNOWN = 2

/** By how much less the next answer is expected to weigh when the last one was light: seldom is what is heavy forgotten. */
const FADING = 0.9

interface Waiting {
  /** Grows with each that comes. */
  readonly turn: number
  readonly enter: () => void
}

/** A part of the room and what fills it. */
interface Lane {
  readonly room: number
  taken: number
}

/** All is reckoned in whole bytes: what a sum of fractions leaves behind would keep out for good whatever fills a whole room. */
export function createLoad(rooms: AnswerRoom) {
  const [heavyRoom, lightRoom] = [Math.floor(rooms.heavy), Math.floor(rooms.light)]
  const room = heavyRoom + lightRoom
  const expected = new Map<string, number>()
  /** How many answers are under way of each kind of which nothing was known. */
  const exploring = new Map<string, number>()
  /** By kind, in the order in which they came: there may be many of a few kinds. */
  const waiting = new Map<string, Set<Waiting>>()
  let turns = 0
  const light: Lane = { room: lightRoom, taken: 0 }
  const heavy: Lane = { room: heavyRoom, taken: 0 }

  function weightOf(kind: string): number {
    return expected.get(kind) ?? Math.ceil(room * UNKNOWN_SHARE)
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

  /** Those that may enter now, in the order in which they came; who does not fit keeps all of his lane waiting. */
  function admit(): void {
    if (waiting.size === 0) return
    const full = new Set<Lane>()
    for (let next = first(full); next; next = first(full)) {
      if (fits(next.kind)) next.enter()
      else full.add(laneOf(next.kind))
    }
  }

  /** Who waits longest of those that no lane keeps waiting. */
  function first(full: ReadonlySet<Lane>) {
    let longest: (Waiting & { readonly kind: string }) | undefined
    for (const [kind, [one]] of waiting) {
      if (!one || full.has(laneOf(kind)) || isExplored(kind)) continue
      if (!longest || one.turn < longest.turn) longest = { ...one, kind }
    }
    return longest
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
        const weight = Math.max(bytes, LEAST_WEIGHT)
        expected.set(kind, Math.max(weight, Math.ceil((expected.get(kind) ?? 0) * FADING)))
        change(weight)
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
    /**
     * Waits until an answer of this kind fits beside the others; undefined when the signal aborts. Among heavy ones who
     * waits longest goes first, so that small ones never keep a large one waiting; one larger than all that there is room
     * for goes alone. Light ones have a part of the room of their own, so that heavy ones that do not come keep no feed
     * and no log waiting. Whoever holds a share must not wait for another.
     */
    take: (kind: string, signal: AbortSignal): Promise<Share | undefined> => {
      if (signal.aborted) return Promise.resolve(undefined)
      // Most often nobody waits.
      if (waiting.size === 0 && !isExplored(kind) && fits(kind)) return Promise.resolve(hold(kind))
      return new Promise<Share | undefined>(resolve => {
        const ofKind = waiting.get(kind) ?? new Set()
        waiting.set(kind, ofKind)
        const forget = () => {
          ofKind.delete(one)
          if (ofKind.size === 0) waiting.delete(kind)
        }
        const leave = () => {
          forget()
          resolve(undefined)
          admit()
        }
        const one: Waiting = {
          turn: turns++,
          enter: () => {
            signal.removeEventListener('abort', leave)
            forget()
            resolve(hold(kind))
          },
        }
        signal.addEventListener('abort', leave, { once: true })
        ofKind.add(one)
        admit()
      })
    },
  }
}

import type { Clock } from '../../clock/clock.ts'

/**
 * So many answers that the log of a room is not there end the room. One may be chance; one without a code may speak of
 * the app or of the address as well, so that it takes more of them.
 */
const TRIES = { room: 3, log: 5 } as const

/** An answer that comes sooner after another one, ms, says nothing that this one did not. */
const APART_MS = 60_000

export interface Absences {
  /** The log of the room was read. */
  readonly served: (room: string) => void
  /** When any log was last read, on the monotonic clock, ms. */
  readonly servedAt: () => number
  /**
   * The log of the room was not there, or there is no such room; answers whether the room is over. `othersAt`: when a log
   * was last read elsewhere, if that tells anything of this room.
   */
  readonly missed: (room: string, missing: 'log' | 'room', othersAt: number) => boolean
  /** Whether the room was said not to exist, and is asked about once more before that is believed. */
  readonly isDenied: (room: string) => boolean
  readonly forget: (room: string) => void
}

interface Absence {
  readonly tries: number
  readonly at: number
  readonly isDenied: boolean
}

/** Which rooms' logs were not there when they were last asked for. */
export function createAbsences(clock: Clock): Absences {
  const absences = new Map<string, Absence>()
  let servedAt = Number.NEGATIVE_INFINITY

  return {
    served: room => {
      absences.delete(room)
      servedAt = clock.monotonic()
    },
    servedAt: () => servedAt,
    missed: (room, missing, othersAt) => {
      const isDenied = missing === 'room'
      const now = clock.monotonic()
      const last = absences.get(room) ?? { tries: 0, at: Number.NEGATIVE_INFINITY }
      // Without a code it speaks of this room only where others were served meanwhile.
      const isServed = Math.max(servedAt, othersAt) > last.at
      const counts = now - last.at >= APART_MS && (isDenied || last.tries === 0 || isServed)
      const tries = last.tries + (counts ? 1 : 0)
      absences.set(room, { tries, at: counts ? now : last.at, isDenied })
      return tries >= TRIES[missing]
    },
    isDenied: room => absences.get(room)?.isDenied ?? false,
    forget: room => void absences.delete(room),
  }
}

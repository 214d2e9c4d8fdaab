import type { Clock } from '../../clock/clock.ts'
import type { AppSettings } from '../settings.ts'

/**
 * Series of the feeds of an app: each region has one of its own. The feed of an app that is in one region alone has no
 * name.
 */
export function feedSeries({ regions }: AppSettings): readonly string[] {
  return regions.length > 0 ? regions.map(({ name }) => name) : ['']
}

/** The app as it is in one of its regions, whose servers count and fail by themselves. */
export function inRegion(app: AppSettings, region: string): AppSettings {
  const there = app.regions.find(({ name }) => name === region)
  return there ? { ...app, region, limits: { ...app.limits, ...there.limits } } : app
}

const none: readonly never[] = []

/** Where one room is looked for: no feed tells of every room, and a room may be made anew in another region. */
export class Whereabouts {
  readonly #regions: AppSettings['regions']
  /** Regions that do not know the room. There are many rooms, and nearly always none of these. */
  #gone: readonly string[] = none
  #region: string
  /** Where it was found last. */
  #home: string | undefined
  #isFound = false
  /** Another region whose feed named it since its log was read. */
  #rumour: string | undefined
  #hasFollowed = false

  constructor({ region, regions }: AppSettings) {
    this.#regions = regions
    this.#region = region
  }

  get region(): string {
    return this.#region
  }

  /** A feed, the database or a log that was read tells that it is there. */
  get isFound(): boolean {
    return this.#isFound
  }

  /** Somewhere else it is not known any more: here it may be another room. */
  get hasMoved(): boolean {
    return this.#gone.length > 0 || this.#hasFollowed
  }

  /** The feed of the region, or the database, names the room; a log that is being read there is not left for it. */
  named(region: string): void {
    if (!this.#regions.some(({ name }) => name === region)) return
    this.#gone = this.#gone.filter(each => each !== region)
    if (!this.#isFound || this.#gone.includes(this.#region)) this.#settle(region)
    else if (region !== this.#region) this.#rumour = region
  }

  /** Its region said that it is not there. Answers whether it is looked for where another feed named it meanwhile. */
  followsRumour(region: string): boolean {
    if (region !== this.#region || this.#rumour === undefined) return false
    this.#settle(this.#rumour)
    this.#hasFollowed = true
    return true
  }

  /** Its log was read there. */
  found(region: string): void {
    this.#gone = none
    this.#hasFollowed = false
    this.#settle(region)
  }

  #settle(region: string): void {
    this.#region = region
    this.#home = region
    this.#isFound = true
    this.#rumour = undefined
  }

  /** Whether it is known to have been in another region. */
  wasElsewhere(region: string): boolean {
    return this.#home !== undefined && this.#home !== region
  }

  /** Nothing was learnt. Answers whether another region is asked next, as nobody knows where the room is. */
  isTriedElsewhere(): boolean {
    return !this.#isFound && this.#turn()
  }

  /** The region does not know the room. Answers whether another one may. */
  isElsewhere(region: string): boolean {
    if (!this.#gone.includes(region)) this.#gone = [...this.#gone, region]
    if (region !== this.#region) return true
    this.#isFound = false
    return this.#turn()
  }

  #turn(): boolean {
    const at = this.#regions.findIndex(({ name }) => name === this.#region)
    const inTurn = [...this.#regions.slice(at + 1), ...this.#regions.slice(0, at)]
    const next = inTurn.find(({ name }) => !this.#gone.includes(name))
    this.#region = next?.name ?? this.#region
    return next !== undefined
  }
}

/**
 * So many answers that the log of a room is not there end the room. One may be chance; one without a code may speak of
 * the app or of the address as well, so that it takes more of them.
 */
const TRIES = { room: 3, log: 5 } as const

/** An answer that comes sooner after another one, ms, says nothing that this one did not. */
const APART_MS = 60_000

export type Absences = ReturnType<typeof createAbsences>

interface Absence {
  readonly tries: number
  readonly at: number
  readonly isDenied: boolean
}

/** Which rooms' logs were not there when they were last asked for. */
export function createAbsences(clock: Clock) {
  const absences = new Map<string, Absence>()
  let servedAt = Number.NEGATIVE_INFINITY

  return {
    /** The log of the room was read. */
    served: (room: string) => {
      absences.delete(room)
      servedAt = clock.monotonic()
    },
    /** When any log was last read, on the monotonic clock, ms. */
    servedAt: (): number => servedAt,
    /**
     * The log of the room was not there, or there is no such room; answers whether the room is over. `othersAt`: when a log
     * was last read elsewhere, if that tells anything of this room.
     */
    missed: (room: string, missing: 'log' | 'room', othersAt: number): boolean => {
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
    /** Whether the room was said not to exist, and is asked about once more before that is believed. */
    isDenied: (room: string): boolean => absences.get(room)?.isDenied ?? false,
    forget: (room: string) => void absences.delete(room),
  }
}

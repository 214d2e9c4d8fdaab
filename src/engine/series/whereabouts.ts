import type { AppSettings } from '../settings.ts'

/**
 * Series of the feeds of an app: each region has one of its own. The feed of an app that is in one region alone has no
 * name.
 */
export function feedSeries({ regions = [] }: AppSettings): readonly string[] {
  return regions.length > 0 ? regions.map(({ name }) => name) : ['']
}

/** The app as it is in one of its regions, whose servers count and fail by themselves. */
export function inRegion(app: AppSettings, region: string): AppSettings {
  const there = app.regions?.find(({ name }) => name === region)
  return there ? { ...app, region, limits: { ...app.limits, ...there.limits } } : app
}

/** Where one room is looked for: no feed tells of every room, and a room may be made anew in another region. */
export class Whereabouts {
  readonly #regions: readonly string[]
  /** Regions that do not know the room. */
  readonly #gone = new Set<string>()
  #region: string
  /** Where it was found last. */
  #home: string | undefined
  #isFound = false
  /** Another region whose feed named it since its log was read. */
  #rumour: string | undefined
  #hasFollowed = false

  constructor({ region, regions = [] }: AppSettings) {
    this.#regions = regions.map(({ name }) => name)
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
    return this.#gone.size > 0 || this.#hasFollowed
  }

  /** The feed of the region, or the database, names the room; a log that is being read there is not left for it. */
  named(region: string): void {
    if (!this.#regions.includes(region)) return
    this.#gone.delete(region)
    if (!this.#isFound || this.#gone.has(this.#region)) this.#settle(region)
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
    this.#gone.clear()
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
    this.#gone.add(region)
    if (region !== this.#region) return true
    this.#isFound = false
    return this.#turn()
  }

  #turn(): boolean {
    const at = this.#regions.indexOf(this.#region)
    const inTurn = [...this.#regions.slice(at + 1), ...this.#regions.slice(0, at)]
    const next = inTurn.find(region => !this.#gone.has(region))
    this.#region = next ?? this.#region
    return next !== undefined
  }
}

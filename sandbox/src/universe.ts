import { Agenda } from './agenda.ts'
import { Insights } from './analytics/insights.ts'
import { CallLoad } from './analytics/load.ts'
import { oddCalls } from './analytics/odd-calls.ts'
import { fillBacklog } from './backlog.ts'
import { Classrooms } from './classrooms.ts'
import { feedsFor } from './feed.ts'
import type { AppOptions, Settings } from './options.ts'
import { Notices } from './players/notices.ts'
import { Players } from './players/players.ts'
import { openSchool } from './school.ts'
import { AppWorld } from './world.ts'

/** Events that an open but silent room has from its beginning. */
const eventsOfIdleRoom = 4

/**
 * The worlds of all apps, and their time: it follows the clock at the given speed, and everything that is due
 * happens when someone looks. While paused, time goes on but nothing happens.
 */
export class Universe {
  /** Every room with the class behind it. */
  readonly classrooms = new Classrooms()
  readonly #settings: Settings
  readonly #worlds: ReadonlyMap<string, AppWorld>
  readonly #insights = new Map<string, Insights>()
  readonly #agenda = new Agenda()
  readonly #origin: number
  readonly #started: number
  #pausedAt: number | undefined

  constructor(settings: Settings) {
    this.#settings = settings
    this.#origin = settings.clock.now()
    this.#started = settings.clock.monotonic()
    this.#worlds = new Map(settings.apps.map(app => [app.id, this.#found(app)]))
  }

  get apps(): Iterable<AppWorld> {
    return this.#worlds.values()
  }

  get isPaused(): boolean {
    return this.#pausedAt !== undefined
  }

  app(id: string): AppWorld | undefined {
    return this.#worlds.get(id)
  }

  /** Historical values of the calls of an app that there is. */
  insights(id: string): Insights {
    const known = this.#insights.get(id) ?? new Insights(this.#settings, id, this.#worlds.get(id)!.calls)
    this.#insights.set(id, known)
    return known
  }

  /** Unix milliseconds of the clock as the provider keeps it: requests are counted by it, and it never jumps. */
  clockTime(): number {
    return this.#origin + (this.#settings.clock.monotonic() - this.#started)
  }

  /** Unix milliseconds of the world. */
  now(): number {
    const { clock, speed } = this.#settings
    return Math.floor(this.#origin + (clock.monotonic() - this.#started) * speed)
  }

  /** Lets everything happen that is due by now, and says what now is. */
  advance(): number {
    const now = this.now()
    if (!this.isPaused) this.#agenda.runUntil(now)
    return now
  }

  /** Until when everything has happened, in Unix milliseconds of the world. */
  happened(): number {
    return this.#pausedAt ?? this.advance()
  }

  pause(): void {
    if (!this.isPaused) this.#pausedAt = this.advance()
  }

  resume(): void {
    if (this.#pausedAt === undefined) return
    this.#agenda.postpone(this.now() - this.#pausedAt)
    this.#pausedAt = undefined
  }

  #found({ id }: AppOptions): AppWorld {
    const { profile, switches, quirks } = this.#settings
    const seed = `${this.#settings.seed}/${id}`
    const players = this.#playersOf(id, seed)
    const world = new AppWorld(id, feedsFor(switches, seed), players)
    const rules = { switches, quirks: quirks }
    const ground = { world, classrooms: this.classrooms, agenda: this.#agenda, rules, seed }
    switch (profile.kind) {
      case 'school':
        openSchool({ ...ground, profile, counter: { last: 0 } }, this.#origin)
        break
      case 'backlog':
        fillBacklog(ground, profile, this.#origin)
        break
      case 'idle':
        fillBacklog(ground, { ...profile, eventsPerRoom: eventsOfIdleRoom }, this.#origin)
        break
      case 'calls':
        world.calls.addSource(new CallLoad({ seed, profile, origin: this.#origin }))
    }
    for (const call of oddCalls({ seed, quirks, origin: this.#origin })) world.calls.add(call)
    return world
  }

  #playersOf(app: string, seed: string): Players {
    const settings = this.#settings
    const agenda = this.#agenda
    const notices = new Notices({ app, settings, agenda, since: this.#origin })
    return new Players({ agenda, switches: settings.switches, notices, seed })
  }
}

import { quietSince } from '../../planning/cadence.ts'
import { spacingOf } from '../../provider/limits.ts'
import type { OpenSeries } from '../ports/store.ts'
import type { PollerContext, RoomMemory, Rooms } from './rooms.ts'

/** So many rooms are looked at as fast as may be when an app is started; the others more slowly. */
const AT_ONCE = 100
const QUICK_STEP_MS = 10

/** So many of the others are looked at together, which costs the database few statements. */
const TOGETHER = 8

/** Share of what the limits allow that is spent on rooms which nothing was heard of. */
const SHARE_OF_PACE = 0.5

/** How often rooms that wait in the store are looked for, ms. */
const RELIEF_EVERY_MS = 10_000

/** What the rooms that are found need of the schedules. */
interface RoomPlans {
  /** Plans a look at the log of a room within so many ms. */
  readonly look: (room: string, within: number) => void
  /** For how many ms nothing of a room is to be read; 0 or less while something is. */
  readonly restsFor: (room: string) => number
  readonly drop: (room: string) => void
}

/** Finds the rooms that are to be followed, and has each looked at in its turn. */
export class Discovery {
  readonly #context: PollerContext
  readonly #rooms: Rooms
  readonly #plans: RoomPlans
  #relievedAt = Number.NEGATIVE_INFINITY
  /** The room whose turn it was last among those that wait in the store. */
  #last = ''

  constructor(context: PollerContext, rooms: Rooms, plans: RoomPlans) {
    this.#context = context
    this.#rooms = rooms
    this.#plans = plans
  }

  /**
   * Makes the rooms of the config known and plans a first look at the log of every room that is followed: those
   * that last showed life come first, and the others leave room for news.
   */
  async followAll(): Promise<void> {
    const { app, clock, store, fence } = this.#context
    const rooms = this.#rooms
    if (app.rooms.length > 0) await store.discoverRooms(fence(), app.id, app.rooms)
    const beside = rooms.streams.filter(stream => stream !== rooms.parent)
    const open = await store.openSeries(app.id, rooms.parent, beside)
    const latestFirst = open.toSorted((a, b) => (b.lastEventAt ?? Infinity) - (a.lastEventAt ?? Infinity))
    if (open.length > rooms.places) rooms.crowd(true)
    const step = this.#step()
    for (const [place, each] of latestFirst.slice(0, rooms.places).entries()) {
      const known = this.#takeUp(each)
      const { besideReadAgo } = each
      if (besideReadAgo != null && besideReadAgo >= 0) known.besideReadAt = clock.monotonic() - besideReadAgo
      const quick = Math.min(place, AT_ONCE) * QUICK_STEP_MS
      const group = Math.ceil(Math.max(0, place - AT_ONCE) / TOGETHER)
      this.#plans.look(each.series, quick + group * TOGETHER * step)
    }
  }

  /**
   * Lets rooms that are followed and not remembered have their turn, by name, so that each comes round whatever becomes
   * of the others: so many at a time as have no place, and at half of what the limits allow. To be called often; it does
   * something now and then, while there are such rooms.
   */
  async relieve(): Promise<void> {
    const { app, clock, store } = this.#context
    const rooms = this.#rooms
    if (!rooms.isCrowded || clock.monotonic() - this.#relievedAt < RELIEF_EVERY_MS) return
    this.#relievedAt = clock.monotonic()
    const open = await store.openSeries(app.id, rooms.parent)
    const waiting = open.filter(({ series }) => !rooms.find(series))
    const without = waiting.length - rooms.places
    rooms.crowd(without > 0)
    const byName = waiting.sort((a, b) => (a.series < b.series ? -1 : 1))
    const next = byName.findIndex(({ series }) => series > this.#last)
    const inTurn = next < 0 ? byName : [...byName.slice(next), ...byName.slice(0, next)]
    const step = this.#step()
    const most = Math.max(1, Math.floor(RELIEF_EVERY_MS / step))
    const taken = without > 0 ? Math.min(most, without) : waiting.length
    // As many places are kept for rooms of which something is heard meanwhile.
    if (without > 0) this.#makePlaces(2 * taken - rooms.places)
    for (const [place, each] of inTurn.slice(0, Math.min(taken, rooms.places)).entries()) {
      this.#takeUp(each)
      this.#plans.look(each.series, place * step)
      this.#last = each.series
    }
  }

  /** Rooms of which all has been read for the longest time to come make place for others; their turn comes again. */
  #makePlaces(wanted: number): void {
    if (wanted <= 0) return
    const resting = [...this.#rooms.names()].map(room => ({ room, rest: this.#plans.restsFor(room) }))
    const idle = resting.filter(({ rest }) => rest > 0).sort((a, b) => (a.rest > b.rest ? -1 : 1))
    for (const { room } of idle.slice(0, wanted)) {
      this.#rooms.rest(room)
      this.#plans.drop(room)
    }
  }

  /** ms from one room of which nothing was heard to the next. */
  #step(): number {
    return Math.max(QUICK_STEP_MS, (this.#rooms.streams.length * this.#slowestPace()) / SHARE_OF_PACE)
  }

  /** ms between two requests of the rooms, as the limits have it. */
  #slowestPace(): number {
    const { app, streams } = this.#context
    const groups = streams
      .filter(({ scope }) => scope === 'room')
      .map(({ operation }) => operation.limitGroup)
    const rates = groups.flatMap(group => app.limits[group]?.rates ?? [])
    return spacingOf(rates) * 1_000
  }

  /** Remembers a room as the store has it. Of what nobody wished for and nothing was ever stored there is a name alone. */
  #takeUp({ series, life, lastEventAt, region }: OpenSeries): RoomMemory {
    const { app } = this.#context
    const rooms = this.#rooms
    const { activeEvery } = rooms.settings(rooms.parent)
    const isName = lastEventAt === null && !app.rooms.includes(series)
    const known = rooms.find(series) ?? rooms.add(series, isName ? 'name' : 'store', life)
    known.whereabouts.named(region ?? '')
    const silence = this.#context.clock.now() - (lastEventAt ?? 0)
    rooms.seriesOf(known, rooms.parent).quiet = lastEventAt === null ? 0 : quietSince(activeEvery, silence)
    return known
  }
}

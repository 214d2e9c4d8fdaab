import { hintedDelay } from '../planning/cadence.ts'
import type { Hint, StreamName } from '../streams/stream.ts'
import type { AppSettings, StreamSettings } from './settings.ts'

/** The stream whose log decides what a room is; the other streams of a room wait for it. */
export const gatekeeper: StreamName = 'room-events'

/** No event announces what these streams bring, so every sign of life in the room counts for them. */
const unannounced: ReadonlySet<StreamName> = new Set(['popup-quiz', 'poll'])

/** What this process remembers of one series between visits. */
export interface SeriesMemory {
  /** Visits in a row that found nothing new. */
  quiet: number
  /** No more visits until a hint comes. */
  closed: boolean
  /** Waits until the room's log has been read. */
  held: boolean
}

export interface RoomMemory {
  /** ms since the epoch; undefined while the class goes on. */
  endedAt: number | undefined
  /** When the room's log was last read well, on the monotonic clock, ms. */
  verifiedAt: number | undefined
  readonly series: Map<StreamName, SeriesMemory>
}

/** A visit that a hint asks for. */
export interface Wanted {
  readonly stream: StreamName
  /** At the latest in this many ms. */
  readonly within: number
}

/** The rooms of one app as its poller knows them. */
export class Rooms {
  readonly #app: AppSettings
  readonly #rooms = new Map<string, RoomMemory>()

  constructor(app: AppSettings) {
    this.#app = app
  }

  /** Streams that follow rooms and are on, the gatekeeper first. */
  streams(): readonly StreamName[] {
    const on = Object.keys(this.#app.streams) as StreamName[]
    return [gatekeeper, ...on.filter(stream => stream !== gatekeeper && stream !== 'app-events')]
  }

  names(): Iterable<string> {
    return this.#rooms.keys()
  }

  get(room: string): RoomMemory {
    const known = this.#rooms.get(room)
    if (known) return known
    const made: RoomMemory = { endedAt: undefined, verifiedAt: undefined, series: new Map() }
    this.#rooms.set(room, made)
    return made
  }

  forget(room: string): void {
    this.#rooms.delete(room)
  }

  series(room: string, stream: StreamName): SeriesMemory {
    const { series } = this.get(room)
    const known = series.get(stream)
    if (known) return known
    const made: SeriesMemory = { quiet: 0, closed: false, held: false }
    series.set(stream, made)
    return made
  }

  /** Whether the log has been read recently enough to trust that the roomUuid still means the same room. */
  verified(room: string, now: number, memory: number): boolean {
    const { verifiedAt } = this.get(room)
    return verifiedAt !== undefined && now - verifiedAt < memory * TRUSTED_SHARE
  }

  /** Every other stream of the room has had its last visit. */
  othersClosed(room: string): boolean {
    return [...this.get(room).series].every(([stream, memory]) => stream === gatekeeper || memory.closed)
  }

  /** Takes a hint to heart and answers which visits it asks for. */
  heed(hint: Hint, from: StreamName): readonly Wanted[] {
    const known = this.#rooms.has(hint.room) ? 'known' : 'new'
    const room = this.get(hint.room)
    if (hint.change === 'ended') room.endedAt = Math.min(room.endedAt ?? hint.at, hint.at)
    const concerned = this.streams().filter(
      stream => stream !== from && (hint.streams.includes(stream) || unannounced.has(stream)),
    )
    return concerned.map(stream => {
      const memory = this.series(hint.room, stream)
      Object.assign(memory, { quiet: 0, closed: false })
      const change = stream === gatekeeper ? hint.change : 'news'
      return { stream, within: hintedDelay(this.settings(stream), change, known) }
    })
  }

  settings(stream: StreamName): StreamSettings {
    const settings = this.#app.streams[stream]
    if (!settings) throw new TypeError(`stream ${stream} is off`)
    return settings
  }
}

/** The database measures the same trust from the commit; a part of it is left for the way there. */
const TRUSTED_SHARE = 0.8

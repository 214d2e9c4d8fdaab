import type { Clock } from '../../clock/clock.ts'
import { type HoleNews, hearHole, hintedDelay, quietSince } from '../../planning/cadence.ts'
import type { Hint, ToldState } from '../../streams/page.ts'
import { type CursorStream, isOfRooms, type StreamName } from '../../streams/stream.ts'
import type { AppContext } from '../context.ts'
import type { RoomLife } from '../ports.ts'
import type { AppSettings, StreamSettings } from '../settings.ts'
import { Whereabouts } from './whereabouts.ts'

/** The database measures trust in a log from its commit; a part of it is left for the way there. */
const TRUSTED_SHARE = 0.8

/** Trust in the log of a room that ended so long ago that the provider may forget it, as a share of its memory. */
const FADING_SHARE = 0.1

/** A room that ended longer ago than this share of the provider's memory may be another one by now. */
const SAFE_SHARE = 0.5

/** A room that the provider did not know is looked at again after this, ms, when it is named again. */
const MEET_EVERY_MS = 2 * 3_600_000
const MOST_MET = 10_000

/** What this process remembers of one series between syncs. */
interface SeriesMemory {
  /** Visits in a row that found nothing new. */
  quiet: number
  /** No more syncs until a hint comes. */
  closed: boolean
  /** Waits until the room's log has been read. */
  held: boolean
}

export interface RoomMemory {
  /** Undefined while no change of state is known. */
  life: RoomLife | undefined
  /** When the room's log was last read well, on the monotonic clock, ms. */
  verifiedAt: number | undefined
  /**
   * Where this process has the room from: what a hint names may be an old room or another of the same name, and of what
   * only the name was heard, from a call or a player's channel, there need be no room at all.
   */
  from: 'store' | 'hint' | 'name'
  readonly whereabouts: Whereabouts
  /** When what is beside its log was read by processes before this one, on the monotonic clock, ms, until it has its turn here. */
  besideReadAt?: number | undefined
  /** Holes of which a feed told; most rooms have none. */
  holes?: HoleNews
  /** An object, since there are many rooms: a Map takes several times as much. */
  readonly series: Partial<Record<StreamName, SeriesMemory>>
}

/** A sync that a hint asks for. */
interface ScheduledSync {
  readonly stream: StreamName
  /** At the latest in this many ms. */
  readonly within: number
}

/** What keeping an app's rooms synced needs. */
export interface PollerContext extends AppContext {
  /** Those that are on. */
  readonly streams: readonly CursorStream[]
  /** Of all streams, of whichever kind. */
  readonly names: readonly StreamName[]
}

type RoomsContext = Pick<PollerContext, 'app' | 'clock' | 'settings' | 'streams'>

/** The rooms of one app as its poller knows them. */
export class Rooms {
  readonly #app: AppSettings
  readonly #clock: Clock
  /** How long the provider remembers a room, ms. */
  readonly #memory: number
  /** How many rooms are remembered at most. */
  readonly #most: number
  readonly #parent: StreamName | undefined
  readonly #streams: readonly StreamName[]
  /** Streams of which hints say when there is something new; of the others every sign of life does in a class. */
  readonly #announced: ReadonlySet<StreamName>
  #isCrowded = false
  readonly #rooms = new Map<string, RoomMemory>()
  /** When rooms were last met that are not followed, on the monotonic clock, ms; the latest at the end. */
  readonly #met = new Map<string, number>()

  constructor({ app, clock, settings, streams }: RoomsContext) {
    this.#app = app
    this.#clock = clock
    this.#memory = settings.roomMemory
    this.#most = settings.mostRooms
    const ofRooms = streams.filter(isOfRooms)
    this.#parent = ofRooms.find(({ isParent }) => isParent)?.name
    const announced = ofRooms.filter(each => each.isAnnounced || each.isParent)
    this.#announced = new Set(announced.map(({ name }) => name))
    const others = ofRooms.map(({ name }) => name).filter(name => name !== this.#parent)
    this.#streams = this.#parent ? [this.#parent, ...others] : []
  }

  /** Whether rooms are followed at all: without the parent stream none can be. */
  get areFollowed(): boolean {
    return this.#parent !== undefined
  }

  /** The stream whose log decides what a room is; the other streams of a room wait for it. */
  get parent(): StreamName {
    if (!this.#parent) throw new TypeError('the stream whose log decides what a room is, is off')
    return this.#parent
  }

  /** Streams that follow rooms and are on, the parent stream first. */
  get streams(): readonly StreamName[] {
    return this.#streams
  }

  /** Whether rooms are followed that are not remembered: they wait in the store until others make room. */
  get isCrowded(): boolean {
    return this.#isCrowded
  }

  /** How many more can be remembered. */
  get places(): number {
    return Math.max(0, this.#most - this.#rooms.size)
  }

  crowd(isCrowded: boolean): void {
    this.#isCrowded = isCrowded
  }

  /** Remembers a room no longer that goes on being followed. */
  rest(room: string): void {
    this.#rooms.delete(room)
  }

  names(): Iterable<string> {
    return this.#rooms.keys()
  }

  find(room: string): RoomMemory | undefined {
    return this.#rooms.get(room)
  }

  add(room: string, from: RoomMemory['from'], life?: RoomLife): RoomMemory {
    const made: RoomMemory = {
      life,
      verifiedAt: undefined,
      from,
      whereabouts: new Whereabouts(this.#app),
      series: {},
    }
    this.#rooms.set(room, made)
    return made
  }

  forget(room: string): void {
    this.#rooms.delete(room)
    this.#note(room)
  }

  /** Whether a room that others have heard of should be looked at: it is not followed and was not met of late. */
  markSeen(room: string): boolean {
    if (this.#rooms.has(room)) return false
    const met = this.#met.get(room)
    if (met !== undefined && this.#clock.monotonic() - met < MEET_EVERY_MS) return false
    this.#note(room)
    return true
  }

  /** It was not set down that it is to be looked at: whoever tells of it next is heard. */
  unmark(room: string): void {
    this.#met.delete(room)
  }

  #note(room: string): void {
    const now = this.#clock.monotonic()
    this.#met.delete(room)
    this.#met.set(room, now)
    for (const [oldest, at] of this.#met) {
      if (this.#met.size <= MOST_MET && now - at < MEET_EVERY_MS) break
      this.#met.delete(oldest)
    }
  }

  /** Whether the log has been read recently enough to trust that the roomUuid still means the same room. */
  isVerified(room: string): boolean {
    const known = this.#rooms.get(room)
    if (known?.verifiedAt === undefined) return false
    const share = this.#isFading(known) ? FADING_SHARE : TRUSTED_SHARE
    return this.#clock.monotonic() - known.verifiedAt < this.#memory * share
  }

  /** The log must be read before anything else of the room is. */
  distrust(room: string): void {
    const known = this.#rooms.get(room)
    if (known) known.verifiedAt = undefined
  }

  /** Whether the roomUuid may mean another room than the one that is stored. */
  isDoubtful(room: string): boolean {
    const known = this.#rooms.get(room)
    if (!known || known.whereabouts.hasMoved) return true
    return (known.from !== 'store' && known.verifiedAt === undefined) || this.#isFading(known)
  }

  #isFading({ life }: RoomMemory): boolean {
    const endedAt = life?.endedAt
    return endedAt !== undefined && this.#clock.now() - endedAt > this.#memory * SAFE_SHARE
  }

  /** What the database knew of a room when a sync began; a roomUuid that is used again has a life of its own. */
  learn(room: string, life: RoomLife | undefined, opened: boolean): void {
    const known = this.#rooms.get(room)
    if (!known) return
    if (opened) known.life = undefined
    else if (life) known.life = later(known.life, life)
  }

  /** Takes a hint to heart and answers which syncs it asks for; `region`: whose feed gave it; `from`: the stream that did. */
  applyHint(
    hint: Hint,
    region: string,
    from?: Pick<CursorStream, 'name' | 'kind'>,
  ): readonly ScheduledSync[] {
    if (!this.areFollowed) return []
    if (!this.#rooms.has(hint.room) && this.places === 0) {
      this.crowd(true)
      return []
    }
    // Lists and searches of the whole app tell channels, which need not be those of rooms.
    const isEvent = !from || from.kind === 'feed' || from.kind === 'log'
    const room = this.#rooms.get(hint.room) ?? this.add(hint.room, 'name')
    if (isEvent && room.from === 'name') room.from = 'hint'
    room.whereabouts.named(region)
    const before = room.life
    if (hint.state) room.life = afterChanges(before, hint.state)
    const all = isStartedAgain(before, room.life)
    const isOn = room.life?.endedAt === undefined
    const concerned = this.#streams.filter(
      stream =>
        stream !== from?.name && (all || names(hint, stream) || (isOn && !this.#announced.has(stream))),
    )
    const ofLog = hint.change === 'hole' && from && !this.#hearHole(room) ? 'news' : hint.change
    return concerned.map(stream => {
      const change = stream === this.#parent ? ofLog : 'news'
      const known = room.series[stream] ? 'known' : 'new'
      const within = hintedDelay(this.settings(stream), change, known, this.#clock.now())
      const memory = this.seriesOf(room, stream)
      memory.closed = false
      // What happened long ago, and is told only now, is no sign that something goes on.
      const { activeEvery } = this.settings(stream)
      memory.quiet = Math.min(memory.quiet, quietSince(activeEvery, this.#clock.now() - hint.at))
      return { stream, within }
    })
  }

  /** Whether its log is read at once for a hole of which the feed tells. */
  #hearHole(room: RoomMemory): boolean {
    const { isAtOnce, ...heard } = hearHole(this.settings(this.parent), room.holes, this.#clock.monotonic())
    room.holes = heard
    return isAtOnce
  }

  /** The memory of a series, made when there is none; a new one is as quiet as the room's log. */
  seriesOf({ series }: RoomMemory, stream: StreamName): SeriesMemory {
    const quiet = series[this.parent]?.quiet ?? 0
    series[stream] ??= { quiet, closed: false, held: false }
    return series[stream]
  }

  /** Whether every other stream of the room has had its last sync. */
  haveOthersClosed({ series }: RoomMemory): boolean {
    return this.#streams.every(stream => stream === this.#parent || series[stream]?.closed !== false)
  }

  settings(stream: StreamName): StreamSettings {
    const settings = this.#app.streams[stream]
    if (!settings) throw new TypeError(`stream ${stream} is off`)
    return settings
  }
}

function names({ streams }: Hint, stream: StreamName): boolean {
  return streams === 'all' || streams.includes(stream)
}

/**
 * What a room is after its changes of state were told: the one of the highest sequence decides, in whatever order and
 * how often they are told. A room that is ended again without a new start, or closed, ended when it was first ended.
 */
export function afterChanges(
  life: RoomLife | undefined,
  { sequence, started, endedAt }: ToldState,
): RoomLife {
  const { incarnation } = life ?? unknown
  if (life && sequence < life.sequence) return life
  if (endedAt === undefined || life?.endedAt === undefined) return { incarnation, sequence, endedAt }
  const tellsAll = started !== undefined && (sequence === life.sequence || started > life.sequence)
  return { incarnation, sequence, endedAt: tellsAll ? endedAt : Math.min(life.endedAt, endedAt) }
}

/** Only the database knows which one; what is told of a room may be of one or of the next. */
const unknown = { incarnation: 0 }

/** Of what this process knows and what the database knew, what was told later; where both know as much, the database. */
export function later(known: RoomLife | undefined, stored: RoomLife): RoomLife {
  if (!known || known.sequence < stored.sequence) return stored
  const isOther = known.incarnation !== unknown.incarnation && known.incarnation < stored.incarnation
  const isFresher = known.sequence > stored.sequence || stored.endedAt === undefined
  return isFresher && !isOther ? { ...known, incarnation: stored.incarnation } : stored
}

/** A class that had ended goes on. */
function isStartedAgain(before: RoomLife | undefined, now: RoomLife | undefined): boolean {
  return before?.endedAt !== undefined && now !== undefined && now.endedAt === undefined
}

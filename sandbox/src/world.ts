import { type Call, Calls } from './calls.ts'
import { drawFrom } from './draw.ts'
import type { Players } from './players/players.ts'
import type { Oddity, Retold } from './quirks.ts'
import { seededRandom } from './seeded.ts'

/** All times are Unix milliseconds of the world, UTC. */
export interface RoomEvent {
  readonly sequence: number | bigint
  readonly cmd: number
  readonly data: object
  readonly at: number
  /** Of the service, where another one tells it than tells most. */
  readonly version?: number
  readonly spoilt?: object
  readonly oddity?: Oddity
  readonly retold?: Retold
  /** Before this, Unix milliseconds, the log of the room lacks it. */
  readonly loggedFrom?: number
  /** No feed tells it. */
  readonly isUntold?: true
}

export type Widget = 'popupQuiz' | 'poll'
export type WidgetStep = 'start' | 'submission' | 'summary' | 'end'

export interface Member {
  readonly userUuid: string
  readonly userName: string
  readonly role: number
}

/** One change of a quiz or poll, before it is dressed for an answer. */
export interface WidgetEntry {
  /** The quiz or poll that the change belongs to, whether or not its answer says so. */
  readonly id: string
  readonly step: WidgetStep
  readonly sequence: number
  readonly at: number
  readonly state?: number
  readonly extra: object
  /** A student's data, which stands beside `extra`. */
  readonly beside?: object
  readonly cause: string
  readonly author: Member
  readonly starter?: Member
  /** Served with properties that no client can read. */
  readonly malformed?: true
}

export interface Recording {
  readonly recordId: string
  readonly startTime: number
  endTime: number | null
  readonly resourceId: string
  readonly sid: string
  readonly recordUid: string
  readonly boardId: string
  readonly boardToken: string
  readonly type: number
  status: number
  url: string | null
  recordDetails: { readonly url: string }[]
}

export interface Resource {
  readonly resourceUuid: string
  readonly resourceName: string
  readonly ext: string
  readonly size: number
  readonly url: string
  readonly updateTime: number
  readonly taskUuid?: string
  readonly taskToken?: string
  readonly taskProgress?: object
}

export type Properties = Readonly<Record<string, unknown>>

/** How a user was put out of a room. */
export interface Kick {
  readonly at: number
  /** From when on the user may enter again; null: never. */
  readonly until: number | null
}

export interface ExtApp {
  readonly properties: Properties
  /** Undefined while nobody has said it. */
  readonly state: number | undefined
}

/** How a recording was asked for, or told to go on. */
export interface RecordingRequest {
  readonly mode?: string | undefined
  readonly retryTimeout?: number | undefined
  readonly webRecordConfig?: object | undefined
}

/** What operations set in a room and no event tells of. */
export interface Held {
  properties: Properties
  readonly users: Map<string, Properties>
  readonly extApps: Map<string, ExtApp>
  /** Why properties were changed, each time that a reason was given. */
  readonly causes: object[]
  /** The last kick of each user. */
  readonly kicks: Map<string, Kick>
  /** Of the recording last started by an operation, or changed by one. */
  recording: RecordingRequest | undefined
}

export interface Contents {
  readonly events: RoomEvent[]
  readonly widgets: Readonly<Record<Widget, WidgetEntry[]>>
  readonly recordings: Recording[]
  readonly resources: Map<string, Resource>
  /** What resources became while no event told of it. */
  readonly steps: Resource[]
  /** The calls behind the class, the last one perhaps still going on: their channel has the name of the room. */
  readonly calls: Call[]
  readonly held: Held
}

/** One incarnation of a roomUuid. */
export interface Room {
  readonly uuid: string
  /** The only region that knows it; undefined: all do. */
  readonly region: string | undefined
  /** From 1; counts how often the roomUuid has been opened. */
  readonly incarnation: number
  readonly openedAt: number
  state: number
  startedAt: number | undefined
  endedAt: number | undefined
  destroyedAt: number | undefined
  contents(): Contents
}

export interface FeedEntry {
  readonly room: Room
  readonly at: number
  event(): RoomEvent
}

/** The app-wide stream of events. It has no cursor, and it may forget what it has served. */
export interface Feed {
  announce(entry: FeedEntry): void
  /** The entries of one answer, at most `most` of them. */
  take(now: number, most: number): readonly FeedEntry[]
}

export function emptyContents(): Contents {
  return {
    events: [],
    widgets: { popupQuiz: [], poll: [] },
    recordings: [],
    resources: new Map(),
    steps: [],
    calls: [],
    held: {
      properties: {},
      users: new Map(),
      extApps: new Map(),
      causes: [],
      kicks: new Map(),
      recording: undefined,
    },
  }
}

/** All that one app has at the provider. */
export class AppWorld {
  readonly id: string
  /** The feed of each region in which rooms are; one without a name tells of all in every region. */
  readonly #feeds: ReadonlyMap<string, Feed>
  /** Every room there ever was, in the order of opening. */
  readonly rooms: Room[] = []
  readonly calls = new Calls()
  readonly players: Players
  eventsMade = 0
  eventsFed = 0
  readonly #open = new Map<string, Room>()
  readonly #incarnations = new Map<string, number>()

  constructor(id: string, feeds: ReadonlyMap<string, Feed>, players: Players) {
    this.id = id
    this.#feeds = feeds
    this.players = players
  }

  /** The room that has this roomUuid now, as the region knows it; without one, as all of them do. */
  room(uuid: string, region?: string): Room | undefined {
    const room = this.#open.get(uuid)
    return region === undefined || room?.region === undefined || room.region === region ? room : undefined
  }

  /** What the feed of the region serves in one answer. */
  feed(region: string): Feed | undefined {
    return this.#feeds.get('') ?? this.#feeds.get(region)
  }

  open(uuid: string, openedAt: number, contents: () => Contents): Room {
    const incarnation = (this.#incarnations.get(uuid) ?? 0) + 1
    const room: Room = {
      uuid,
      region: this.#regionOf(uuid, incarnation),
      incarnation,
      openedAt,
      state: 0,
      startedAt: undefined,
      endedAt: undefined,
      destroyedAt: undefined,
      contents,
    }
    this.#incarnations.set(uuid, incarnation)
    this.#open.set(uuid, room)
    this.rooms.push(room)
    return room
  }

  destroy(room: Room, now: number): void {
    room.destroyedAt = now
    this.#open.delete(room.uuid)
  }

  announce(entry: FeedEntry): void {
    this.feed(entry.room.region ?? '')?.announce(entry)
  }

  /** Drawn anew for each incarnation, by its name alone. */
  #regionOf(uuid: string, incarnation: number): string | undefined {
    const regions = [...this.#feeds.keys()].filter(region => region !== '')
    return regions.length === 0
      ? undefined
      : drawFrom(seededRandom(`${this.id}/${uuid}/${incarnation}`)).pick(regions)
  }

  /** Counts an event that was just made, and tells the feed of it. */
  publish(room: Room, event: RoomEvent): void {
    this.eventsMade++
    if (!event.isUntold) this.announce({ room, at: event.at, event: () => event })
  }
}

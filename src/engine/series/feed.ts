import type { Clock } from '../../clock/clock.ts'
import { roomRows } from '../../streams/events/event-rows.ts'
import { digestOf } from '../../streams/parts/items.ts'
import { type RoomEventRow, room, roomEvent, roomStateChange } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import { type Fence, numberOf, type Store } from '../ports.ts'

/** What one feed of an app may have handed out and nobody stored, from one reading to the next. */
export type FeedGaps = ReturnType<typeof createFeedGaps>

interface FeedGapsContext {
  readonly app: string
  readonly series: string
  readonly store: Store
  readonly fence: () => Fence
  readonly clock: Clock
  /** How long after a debit its request may still reach the provider, ms. */
  readonly arrivesWithin: number
  /** How long the provider remembers what the feed did not tell, ms. */
  readonly memory: number
}

/** Begins suspicious: a process before this one may have been killed over an answer. */
export function createFeedGaps(context: FeedGapsContext) {
  const { app, series, store, fence, clock, arrivesWithin, memory } = context
  let isSuspect = true
  /** A request of ours that was never settled counts as unread only when it can no longer arrive. */
  let suspectUntil = clock.monotonic()
  /** One was set down, and nobody was told so yet. */
  let isMissed = false
  let areOpen = true
  /** An answer may still be made after it was given up, one of a process before this one too: then the logs are read once more. */
  let settledAt = clock.monotonic() + arrivesWithin
  let toldAllAt = clock.monotonic()
  /** When the ledger was looked through last, by both clocks: a machine that sleeps stops one of them. */
  let looked = { monotonic: clock.monotonic(), now: clock.now() }

  function suspect(): void {
    isSuspect = true
    suspectUntil = clock.monotonic() + arrivesWithin
  }

  return {
    /** A reading of the feed may have come to nothing. */
    suspect,
    /** The feed told all that waited there, or may have held back more. */
    heard: (what: 'all' | 'a part') => {
      if (what === 'all') toldAllAt = clock.monotonic()
      else if (clock.monotonic() - toldAllAt > memory) suspect()
    },
    /** Brings the gap ledger up to date before the feed is read; `missed`: the logs of all rooms must be read. */
    review: async (): Promise<'missed' | 'nothing new'> => {
      const since = Math.max(clock.monotonic() - looked.monotonic, clock.now() - looked.now)
      // What is asked by hand tells nobody here, and who stood still, or waited for the database, met no failure.
      if (since > memory) suspect()
      if (isSuspect && (await store.recordUnread(fence(), app, series)) > 0) isMissed = true
      if (isSuspect) looked = { monotonic: clock.monotonic(), now: clock.now() }
      isSuspect &&= clock.monotonic() <= suspectUntil
      areOpen ||= isMissed
      if (areOpen) areOpen = (await store.settleFeedGaps(fence(), app)) > 0
      const missed = isMissed
      isMissed = false
      const settled = areOpen && clock.monotonic() >= settledAt
      if (missed) settledAt = clock.monotonic() + arrivesWithin
      else if (settled) settledAt = Number.POSITIVE_INFINITY
      return missed || settled ? 'missed' : 'nothing new'
    },
  }
}

/** What a feed told of late: tells a feed that has more to tell from one that tells the same again. */
export type Heard = ReturnType<typeof createHeard>

/** Names that are kept of what was told of late; beside those of one answer, however many it holds. */
const MOST_NAMES = 20_000

/**
 * Of an answer so small a share is new where a feed tells all of the last seconds each time: to ask again at once would
 * bring the same once more. Where each event is told once, or now and then again, nearly all of an answer is new.
 */
const SHARE_OF_NEWS = 1 / 4

/**
 * An answer that holds so much may have left something behind, whatever others held. No document says how much one may
 * hold, so else the largest that was seen tells it: a smaller one told all that there was.
 */
const FULL_ANSWER = 100

/** Where an answer holds a single event, one that is told again hides what waits behind it: so many in a row are an end. */
const KNOWN_ONES = 3

/** `memory`: what was told longer ago, ms, the provider tells no more. */
export function createHeard(clock: Pick<Clock, 'monotonic'>, memory: number) {
  const names = createNames(clock, memory)
  let largest = 0
  /** Known ones that may still follow. */
  let patience = 0
  /** What the answer before told and what was stored, by name: in which words. */
  let stored: ReadonlyMap<string, string> = new Map()
  return {
    /** Takes the rows of one answer. */
    answer: () => {
      const before = stored
      const told = new Map<string, string>()
      return {
        /**
         * The rows without events that the answer before told in the same words: a feed that tells all of the last seconds each
         * time tells most of them again, and to store them would change nothing.
         */
        unstored: (rows: RowSet): RowSet => {
          const again = new Set<string>()
          for (const event of rows[roomEvent.name] ?? []) {
            const name = nameOf(event)
            const words = wordsOf(event)
            if (words === undefined) continue
            told.set(name, words)
            if (before.get(name) === words) again.add(name)
          }
          return again.size === 0 ? rows : without(again, rows)
        },
        /** They are being stored; what this gives back is to be called once they are. Until then nobody knows. */
        storing: () => {
          stored = new Map()
          return () => {
            stored = told
          }
        },
      }
    },
    /** Takes note of what an answer told, and answers whether more of the kind may be waiting. */
    isNews: (told: readonly string[]): boolean => {
      names.forget()
      const news = told.filter(name => !names.isKnown(name)).length
      largest = Math.max(largest, told.length)
      const isFull = told.length >= Math.min(largest, FULL_ANSWER)
      if (isFull && news > 0 && news >= told.length * SHARE_OF_NEWS) {
        patience = largest === 1 ? KNOWN_ONES : 0
        return true
      }
      // Behind an answer without events one that is known is a beginning: of a room that is used again, say.
      if (told.length === 0) patience = largest === 1 ? KNOWN_ONES : 0
      else patience = Math.max(0, patience - 1)
      return told.length > 0 && patience > 0
    },
  }
}

/** So long, ms, names are kept at least: a room may be remembered for a second, and asked about less often. */
const LEAST_KEPT_MS = 600_000

/**
 * Names that were told within half of `memory`, ms, and some that were told before. There are as many apps as feeds: a number
 * stands for each name, and nothing is kept where nothing happens any more.
 */
function createNames(clock: Pick<Clock, 'monotonic'>, memory: number) {
  let [before, latest] = [new Set<number>(), new Set<number>()]
  let began = clock.monotonic()
  const kept = Math.max(memory, LEAST_KEPT_MS)
  return {
    /** To be called before those of an answer are told. */
    forget: () => {
      const age = clock.monotonic() - began
      if (age < kept / 2 && latest.size < MOST_NAMES / 2) return
      before = age < kept ? latest : new Set()
      latest = new Set()
      began = clock.monotonic()
    },
    /** Whether it was told before; now it is. */
    isKnown: (name: string): boolean => {
      const number = numberOf(name)
      const isKnown = latest.has(number) || before.has(number)
      latest.add(number)
      return isKnown
    },
  }
}

function nameOf({ room_uuid, sequence }: Pick<RoomEventRow, 'room_uuid' | 'sequence'>): string {
  return `${sequence} ${room_uuid}`
}

/** Undefined where they cannot be told apart. */
function wordsOf({ cmd, version, event_time, data, extra }: RoomEventRow): string | undefined {
  return digestOf([cmd, version, event_time, data, extra])
}

/**
 * Every table of events has their names. A room becomes what its other events say: where the row of a change does not come
 * with the state that it made, the end of the class would not be known.
 */
function without(again: ReadonlySet<string>, rows: RowSet): RowSet {
  const isLeft = (row: object) => !again.has(nameOf(row as RoomEventRow))
  const tables = Object.entries(rows).filter(([table]) => table !== room.name)
  const left: RowSet = Object.fromEntries(
    tables.map(([table, list]) => [table, (list as readonly object[]).filter(isLeft)]),
  )
  const events = left[roomEvent.name] ?? []
  return { ...left, [room.name]: roomRows(events, left[roomStateChange.name] ?? [], new Set(events)) }
}

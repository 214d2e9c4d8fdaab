import { appEvents, popupQuiz, recordings, roomEvents } from '../../src/provider/classroom/index.ts'
import type { Hint, Page, PageResult } from '../../src/streams/page.ts'
import { roomCadence } from '../../src/streams/parts/cadence.ts'
import type { FeedStream, LogStream, SnapshotStream } from '../../src/streams/stream.ts'
import type { RowSet } from '../../src/tables/index.ts'

/** What the provider of these tests serves: numbered things, some of which are news about a room. */
export interface Thing {
  readonly id: number
  readonly hint?: Hint
  readonly unfinished?: true
  readonly undecided?: true
}

export interface Served {
  readonly items: readonly Thing[]
  readonly nextId?: string
  readonly lacksData?: true
  readonly total?: number
}

function read(answer: unknown) {
  const { items, nextId, lacksData, total } = answer as Served
  return { items, nextId, lacksData, total }
}

function toRows(page: Page): PageResult {
  const items = page.items as readonly (Thing | null)[]
  const things = items.filter(item => item !== null)
  return {
    rows: {
      'classroom.room_event': things.map(thing => ({ ...thing, sequence: thing.id })),
    } as unknown as RowSet,
    streamState: { read: things.length },
    room: { kind: 'current' },
    follow: page.purpose === 'probe' ? 'stay' : 'next',
    rejects: [],
    hints: things.flatMap(({ hint }) => (hint ? [hint] : [])),
    told: things.map(({ id }) => String(id)),
    unfinished: things.some(({ unfinished }) => unfinished === true),
    ...(things.some(({ undecided }) => undecided) && { isUndecided: true as const }),
  }
}

const queue = {
  kind: 'log',
  title: '',
  writes: [],
  read,
  source: 'log',
  scope: 'room',
  ...roomCadence('15s'),
  request: (cursor: string | null) => (cursor === null ? {} : { nextId: cursor }),
  toRows,
  rewind: () => null,
  rereads: () => false,
} as const

export const feed: FeedStream = {
  kind: 'feed',
  name: 'app-events',
  title: '',
  writes: [],
  operation: appEvents,
  read,
  source: 'feed',
  scope: 'app',
  ...roomCadence('2s'),
  toRows,
}
export const roomLog: LogStream = { ...queue, name: 'room-events', isParent: true, operation: roomEvents }
export const quiz: LogStream = { ...queue, name: 'popup-quiz', operation: popupQuiz }

export const list: SnapshotStream = {
  ...queue,
  kind: 'snapshot',
  name: 'recordings',
  source: 'list',
  operation: recordings,
}

export function news(room: string, change: Hint['change'], at: number): Hint {
  return { room, change, at, streams: ['room-events'] }
}

/** News of a change of state: that the class began, or when it ended. */
export function stateNews(room: string, sequence: number, endedAt: number | 'begun'): Hint {
  const state =
    endedAt === 'begun' ? { sequence, started: sequence, endedAt: undefined } : { sequence, endedAt }
  return { ...news(room, 'news', 0), state }
}

import { systemClock } from '../../src/clock/system.ts'
import { rebuildWith } from '../../src/commands/replay/rebuild.ts'
import { replayRooms } from '../../src/commands/replay/rooms.ts'
import type { CommitResult, PageCommit } from '../../src/engine/ports.ts'
import { rebuildable } from '../../src/postgres/replay/rebuilt.ts'
import { openReplay, type Replay } from '../../src/postgres/replay.ts'
import type { StoreSettings } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import type { Page, ReadingSettings } from '../../src/streams/page.ts'
import type { Stream } from '../../src/streams/stream.ts'
import { app, me, openStore, start, type TestStore } from './harness.ts'

export const settings: ReadingSettings = { submitter: 'operator', sequenceScope: 'room' }

/** ms since the epoch, minutes after `start`. */
export const minute = (minutes: number) => Date.parse(start) + minutes * 60_000

type Answer = Partial<Page> & { readonly items: readonly object[] }
/** Streams whose pages follow a cursor. */
export type ReadStream =
  | 'app-events'
  | 'room-events'
  | 'popup-quiz'
  | 'poll'
  | 'recordings'
  | 'resources'
  | 'cloud-players'

/** A store, the streams that fill it, and a session that replays it. */
export interface ReplayHarness {
  readonly db: TestStore
  readonly replay: Replay
  /** Reads an answer as the daemon would, from the beginning of the log unless told, and commits it. */
  readonly read: (stream: ReadStream, room: string, answer: Answer) => Promise<CommitResult>
  readonly page: (stream: ReadStream, room: string, answer: Answer) => Promise<PageCommit>
  readonly compare: (used?: readonly Stream[]) => ReturnType<typeof replayRooms>
  readonly write: (used?: readonly Stream[]) => ReturnType<typeof replayRooms>
  /** Every row of the derived tables and of the rooms, as text. */
  readonly dump: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

/** What is derived of a room. */
const roomColumns =
  'app_id, room_uuid, incarnation, state, state_sequence, started_at, ended_at, valid_from, valid_to'

export async function openReplayHarness(overrides: Partial<StoreSettings> = {}): Promise<ReplayHarness> {
  const db = await openStore(overrides)
  // As long as a busy machine may take; what should end before holds a lock.
  const limits = { lock: 300, total: 300_000 }
  const replay = await openReplay(db.pool, {
    streams: Object.values(streams),
    clock: systemClock,
    limits,
  })
  await db.store.follow(me, app, 'app-events', '')
  let slept = 0
  const clock = {
    now: () => 0,
    monotonic: () => slept,
    sleep: async (ms: number) => {
      slept += ms
    },
  }
  const run =
    (mode: 'compare' | 'write') =>
    (used: readonly Stream[] = Object.values(streams)) =>
      replayRooms(replay, {
        ...{ apps: [app], room: undefined, mode, clock, onProgress: () => {} },
        rebuild: rebuildWith(used, settings, () => {}),
      })

  async function page(stream: ReadStream, room: string, answer: Answer): Promise<PageCommit> {
    const series = stream === 'app-events' || stream === 'cloud-players' ? '' : room
    if (series !== '') await db.store.discoverRooms(me, app, [series])
    const progress = (await db.store.progress(app, stream, series))!
    const answeredAt = answer.answeredAt ?? minute(0)
    const read: Page = {
      ...{ series, cursor: null, purpose: 'read', nextId: undefined, settings },
      ...{ answeredAt, receivedAt: answeredAt + 250, ...answer },
    }
    const toRows = streams[stream].toRows(read, progress.streamState)
    const { streamState, follow, rows, rejects, holes } = toRows
    return {
      ...{ app, stream, series, fence: me, version: progress.version, streamState, rows, rejects },
      room: toRows.room,
      cursor: follow === 'stay' ? progress.cursor : (read.nextId ?? read.cursor),
      caughtUp: follow === 'next' && read.nextId === undefined,
      source: streams[stream].source,
      ...(holes && { holes }),
    }
  }

  return {
    db,
    replay,
    page,
    read: async (stream, room, answer) => {
      const result = await db.store.commit(await page(stream, room, answer))
      if (result.outcome !== 'committed') throw new Error(`the page was ${result.outcome}`)
      return result
    },
    compare: run('compare'),
    write: run('write'),
    dump: async () => {
      const tables = ['classroom.room', ...rebuildable(Object.values(streams)).tables.map(({ name }) => name)]
      const rows = await Promise.all(
        tables.map(table => {
          const columns = table === 'classroom.room' ? roomColumns : '*'
          return db.rows(
            `select '${table} ' || t::text as line from (select ${columns} from ${table}) t order by 1`,
          )
        }),
      )
      return rows.flat().map(({ line }) => String(line))
    },
    close: async () => {
      replay.close()
      await db.close()
    },
  }
}

const teacher = { userUuid: 'tom', userName: 'Tom', role: 1 }
export const pupil = (name: string) => ({ userUuid: name, userName: name.toUpperCase(), role: '2' })

export function record(roomUuid: string, sequence: number | bigint, cmd: number, data: object) {
  return { roomUuid, sequence, cmd, version: 1, data }
}

/** An event of every kind that is read, in one class; of one numbering that begins after `first`. */
export function lesson(room: string, first: number | bigint = 0, begins = 0): readonly object[] {
  const at = (after: number) => minute(begins + after)
  const each: readonly (readonly [cmd: number, data: object])[] = [
    [1, { state: 0 }],
    [1, { state: 1, startTime: at(1) }],
    [20, { onlineUsers: [{ ...pupil('ann'), updateTime: at(2), mood: 'good' }, pupil('bob')], total: 2 }],
    [3, { fromUser: pupil('ann'), message: 'half of a pair: \ud83d, a NUL: \u0000', type: 1, color: 'red' }],
    [1001, { state: 1, startTime: at(3), recordId: 'r1', sid: 's1', resourceId: 'x1' }],
    [1101, { rewardDetails: [{ userUuid: 'ann', changedReward: 1, total: 4 }], updateTime: at(4) }],
    [1501, { addAcceptedUsers: [{ userUuid: 'ann' }], removeAcceptedUsers: [{ userUuid: 'bob' }] }],
    [1502, { addProgressUsers: [{ userUuid: 'ann', payload: { hand: 'left' } }] }],
    [1003, { action: 1, operator: teacher, resources: [material('a'), material('b')] }],
    [7001, { novelty: { since: 9_007_199_254_740_993n } }],
    [3, { fromUser: pupil('bob'), message: 42 }],
    [1001, { state: 2, startTime: at(3) }],
    [20, { offlineUsers: [{ ...pupil('ann'), updateTime: at(9) }] }],
    [1, { state: 2, startTime: at(1) }],
    [1, { state: 3, startTime: at(1) }],
  ]
  return each.map(([cmd, data], index) =>
    record(room, typeof first === 'bigint' ? first + BigInt(index + 1) : first + index + 1, cmd, data),
  )
}

function material(resourceUuid: string) {
  return {
    resourceUuid,
    resourceName: `${resourceUuid}.pdf`,
    ext: 'pdf',
    size: 2.5e6,
    taskToken: 'hidden',
    taskProgress: { convertedPercentage: 40 },
  }
}

const item = (changeProperties: object, more: object = {}) => ({
  action: 1,
  changeProperties,
  cause: 'because',
  operator: pupil('ann'),
  ...more,
})

/** Two quizzes with nested keys, the second of them answered twice by one; some summaries name none. */
export const quizItems: readonly object[] = [
  item({
    state: 1,
    extra: {
      popupQuizId: 'q1',
      answerState: 1,
      receiveQuestionTime: minute(5),
      items: ['A', 'B'],
      correctItems: ['A'],
    },
  }),
  item({ popupQuizId: 'q1', lastCommitTime: minute(6), selectedItems: ['A'], isCorrect: true }),
  item({ extra: { selectedCount: 1, correctCount: 1, averageAccuracy: 0.1, totalCount: 3, hint: 'none' } }),
  item({ extra: { answerState: 0, totalCount: 2 } }, { ts: minute(7) }),
  item({ state: 1, extra: { popupQuizId: 'q2', answerState: 1 } }, { ts: minute(8) }),
  item({ lastCommitTime: minute(9), selectedItems: ['B'] }),
  item({ lastCommitTime: minute(10), selectedItems: ['A'] }, { operator: pupil('ann'), fromUser: teacher }),
]

/** A poll with dotted keys and items that have numbers. */
export const pollItems: readonly object[] = [
  {
    'extra.pollId': 'p1',
    'extra.mode': 2,
    'extra.pollingState': 1,
    'extra.pollItems': { 0: 'yes', 1: 'no' },
    'extra.pollDetails': { 0: { num: 0, percentage: 0 }, 1: { num: 0, percentage: 0 } },
  },
  { 'extra.pollId': 'p1', 'extra.selectIndex': [0, 1] },
  { 'extra.pollDetails': { 0: { num: 1, percentage: 1 }, 1: { num: 1 } } },
  { 'extra.pollId': 'p1', 'extra.selectIndex': [1] },
  { 'extra.pollDetails': { 0: { num: 0, percentage: 0 } }, 'extra.pollingState': 0, 'extra.pollId': 'p1' },
].map((changes, index) => item(changes, { sequence: (index + 1) * 10, ts: minute(11 + index) }))

/** Two lessons with quizzes and polls, and another one in the room of the second. */
export async function fillTwoRooms(harness: ReplayHarness): Promise<void> {
  for (const room of ['maths', 'music']) {
    await harness.read('room-events', room, { items: lesson(room), answeredAt: minute(20) })
    await harness.read('popup-quiz', room, { items: quizItems })
    await harness.read('poll', room, { items: pollItems })
  }
  await harness.read('room-events', 'music', { items: lesson('music', 100, 60), answeredAt: minute(80) })
}

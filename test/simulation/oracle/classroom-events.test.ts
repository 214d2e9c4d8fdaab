import { expect, it } from 'vitest'
import { type EventContext, examineEvents } from './classroom-events.ts'
import type { TrueEvent, TrueRoom } from './classroom-truth.ts'
import type { Row, StoredTable } from './rows.ts'

const key = ['app_id', 'room_uuid', 'incarnation', 'sequence'] as const
const derived = [
  ...['room_state_change', 'chat_message', 'attendance', 'recording_state_change'],
  ...['reward', 'resource_change', 'stage_change', 'hand_wave'],
]

/** One without a time of its own at 10 s, and behind it two that have one, of 20 and of 30 s. */
const of3: readonly Pick<TrueEvent, 'sequence' | 'cmd' | 'data' | 'at' | 'malformed'>[] = [
  { sequence: 1, cmd: 7001, data: {}, at: 10_000, malformed: false },
  { sequence: 2, cmd: 1101, data: { rewardDetails: [], updateTime: 20_000 }, at: 20_000, malformed: false },
  { sequence: 3, cmd: 1101, data: { rewardDetails: [], updateTime: 30_000 }, at: 30_000, malformed: false },
]
/** And one without, behind them. */
const behind = { sequence: 4, cmd: 7001, data: {}, at: 40_000, malformed: false }
const room = { app: 'alpha', roomUuid: 'algebra', stored: 1, muted: false } as unknown as TrueRoom

function table(name: string, columns: readonly string[], rows: readonly Row[]): [string, StoredTable] {
  return [name, { name, key, columns, rows }]
}

interface Told {
  readonly second?: number
  readonly events?: typeof of3
  readonly isOldToLog?: boolean
}

/** What is said of one without a time where it is dated so, and all came with one answer unless the second came before. */
function judge(untimed: Row, { second = 60_000, events = of3, isOldToLog = false }: Told = {}) {
  const stored = new Map([
    table(
      'room_event',
      ['at', 'at_source'],
      events.map(({ sequence, at }) => ({
        ...{ app_id: 'alpha', room_uuid: 'algebra', incarnation: 1, sequence, at, at_source: 'event' },
        ...{ source: 'feed', received_at: sequence === 2 ? second : 60_000 },
        ...(sequence === (events === of3 ? 1 : 4) && untimed),
      })),
    ),
    ...derived.map(name => table(name, [], [])),
  ])
  const context = {
    ...{ stored, isEnd: true, end: 70_000, areLogsRead: false, clocks: { between: () => null } },
    ...{
      answered: () => new Set([50_000]),
      isExcused: () => true,
      isLive: () => !isOldToLog,
      isOldToLog: () => isOldToLog,
    },
    ...{ isLogged: () => false, isToldFirst: () => true, hasOneFeed: () => true },
  } as unknown as EventContext
  return examineEvents([{ ...room, events: events as readonly TrueEvent[] }], context).map(({ text }) => text)
}

const wrong = [expect.stringContaining('room_event alpha algebra 1 1 at:')]

it('wants what was told late without a time to have that of the next one behind it', () => {
  expect(judge({ at: 20_000, at_source: 'next' })).toEqual([])
  expect(judge({ at: 30_000, at_source: 'next' })).toEqual(wrong)
  expect(judge({ at: 50_000, at_source: 'provider' })).toEqual(wrong)
  expect(judge({ at: 50_000, at_source: 'provider', source: 'log' })).toEqual([])
  expect(judge({ at: 30_000, at_source: 'next' }, { second: 25_000 })).toEqual([])
})

it('wants what a log told from its first reading on to have the time of what stands before it', () => {
  const told = { events: [...of3.slice(1), behind], isOldToLog: true }
  const wrong = [expect.stringContaining('room_event alpha algebra 1 4 at:')]
  expect(judge({ at: 30_000, at_source: 'neighbour', source: 'log' }, told)).toEqual([])
  expect(judge({ at: 50_000, at_source: 'provider', source: 'log' }, told)).toEqual(wrong)
  expect(judge({ at: 50_000, at_source: 'provider' }, { ...told, isOldToLog: false })).toEqual([])
})

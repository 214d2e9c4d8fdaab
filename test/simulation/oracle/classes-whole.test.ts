import { expect, it } from 'vitest'
import { examineClassesWhole } from './classes-whole.ts'
import type { TrueRoom } from './classroom-truth.ts'
import type { StoredSchema } from './rows.ts'

const minute = 60_000
const [ends, end] = [60 * minute, 200 * minute]

const room = {
  ...{ app: 'a', roomUuid: 'r', incarnation: 1, stored: 1, openedAt: 0, endedAt: ends, state: 3 },
  ...{ muted: false, isServed: true, calls: [], items: [], recordings: [], resources: [] },
  events: [{ sequence: 1n, at: minute, malformed: false }],
} as unknown as TrueRoom
const names = ['widget_event', 'recording', 'resource'] as const
const place = { app_id: 'a', room_uuid: 'r', incarnation: 1 }
const keys = {
  widget_event: ['app_id', 'room_uuid', 'incarnation', 'widget', 'position'],
  recording: ['app_id', 'room_uuid', 'incarnation', 'record_id'],
  resource: ['app_id', 'room_uuid', 'incarnation', 'resource_uuid'],
}
const key = ['app_id', 'room_uuid', 'incarnation', 'sequence']
const storedWith = (...sequences: readonly string[]) =>
  new Map<string, unknown>([
    ['room_event', { key, rows: sequences.map(sequence => ({ ...place, sequence })) }],
    ...names.map(name => [name, { key: keys[name], rows: [] }] as const),
  ]) as unknown as StoredSchema

const whole = {
  ...{ app: 'a', room: 'r', incarnation: 1, complete: true, lacking: '', reasons: '', gaps: 0 },
  ...{ endedAt: ends, isEmptied: false },
}
const operations = ['roomEvents', 'popupQuiz', 'poll', 'recordings', 'resources']
const servedAt = (time: number, without = '') =>
  operations
    .filter(operation => operation !== without)
    .map(operation => ({ app: 'a', operation, target: `v2/rooms/r/${operation}`, time, status: 200 }))

interface Said {
  readonly told?: readonly object[]
  readonly stored?: StoredSchema
  readonly served?: readonly object[]
  readonly rooms?: readonly TrueRoom[]
}

async function judge({ told = [whole], stored = storedWith('1'), served, rooms = [room] }: Said = {}) {
  const arrivals = served ?? servedAt(ends + minute)
  const examination = {
    rows: async () => told,
    ...{ isEnd: true, healed: 100 * minute, end },
    sandbox: {
      arrivals: { list: () => arrivals, count: arrivals.length },
      settings: { switches: { widgetItemSequence: 'present' } },
    },
  }
  return (await examineClassesWhole(examination as never, rooms, stored)).map(({ text }) => text)
}

it('a class of which all is there and was served after its end is whole', async () => {
  expect(await judge()).toEqual([])
})

it.each([
  ['an event is missing', { stored: storedWith() }, 'lacks event 1 of room-events'],
  [
    'a log was not served since',
    { served: servedAt(ends + minute, 'popupQuiz') },
    'nobody was told popup-quiz',
  ],
  ['nobody knows its end', { told: [{ ...whole, endedAt: null }] }, 'nobody knows its end'],
  ['something is lacking', { told: [{ ...whole, lacking: 'poll' }] }, 'complete true, lacking "poll"'],
])('a class that is said to be whole though %s is found', async (_, said, text) => {
  expect((await judge(said)).join('; ')).toContain(text)
})

it('what was served of the next class in the room counts for that one alone', async () => {
  const next = { ...room, incarnation: 2, stored: undefined, openedAt: ends + 30 * minute }
  const served = [...servedAt(ends + minute, 'poll'), ...servedAt(ends + 40 * minute)]
  expect(await judge({ rooms: [room, next], served })).toEqual([
    expect.stringContaining('nobody was told poll since its end'),
  ])
})

it('a class that is whole is said to be, and every class has one row', async () => {
  const [partial] = [{ ...whole, complete: false, lacking: 'poll', reasons: 'unread' }]
  expect(await judge({ told: [partial] })).toEqual(['class a r 1: whole, and not said to be: unread'])
  expect(await judge({ told: [] })).toEqual(['class a r 1: 0 rows say whether it is'])
})

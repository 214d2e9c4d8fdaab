import { describe, expect, it } from 'vitest'
import { appEvents } from '../../src/streams/app-events.ts'
import { pageOf } from './pages.ts'

const toldOf = (...items: readonly unknown[]) =>
  appEvents.toRows(pageOf({ series: '', items: items as never }), null).told

const placed = { roomUuid: 'algebra-7b', sequence: 3, version: 1 }

it.each([
  ['an event', { ...placed, cmd: 1, data: { state: 1, startTime: 1 } }],
  [
    'an event of which a person cannot be read',
    { ...placed, cmd: 1101, data: { rewardDetails: [3, { toUser: 4 }] } },
  ],
  ['an event of no kind that can be read', { ...placed, cmd: 'one', data: {} }],
  ['a record without a place', { cmd: 1, data: {} }],
  ['what is no record', 'a text'],
])('%s is told as one thing, whatever becomes of it', (_, item) => {
  expect(toldOf(item)).toHaveLength(1)
  expect(toldOf(item, { ...placed, sequence: 4, cmd: 1, data: { state: 2 } })).toHaveLength(2)
  expect(toldOf(item)).toEqual(toldOf(item))
})

it('an event of another room of that name, which stands at the same place, is told as another thing', () => {
  const said = (message: string) => ({ ...placed, cmd: 3, data: { message } })
  expect(toldOf(said('hello'))).not.toEqual(toldOf(said('good morning')))
})

describe('when an event without a time of its own happened', () => {
  const newYear = 1_767_225_600_000
  const says = (sequence: number, roomUuid = 'algebra-7b') => {
    return { roomUuid, cmd: 3, sequence, data: { message: `message ${sequence}` } }
  }
  const rewarded = (sequence: number, minutesAgo: number, roomUuid = 'algebra-7b') => {
    const updateTime = newYear - minutesAgo * 60_000
    return { roomUuid, cmd: 1101, sequence, data: { rewardDetails: [], updateTime } }
  }
  const timesOf = (...items: readonly object[]) => {
    const { rows } = appEvents.toRows(pageOf({ series: '', items }), null)
    return rows['classroom.room_event']?.map(
      ({ sequence, at, at_source }) => `${sequence} ${at.slice(11, 16)} ${at_source}`,
    )
  }

  it('is at the latest when the next one of its room did that has one', () => {
    expect(
      timesOf(says(1), rewarded(2, 40), says(3), says(4), rewarded(5, 10), rewarded(6, 5), says(7)),
    ).toEqual([
      '1 23:20 neighbour',
      '2 23:20 event',
      '3 23:50 neighbour',
      '4 23:50 neighbour',
      '5 23:50 event',
      '6 23:55 event',
      '7 00:00 provider',
    ])
  })

  it('is not told by events of other rooms', () => {
    expect(timesOf(says(1), rewarded(2, 40, 'biology-8a'))?.[0]).toBe('1 00:00 provider')
    expect(timesOf(says(3, 'biology-8a'), rewarded(4, 40), says(5, 'biology-8a'))?.[2]).toBe(
      '5 00:00 provider',
    )
  })

  it('is not told by those of the room before, whose numbers went on further, nor by one that is ahead', () => {
    expect(timesOf(rewarded(50, 40), says(1), says(2))?.slice(1)).toEqual([
      '1 00:00 provider',
      '2 00:00 provider',
    ])
    expect(timesOf(says(1), rewarded(2, -10), says(3))).toEqual([
      '1 00:00 provider',
      '2 00:10 event',
      '3 00:00 provider',
    ])
  })

  it('is not before one that came earlier, where their own times contradict each other', () => {
    expect(timesOf(rewarded(1, 20), says(2), rewarded(3, 30))).toEqual([
      '1 23:40 event',
      '2 23:40 neighbour',
      '3 23:30 event',
    ])
  })

  it('shows in the room too: it ended when it was ended, and not when that was heard', () => {
    const ended = { roomUuid: 'algebra-7b', cmd: 1, sequence: 2, data: { state: 2 } }
    const { rows, hints } = appEvents.toRows(
      pageOf({ series: '', items: [ended, rewarded(3, 30)] as never }),
      null,
    )
    const at = '2025-12-31T23:30:00.000Z'
    expect(rows['classroom.room']).toMatchObject([{ ended_at: at, last_event_at: at }])
    expect(hints).toMatchObject([{ at: Date.parse(at), state: { endedAt: Date.parse(at) } }])
  })
})

describe('the rooms to look at', () => {
  const hintsOf = (...items: readonly object[]) =>
    appEvents.toRows(pageOf({ series: '', items }), null).hints.map(({ room, streams }) => [room, streams])

  it.each([
    ['type', { ...placed, cmd: 'one', data: {} }],
    ['place', { ...placed, sequence: 'first', cmd: 1, data: { state: 1 } }],
    ['type and no place', { roomUuid: 'algebra-7b' }],
    ['type, by a number', { ...placed, roomUuid: 7, cmd: {} }],
  ])('are those too that only a record names which has no readable %s', (_, record) => {
    expect(hintsOf(record, record)).toEqual([[String(record.roomUuid), ['room-events']]])
  })

  it('are no others: one that events name is told once, and what is no name tells none', () => {
    const event = { ...placed, cmd: 3, data: { message: 'hello' } }
    const spoilt = { ...placed, sequence: 4, cmd: 'one' }
    expect(hintsOf(spoilt, event)).toEqual([['algebra-7b', ['room-events']]])
    expect(hintsOf({ ...spoilt, roomUuid: 'r'.repeat(64) }, { ...spoilt, roomUuid: null })).toEqual([])
  })
})

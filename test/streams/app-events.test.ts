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

describe('an event without a time of its own', () => {
  const answeredAt = 1_767_225_600_000
  const minutesAgo = (minutes: number) => answeredAt - minutes * 60_000
  const end = (sequence: number) => ({ ...placed, sequence, cmd: 1, data: { state: 2 } })
  const left = (sequence: number, updateTime: number, roomUuid = placed.roomUuid) => ({
    ...{ ...placed, sequence, cmd: 20, roomUuid },
    data: { total: 1, onlineUsers: [], offlineUsers: [{ userUuid: 'ann', updateTime }] },
  })
  const timesOf = (...items: readonly object[]) =>
    appEvents
      .toRows(pageOf({ series: '', items: items as never, answeredAt }), null)
      .rows['classroom.room_event']!.filter(({ cmd }) => cmd === 1)
      .map(({ at, at_source }) => [(Date.parse(at) - answeredAt) / 60_000, at_source])

  it('happened when it was heard', () => {
    expect(timesOf(left(4, minutesAgo(20)), end(5))).toEqual([[0, 'provider']])
  })

  it('that was heard late happened before what is told behind it in its room', () => {
    expect(timesOf(end(5), left(6, minutesAgo(15)), left(7, minutesAgo(14)))).toEqual([[-15, 'next']])
    expect(timesOf(left(7, minutesAgo(14)), end(5), left(6, minutesAgo(15)))).toEqual([[-15, 'next']])
    expect(timesOf(end(5), left(6, minutesAgo(15), 'another'))).toEqual([[0, 'provider']])
  })

  it('is not dated by what is told to have happened before what stands in front of it', () => {
    expect(timesOf(left(4, minutesAgo(20)), end(5), left(6, minutesAgo(40)))).toEqual([[0, 'provider']])
    expect(timesOf(end(5), left(6, answeredAt + 60_000))).toEqual([[0, 'provider']])
  })
})

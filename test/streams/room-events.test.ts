import { describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Page } from '../../src/streams/page.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

const stream = streams['room-events']

function chat(sequence: number | bigint) {
  return { roomUuid: 'algebra-7b', cmd: 3, sequence, data: { fromUser: { userUuid: 'ann' }, message: 'hi' } }
}

function reward(sequence: number, updateTime: number) {
  return { roomUuid: 'algebra-7b', cmd: 1101, sequence, data: { rewardDetails: [], updateTime } }
}

function read(parts: Partial<Page>, streamState: Json = null) {
  return stream.toRows(pageOf(parts), streamState)
}

it('a version that the column cannot hold stays beside the event', () => {
  const versionOf = (version: unknown) => {
    const [event] = read({ items: [{ ...chat(1), version }] }).rows['classroom.room_event']!
    return [event!.version, (event!.extra as { version?: unknown } | null)?.version]
  }
  expect(versionOf(2_147_483_647)).toEqual([2_147_483_647, undefined])
  expect(versionOf(20_240_115_001)).toEqual([null, 20_240_115_001])
  expect(versionOf(1.5)).toEqual([null, 1.5])
  expect(versionOf(null)).toEqual([null, undefined])
})

it('numbers that are written as texts are numbers, and no digit of a sequence is lost', () => {
  const read1 = read({ items: [{ ...chat(1), sequence: '1', cmd: '3', version: '7' }, chat(2)] })
  expect(read1.rejects).toEqual([])
  expect(read1.rows).toEqual(read({ items: [{ ...chat(1), version: 7 }, chat(2)] }).rows)
  const [large, larger] = [9_007_199_254_740_992n, 9_007_199_254_740_993n]
  const { rows } = read({ items: [large, larger].map(each => ({ ...chat(1), sequence: String(each) })) })
  expect(rows['classroom.room_event']?.map(({ sequence }) => sequence)).toEqual([large, larger])
})

it.each(['', ' 1', '-1', '1.5', '1e3', 'one', '9223372036854775808', '1'.repeat(40)])(
  'a text that writes no place, as "%s", is no sequence',
  text => {
    const { rejects, rows } = read({ items: [{ ...chat(1), sequence: text }] })
    expect([rejects.length, rows['classroom.room_event'] ?? []]).toEqual([1, []])
  },
)

it('a hole that readings half a minute apart have shown three times is called absent, and the log is left in peace', () => {
  const items = [chat(1), chat(4)]
  const noon = 1_767_225_600_000
  const readAt = (seconds: number, before: Json = null) =>
    read({ items, answeredAt: noon + seconds * 1_000 }, before === null ? null : stream.rewind(before))
  const first = readAt(0)
  expect(first.holes).toEqual([{ from: 2, to: 3, state: 'open' }])
  expect(stream.rereads(first.streamState)).toBe(true)

  const soon = readAt(29, readAt(10, readAt(5, first.streamState).streamState).streamState)
  expect(soon.holes).toEqual([{ from: 2, to: 3, state: 'open' }])
  const second = readAt(30, soon.streamState)
  expect(second.holes).toEqual([{ from: 2, to: 3, state: 'open' }])
  expect(readAt(59, second.streamState).unfinished).toBe(true)

  const third = readAt(60, second.streamState)
  expect(third.holes).toEqual([{ from: 2, to: 3, state: 'absent' }])
  expect(third.unfinished).toBe(false)
  expect(stream.rereads(third.streamState)).toBe(false)
  // Nothing is written of what is known, and before the room is forgotten it is looked at once more.
  expect(readAt(300, third.streamState).streamState).toEqual(third.streamState)
  expect(stream.rereads(third.streamState, 'doubtful')).toBe(true)
})

it('a reading that leads in a circle is no complete one: what was known of holes stays', () => {
  const before = read({ items: [chat(1), chat(4)] })
  const looping = read({ items: [chat(1)], looping: true }, stream.rewind(before.streamState))
  expect(looping.holes).toBeUndefined()
  expect(stream.rereads(looping.streamState)).toBe(true)
  const after = read(
    { items: [chat(1), chat(4)], answeredAt: 1_767_225_660_000 },
    stream.rewind(looping.streamState),
  )
  const last = read(
    { items: [chat(1), chat(4)], answeredAt: 1_767_225_720_000 },
    stream.rewind(after.streamState),
  )
  expect(last.holes).toEqual([{ from: 2, to: 3, state: 'absent' }])
})

it('a hole that a later reading fills is no longer among the holes', () => {
  const first = read({ items: [chat(1), chat(3)] })
  const second = read({ items: [chat(1), chat(2), chat(3)] }, stream.rewind(first.streamState))
  expect(second.holes).toEqual([])
  expect(stream.rereads(second.streamState)).toBe(false)
})

it('reading on at the tail does not count the holes before it again', () => {
  const beginning = read({ items: [chat(1), chat(3)], nextId: 'n1' })
  expect(beginning.holes).toBeUndefined()
  const tail = read({ items: [chat(4)], cursor: 'n1' }, beginning.streamState)
  const again = read({ items: [chat(4), chat(6)], cursor: 'n1' }, tail.streamState)
  expect(again.holes).toEqual([
    { from: 2, to: 2, state: 'open' },
    { from: 5, to: 5, state: 'open' },
  ])
  const onceMore = read({ items: [chat(4), chat(6)], cursor: 'n1' }, again.streamState)
  expect(onceMore.streamState).toEqual(again.streamState)
})

it('one numbering over all rooms leaves no holes', () => {
  const settings = { submitter: 'operator', sequenceScope: 'app' } as const
  expect(read({ items: [chat(1), chat(900)], settings }).holes).toEqual([])
})

it('a log with more than two hundred holes is not numbered densely and has none', () => {
  const items = Array.from({ length: 202 }, (_, index) => chat(index * 2))
  const dense = read({ items: items.slice(0, 201) })
  expect(dense.holes).toHaveLength(200)
  const sparse = read({ items })
  expect(sparse.holes).toEqual([])
  expect(stream.rereads(sparse.streamState)).toBe(false)
  expect(read({ items: [chat(0), chat(2)] }, stream.rewind(sparse.streamState)).holes).toEqual([])
})

it('a record that cannot be read is set aside, but it is not missing', () => {
  const spoilt = { ...chat(2), cmd: 'chat' }
  const { holes, rejects } = read({ items: [chat(1), spoilt, chat(3)] })
  expect(holes).toEqual([])
  expect(rejects).toHaveLength(1)
})

it('two sequences above 2^53 that differ by one stay two, and leave no hole', () => {
  const { rows, holes } = read({ items: [chat(9_007_199_254_740_992n), chat(9_007_199_254_740_993n)] })
  expect(rows['classroom.room_event']).toHaveLength(2)
  expect(holes).toEqual([])
})

it('a time later than the answer is the event’s own, but not its neighbours’', () => {
  const { rows } = read({ items: [reward(1, 1_767_222_000_000), reward(2, 1_767_229_200_000), chat(3)] })
  expect(rows['classroom.room_event']?.map(({ at, at_source }) => [at.slice(0, 13), at_source])).toEqual([
    ['2025-12-31T23', 'event'],
    ['2026-01-01T01', 'event'],
    ['2025-12-31T23', 'neighbour'],
  ])
})

it('a quiet tail that is read again moves neither the bounds of the room nor its end', () => {
  const items = [reward(1, 1_767_222_000_000), chat(2), { ...chat(3), cmd: 1, data: { state: 2 } }]
  const live = read({ items }, read({ items: items.slice(0, 2) }).streamState)
  expect(live.rows['classroom.room']?.[0]).toMatchObject({ state: 2, ended_at: '2026-01-01T00:00:00.000Z' })
  const again = read({ items, answeredAt: 1_767_240_000_000 }, live.streamState)
  expect(again.rows['classroom.room']?.[0]).toMatchObject({
    state: 2,
    ended_at: null,
    first_event_at: '2025-12-31T23:00:00.000Z',
    last_event_at: '2025-12-31T23:00:00.000Z',
  })
})

it('an end with the time of an event before it says when it was told, one with the time of the answer needs not', () => {
  const items = [reward(1, 1_767_222_000_000), chat(2), { ...chat(3), cmd: 1, data: { state: 2 } }]
  const [late] = read({ items }).rows['classroom.room'] ?? []
  expect(late).toMatchObject({ ended_at: '2025-12-31T23:00:00.000Z', ended_by: '2026-01-01T00:00:00.000Z' })
  const live = read({ items }, read({ items: items.slice(0, 2) }).streamState)
  expect(live.rows['classroom.room']?.[0]).toMatchObject({
    ended_at: '2026-01-01T00:00:00.000Z',
    ended_by: null,
  })
})

it('a class that was ended and later closed ended when it was ended', () => {
  const [ended, closed] = [2, 3].map(state => ({ cmd: 1, data: { state } }))
  const items = [
    reward(1, 1_767_222_000_000),
    { ...ended, sequence: 2 },
    reward(3, 1_767_222_600_000),
    { ...closed, sequence: 4 },
  ]
  expect(read({ items }).rows['classroom.room']?.[0]).toMatchObject({
    state: 3,
    state_sequence: 4,
    ended_at: '2025-12-31T23:00:00.000Z',
  })
})

it('of two events of a page under one sequence that say different things, the second is set aside', () => {
  const { rows, rejects } = read({
    items: [chat(1), { ...chat(1), data: { ...chat(1).data, message: 'no' } }, chat(1)],
  })
  expect(rows['classroom.chat_message']).toMatchObject([{ sequence: 1, message: 'hi' }])
  expect(rejects).toHaveLength(1)
})

it('a page from the middle of a log whose stream state is broken makes no rows and asks for the beginning', () => {
  const lost = read({ items: [chat(7)], cursor: 'n1' }, { incarnation: 3, fold: 'nonsense' })
  expect(lost).toMatchObject({ rows: {}, follow: 'stay', room: { incarnation: 3, opens: false } })
  expect(stream.rereads(lost.streamState)).toBe(true)
  const anew = read({ items: [chat(1)] }, stream.rewind(lost.streamState))
  expect(anew.room).toEqual({ kind: 'incarnation', incarnation: 3, opens: false })
  expect(stream.rereads(anew.streamState)).toBe(false)
})

describe('a log that is told from its end to its beginning', () => {
  const from = (highest: number, count: number) => Array.from({ length: count }, (_, n) => chat(highest - n))
  const readAll = (state: Json, ...pages: readonly (readonly object[])[]) =>
    pages.reduce<{ state: Json; last: ReturnType<typeof read> | undefined }>(
      ({ state }, items, n) => {
        const cursor = n === 0 ? null : `n${n}`
        const nextId = n < pages.length - 1 ? `n${n + 1}` : undefined
        const last = read({ items: items as Json[], cursor, nextId }, state)
        return { state: last.isBackwards ? stream.rewind(last.streamState) : last.streamState, last }
      },
      { state, last: undefined },
    )

  it('is known by a last page that lies before its first one, and proves nothing of holes', () => {
    const { last } = readAll(null, from(40, 15), from(20, 15), from(5, 5))
    expect(last).toMatchObject({ isBackwards: true, unfinished: false })
    expect(last?.holes).toBeUndefined()
    const others = [
      [[1, 2].map(chat), [3, 4].map(chat)],
      [[3, 2, 1].map(chat)],
      [[1, 2, 4].map(chat), [5, 6].map(chat), [3].map(chat)],
      [[1].map(chat), []],
    ]
    expect(others.map(pages => readAll(null, ...pages).last?.isBackwards)).toEqual(
      others.map(() => undefined),
    )
  })

  it('is of the same room though its first pages have no event in common', () => {
    const { state } = readAll(null, from(40, 15), from(25, 25))
    const later = readAll(state, from(100, 15), from(85, 85))
    expect(later.last?.room).toEqual({ kind: 'incarnation', incarnation: 1, opens: false })
    const small = readAll(state, from(100, 3), from(97, 3), from(94, 94))
    expect(small.last?.room).toEqual({ kind: 'incarnation', incarnation: 1, opens: false })
    // What comes on one page is all there is: another room.
    expect(readAll(state, from(3, 3)).last?.room).toMatchObject({ opens: true })
  })
})

it('a stream that is named by a number has the text of it, as the users of a call have', () => {
  const event = (streamUuid: unknown) => ({
    ...{ roomUuid: 'algebra-7b', cmd: 20, sequence: 1 },
    data: { onlineUsers: [{ userUuid: 'ann', streamUuid }] },
  })
  const streamOf = (streamUuid: unknown) =>
    read({ items: [event(streamUuid) as Json] }).rows['classroom.attendance']?.[0]?.stream_uuid
  expect([501, 9_007_199_254_740_993n, '501'].map(streamOf)).toEqual(['501', '9007199254740993', '501'])
})

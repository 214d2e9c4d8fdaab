import { expect, it } from 'vitest'
import type { Json } from '../../src/rows/json.ts'
import { streams } from '../../src/streams/index.ts'
import type { Page } from '../../src/streams/stream.ts'
import { pageOf } from './pages.ts'

const stream = streams['popup-quiz']

function read(parts: Partial<Page>, carry: Json = null) {
  return stream.harvest(pageOf(parts), carry)
}

function answer(popupQuizId: string | undefined, userUuid = 'ann') {
  return { changeProperties: { popupQuizId, selectedItems: ['A'] }, operator: { userUuid } }
}

function start(popupQuizId: string) {
  return { changeProperties: { extra: { popupQuizId, answerState: 1 } }, operator: { userUuid: 'tom' } }
}

it('submissions are counted for each quiz and user, and a page read again counts the same', () => {
  const items = [start('q1'), answer('q1'), answer('q1', 'bob'), start('q2'), answer('q2'), answer('q1')]
  const ordinals = (carry: Json) =>
    read({ items }, carry).rows['classroom.quiz_submission']?.map(row => [
      row.quiz_id,
      row.user_uuid,
      row.ordinal,
    ])
  const expected = [
    ['q1', 'ann', 0],
    ['q1', 'bob', 0],
    ['q2', 'ann', 0],
    ['q1', 'ann', 1],
  ]
  expect(ordinals(null)).toEqual(expected)
  expect(ordinals(read({ items }).carry)).toEqual(expected)
})

it('an answer without the name of its quiz belongs to the one last started, also on a later page', () => {
  const first = read({ items: [start('q1'), start('q2')], nextId: 'n1' })
  const { rows } = read({ items: [answer(undefined)], cursor: 'n1' }, first.carry)
  expect(rows['classroom.quiz_submission']?.[0]?.quiz_id).toBe('q2')
})

it('the end of a quiz has the item’s own time where it has one, else the answer’s only on the live end', () => {
  const end = { changeProperties: { extra: { popupQuizId: 'q1', answerState: 0 } } }
  const endedAt = (parts: Partial<Page>, carry: Json) =>
    read(parts, carry).rows['classroom.quiz']?.find(({ quiz_id }) => quiz_id === 'q1')?.ended_at
  const caughtUp = read({ items: [start('q1')] }).carry
  expect(endedAt({ items: [start('q1'), end] }, null)).toBeNull()
  expect(endedAt({ items: [start('q1'), end] }, caughtUp)).toBe('2026-01-01T00:00:00.000Z')
  expect(endedAt({ items: [start('q1'), end], answeredAt: undefined }, caughtUp)).toBeNull()
  expect(endedAt({ items: [{ ...end, ts: 1_767_222_000_000 }] }, null)).toBe('2025-12-31T23:00:00.000Z')
})

it('the counts of a quiz long past are forgotten, so that the carry stays small', () => {
  const items = Array.from({ length: 40 }, (_, quiz) => answer(`q${quiz}`))
  const { carry } = read({ items, nextId: 'n1' })
  expect(JSON.stringify(carry).match(/"q\d+"/g)).toHaveLength(8)
})

it('a quiz that is answered again is not one of the long past', () => {
  const items = [...Array.from({ length: 8 }, (_, quiz) => answer(`q${quiz}`)), answer('q0'), answer('q8')]
  const { carry } = read({ items, nextId: 'n1' })
  const { rows } = read({ items: [answer('q0'), answer('q1')], cursor: 'n1' }, carry)
  expect(rows['classroom.quiz_submission']?.map(({ ordinal }) => ordinal)).toEqual([2, 0])
})

it('an item that is set aside still takes its place in the log', () => {
  const first = read({ items: [null, start('q1')], nextId: 'n1' })
  expect(first.rows['classroom.widget_event']?.map(({ position }) => position)).toEqual([1])
  const second = read({ items: [answer('q1')], cursor: 'n1' }, first.carry)
  expect(second.rows['classroom.widget_event']?.map(({ position }) => position)).toEqual([2])
})

it('a poll that only says by its other name of the state that it runs has started', () => {
  const item = { changeProperties: { extra: { pollId: 'p1', pollState: 1 } }, operator: { userUuid: 'tom' } }
  const { rows } = streams.poll.harvest(pageOf({ items: [item] }), null)
  expect(rows['classroom.poll']?.[0]).toMatchObject({ state: 'running', started_by: 'tom' })
})

it('rows belong to the incarnation that the store has set', () => {
  expect(read({ items: [start('q1')] }, { incarnation: 4 }).room).toEqual({
    kind: 'incarnation',
    incarnation: 4,
    opens: false,
  })
})

it('a page from the middle of a log whose carry is broken makes no rows and asks for the beginning', () => {
  const lost = read({ items: [start('q1')], cursor: 'n1' }, { incarnation: 4, seen: 'nonsense' })
  expect(lost).toMatchObject({ rows: {}, follow: 'stay', room: { incarnation: 4 } })
  expect(stream.rereads(lost.carry)).toBe(true)
  expect(stream.rereads(stream.rewind(lost.carry))).toBe(false)
})

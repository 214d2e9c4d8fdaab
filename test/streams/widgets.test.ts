import { describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Page } from '../../src/streams/page.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

const stream = streams['popup-quiz']

function read(parts: Partial<Page>, streamState: Json = null) {
  return stream.toRows(pageOf(parts), streamState)
}

function answer(popupQuizId: string | undefined, userUuid = 'ann') {
  return { changeProperties: { popupQuizId, selectedItems: ['A'] }, operator: { userUuid } }
}

function start(popupQuizId: string) {
  return { changeProperties: { extra: { popupQuizId, answerState: 1 } }, operator: { userUuid: 'tom' } }
}

it('each submission is told apart by its place in the log, and a page read again gives the same', () => {
  const items = [start('q1'), answer('q1'), answer('q1', 'bob'), start('q2'), answer('q2'), answer('q1')]
  const ordinals = (streamState: Json) =>
    read({ items }, streamState).rows['classroom.quiz_submission']?.map(row => [
      row.quiz_id,
      row.user_uuid,
      row.ordinal,
    ])
  const expected = [
    ['q1', 'ann', 1],
    ['q1', 'bob', 2],
    ['q2', 'ann', 4],
    ['q1', 'ann', 5],
  ]
  expect(ordinals(null)).toEqual(expected)
  expect(ordinals(read({ items }).streamState)).toEqual(expected)
})

it('an answer to the first of many quizzes makes no key twice, on one page or on a later one', () => {
  const quizzes = Array.from({ length: 40 }, (_, quiz) => answer(`q${quiz}`))
  const first = read({ items: [...quizzes, answer('q0')], nextId: 'n1' })
  const second = read({ items: [answer('q0')], cursor: 'n1' }, first.streamState)
  const rows = [first, second].flatMap(page => page.rows['classroom.quiz_submission'] ?? [])
  const ofFirst = rows.filter(({ quiz_id }) => quiz_id === 'q0').map(({ ordinal }) => ordinal)
  expect(ofFirst).toEqual([0, 40, 41])
  expect(JSON.stringify(first.streamState)).not.toContain('"q0"')
})

it('an answer without the name of its quiz belongs to the one last started, also on a later page', () => {
  const first = read({ items: [start('q1'), start('q2')], nextId: 'n1' })
  const { rows } = read({ items: [answer(undefined)], cursor: 'n1' }, first.streamState)
  expect(rows['classroom.quiz_submission']?.[0]?.quiz_id).toBe('q2')
})

it('a sequence that is written as a text keeps items in the order of its number', () => {
  const items = [start('q10'), start('q9')].map((item, n) => ({ ...item, sequence: String(10 - n) }))
  expect(read({ items }).rows['classroom.widget_event']?.map(({ position }) => position)).toEqual([10, 9])
  expect(read({ items }).rows['classroom.quiz']?.map(({ quiz_id }) => quiz_id)).toEqual(['q9', 'q10'])
})

it('items that carry their sequence are gone through in its order, however a page lists them', () => {
  const end = { changeProperties: { extra: { popupQuizId: 'q1', answerState: 0, selectedCount: 1 } } }
  const items = [start('q1'), answer('q1'), end, start('q2')].map((item, sequence) => ({ ...item, sequence }))
  const forwards = read({ items })
  const backwards = read({ items: items.toReversed() })
  expect(forwards.rows['classroom.quiz']).toMatchObject([
    { quiz_id: 'q1', state: 'ended', selected_count: 1 },
    { quiz_id: 'q2', state: 'running' },
  ])
  expect(backwards.rows['classroom.quiz']).toEqual(forwards.rows['classroom.quiz'])
  expect(backwards.streamState).toEqual(forwards.streamState)
  // What comes without an ID belongs to the one last started.
  const onwards = read({ items: items.toReversed(), nextId: 'n1' })
  const { rows } = read({ items: [answer(undefined)], cursor: 'n1' }, onwards.streamState)
  expect(rows['classroom.quiz_submission']?.[0]?.quiz_id).toBe('q2')
})

it('the end of a quiz has the item’s own time where it has one, else the answer’s only on the live end', () => {
  const end = { changeProperties: { extra: { popupQuizId: 'q1', answerState: 0 } } }
  const endedAt = (parts: Partial<Page>, streamState: Json) =>
    read(parts, streamState).rows['classroom.quiz']?.find(({ quiz_id }) => quiz_id === 'q1')?.ended_at
  const caughtUp = read({ items: [start('q1')] }).streamState
  expect(endedAt({ items: [start('q1'), end] }, null)).toBeNull()
  expect(endedAt({ items: [start('q1'), end] }, caughtUp)).toBe('2026-01-01T00:00:00.000Z')
  expect(endedAt({ items: [start('q1'), end], answeredAt: undefined }, caughtUp)).toBeNull()
  for (const ts of [1_767_222_000_000, 1_767_222_000, '1767222000000', 1_767_222_000_000.5])
    expect(endedAt({ items: [{ ...end, ts }] }, null)).toBe('2025-12-31T23:00:00.000Z')
  expect(endedAt({ items: [{ ...end, ts: 'just now' }] }, null)).toBeNull()
})

it('what comes late on the last page counts, and dates nothing anew', () => {
  const summary = (selectedCount: number, answerState?: number) => ({
    changeProperties: { extra: { popupQuizId: 'q1', selectedCount, answerState } },
  })
  const at = (sequence: number, item: object) => ({ ...item, sequence })
  const items = [at(1, start('q1')), at(2, summary(1)), at(4, answer('q1'))]
  const first = read({ items }).streamState
  const late = [...items.slice(0, 2), at(3, summary(7, 0)), ...items.slice(2)]
  const { rows, streamState } = read({ items: late }, first)
  expect(rows['classroom.quiz']).toMatchObject([
    { quiz_id: 'q1', state: 'ended', selected_count: 7, started_at: null, ended_at: null },
  ])
  // Nothing else is told again: not what stands still, not what others follow, and not a log from its beginning.
  expect(read({ items: late }, streamState).rows['classroom.quiz']).toBeUndefined()
  expect(read({ items: late, nextId: 'n1' }, first).rows['classroom.quiz']).toBeUndefined()
  const again = streams['popup-quiz'].rewind(first)
  expect(read({ items: late }, again).rows['classroom.quiz']).toBeUndefined()
  const onwards = read({ items, nextId: 'n1' }, first).streamState
  expect(read({ items: late, cursor: 'n1' }, onwards).rows['classroom.quiz']).toBeUndefined()
})

it('a log that is read again from its beginning takes nothing back that a later page had said', () => {
  const end = { changeProperties: { extra: { popupQuizId: 'q1', answerState: 0 } } }
  const first = { items: [start('q1'), answer('q1')], nextId: 'n1' }
  const whole = read({ items: [end], cursor: 'n1' }, read(first).streamState).streamState
  const again = read(first, streams['popup-quiz'].rewind(whole))
  expect(again.rows['classroom.quiz']).toBeUndefined()
  expect(again.rows['classroom.quiz_submission']).toHaveLength(1)
  const grown = { ...first, items: [...first.items, start('q2')] }
  const quizzes = read(grown, streams['popup-quiz'].rewind(read(first).streamState)).rows['classroom.quiz']
  expect(quizzes).toMatchObject([
    { quiz_id: 'q1', state: 'ended' },
    { quiz_id: 'q2', state: 'running' },
  ])
})

it('the shares of a poll that are read again stay as they were said last', () => {
  const tell = (num: number) => ({
    changeProperties: { extra: { pollId: 'p1', pollDetails: { 0: { num } } } },
  })
  const poll = streams.poll
  const { streamState } = poll.toRows(pageOf({ items: [tell(1), tell(2)] }), null)
  const { rows } = poll.toRows(pageOf({ items: [tell(1)], nextId: 'n1' }), poll.rewind(streamState))
  expect(rows['classroom.poll_tally']).toBeUndefined()
})

it('an item that is set aside still takes its place in the log', () => {
  const first = read({ items: [null, start('q1')], nextId: 'n1' })
  expect(first.rows['classroom.widget_event']?.map(({ position }) => position)).toEqual([1])
  const second = read({ items: [answer('q1')], cursor: 'n1' }, first.streamState)
  expect(second.rows['classroom.widget_event']?.map(({ position }) => position)).toEqual([2])
})

it('a poll that only says by its other name of the state that it runs has started', () => {
  const item = { changeProperties: { extra: { pollId: 'p1', pollState: 1 } }, operator: { userUuid: 'tom' } }
  const { rows } = streams.poll.toRows(pageOf({ items: [item] }), null)
  expect(rows['classroom.poll']?.[0]).toMatchObject({ state: 'running', started_by: 'tom' })
})

it('rows belong to the incarnation that the store has set', () => {
  expect(read({ items: [start('q1')] }, { incarnation: 4 }).room).toEqual({
    kind: 'incarnation',
    incarnation: 4,
    opens: false,
  })
})

it('a page from the middle of a log whose stream state is broken makes no rows and asks for the beginning', () => {
  const lost = read({ items: [start('q1')], cursor: 'n1' }, { incarnation: 4, seen: 'nonsense' })
  expect(lost).toMatchObject({ rows: {}, follow: 'stay', room: { incarnation: 4 } })
  expect(stream.rereads(lost.streamState)).toBe(true)
  expect(stream.rereads(stream.rewind(lost.streamState))).toBe(false)
})

it('a log whose last page lies before its first one runs backwards, and no other one does', () => {
  const at = (...sequences: number[]) => sequences.map(sequence => ({ ...answer('q1'), sequence }))
  const pages = (...told: readonly (readonly number[])[]) =>
    told.reduce<{ state: Json; isBackwards: boolean }>(
      ({ state }, sequences, n) => {
        const asked = n === 0 ? {} : { cursor: `n${n}` }
        const next = n < told.length - 1 ? { nextId: `n${n + 1}` } : {}
        const { streamState, isBackwards = false } = read(
          { items: at(...sequences), ...asked, ...next },
          state,
        )
        return { state: streamState, isBackwards }
      },
      { state: null, isBackwards: false },
    ).isBackwards
  expect([pages([9, 8], [7, 6], [5]), pages([9], [8])]).toEqual([true, true])
  expect([pages([1, 2], [3, 4]), pages([3, 2, 1]), pages([1, 3], [4, 5], [2]), pages([1], [])]).toEqual(
    Array.from({ length: 4 }, () => false),
  )
})

describe('a log of items without numbers that tells of a quiz or poll before it was started runs backwards', () => {
  const end = (id: string) => ({
    changeProperties: { extra: { pollId: id, popupQuizId: id, pollingState: 0, answerState: 0 } },
  })
  const begin = (id: string) => ({
    changeProperties: { extra: { pollId: id, popupQuizId: id, pollingState: 1, answerState: 1 } },
  })
  const choose = (id: string) => ({
    changeProperties: { pollId: id, popupQuizId: id, selectIndex: [0], selectedItems: ['A'] },
  })
  type Items = readonly object[]

  const isBackwards = (name: 'popup-quiz' | 'poll', ...pages: readonly Items[]) => {
    let state: Json = null
    return pages.map((items, n) => {
      const cursor = n === 0 ? null : `n${n}`
      const nextId = n < pages.length - 1 ? `n${n + 1}` : undefined
      const result = streams[name].toRows(pageOf({ items: items as Json[], cursor, nextId }), state)
      state = result.streamState
      return result.isBackwards === true
    })
  }

  it.each(['popup-quiz', 'poll'] as const)('%s', name => {
    expect(isBackwards(name, [choose('q1'), begin('q1')])).toEqual([true])
    expect(isBackwards(name, [begin('q2'), end('q1'), choose('q1'), begin('q1')])).toEqual([true])
    expect(isBackwards(name, [end('q1'), choose('q1')], [choose('q1'), begin('q1')])).toEqual([false, true])
    // It is read to its end all the same.
    expect(isBackwards(name, [choose('q2'), begin('q2')], [begin('q1')])).toEqual([false, true])
  })

  it.each(['popup-quiz', 'poll'] as const)('and no other log of a %s does', name => {
    const all = [begin('q1'), choose('q1'), end('q1'), begin('q2'), choose('q1'), choose('q2'), begin('q1')]
    const none = (pages: readonly Items[]) => pages.map(() => false)
    const others: readonly (readonly Items[])[] = [
      [all],
      // Begun again, on a page that does not tell of the first time.
      [[begin('q1')], [choose('q1'), end('q1'), begin('q1')]],
      // The beginning is not told any more.
      [[choose('q0'), end('q0'), begin('q1'), choose('q1')]],
      [[choose('q1'), begin('q1')].map((item, n) => ({ ...item, sequence: 9 - n }))],
    ]
    expect(others.map(pages => isBackwards(name, ...pages))).toEqual(others.map(none))
  })
})

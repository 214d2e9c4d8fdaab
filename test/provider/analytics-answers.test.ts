import { describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'

/** What an answer holds, or that it is none; `list` is the member that holds the items. */
function read(name: 'calls' | 'call-sessions' | 'call-metrics' | 'realtime-usage', members: object) {
  const { operation, read } = streams[name]
  const answer = operation.answer.safeParse({ code: 200, message: 'success', requestId: 'r', ...members })
  if (!answer.success) return 'malformed'
  const { total: _, ...page }: ReturnType<typeof read> & { readonly total?: number | undefined } = read(
    answer.data,
  )
  return page
}

describe.each([
  ['calls', 'call_lists', { hasMore: false, isFull: false }],
  ['call-sessions', 'call_info', { isFull: false }],
] as const)('a page of %s', (name, list, rest) => {
  const empty = { items: [], ...rest }

  it('that has a list is that list', () => {
    expect(read(name, { total_size: 1, [list]: [{}] })).toEqual({ items: [{}], ...rest })
    expect(read(name, { total_size: 0, [list]: [] })).toEqual(empty)
  })

  it('whose list is null is empty, unless the answer itself says that there is something', () => {
    expect(read(name, { [list]: null })).toEqual(empty)
    expect(read(name, { total_size: 0, [list]: null })).toEqual(empty)
    expect(read(name, { total_size: null, [list]: null })).toEqual(empty)
    expect(read(name, { total_size: 100, page_no: 2, page_size: 100, [list]: null })).toEqual(empty)
    expect(read(name, { total_size: 3, [list]: null })).toBe('malformed')
    expect(read(name, { total_size: 101, page_no: 2, page_size: 100, [list]: null })).toBe('malformed')
    expect(read(name, { total_size: 'three', [list]: null })).toBe('malformed')
  })

  it('without its list is empty only where the answer says that there is nothing', () => {
    expect(read(name, { total_size: 0 })).toEqual(empty)
    expect(read(name, { total_size: 0, page_no: 1, page_size: 100 })).toEqual(empty)
    for (const total of [{}, { total_size: null }, { total_size: 1 }, { total_size: '' }]) {
      expect(read(name, total)).toBe('malformed')
    }
  })

  it('that lists nothing on the first page and counts something is not empty', () => {
    expect(read(name, { total_size: 3, page_no: 1, page_size: 100, [list]: [] })).toBe('malformed')
    // Of a later page, and of one that does not say which it is, the count may be of all pages.
    expect(read(name, { total_size: 100, page_no: 2, page_size: 100, [list]: [] })).toEqual(empty)
    expect(read(name, { total_size: 100, [list]: [] })).toEqual(empty)
  })

  it.each([{}, { list: [] }, 'none', 0, false, ''])('whose list is %j cannot be read', odd => {
    expect(read(name, { total_size: 0, [list]: odd })).toBe('malformed')
  })

  it('is read whatever stands in members that say nothing of its list', () => {
    const odd = { requestId: 7, page_no: '1', page_size: '100', total_size: '1', message: { a: 1 } }
    expect(read(name, { ...odd, [list]: [{}] })).toEqual({ items: [{}], ...rest })
  })
})

it.each([
  ['calls', 'call_lists'],
  ['call-sessions', 'call_info'],
] as const)('a page of %s is full by its own size, whatever was asked for', (name, list) => {
  expect(read(name, { total_size: 5, page_size: 2, [list]: [{}, {}] })).toMatchObject({ isFull: true })
  expect(read(name, { total_size: 2, page_size: 3, [list]: [{}, {}] })).toMatchObject({ isFull: false })
})

it('a search of calls that lists nothing and leaves some out is no empty one', () => {
  expect(read('calls', { total_size: 0, has_more: true, call_lists: null })).toEqual({
    items: [],
    hasMore: true,
    isFull: false,
  })
})

describe.each([
  ['call-metrics', 'metrics', { items: [] }, 'malformed'],
  ['realtime-usage', 'data', { items: [], hasMore: false }, { items: [], hasMore: false }],
] as const)('an answer of %s', (name, list, nothing, ofNull) => {
  it('has no items where its list is empty', () => {
    expect(read(name, { [list]: [] })).toEqual(nothing)
    expect(read(name, { [list]: null })).toEqual(ofNull)
  })

  it.each([undefined, {}, { list: [] }, 'none', 0])('whose list is %j cannot be read', odd => {
    expect(read(name, { [list]: odd })).toBe('malformed')
  })
})

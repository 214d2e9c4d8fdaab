import { expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Page } from '../../src/streams/page.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

const entry = (recordId: string, ...urls: readonly string[]) => ({
  recordId,
  status: 2,
  recordDetails: urls.map(url => ({ url })),
})

/** Reads lists one after the other; answers which files the last one says to be gone, and what is remembered then. */
function reading(...pages: readonly Partial<Page>[]) {
  let [streamState, gone]: [Json, readonly string[]] = [null, []]
  for (const page of pages) {
    const result = streams.recordings.toRows(pageOf({ ...page, answeredAt: 1_767_225_600_000 }), streamState)
    const files = result.rows['classroom.recording_file'] ?? []
    streamState = result.streamState
    gone = files
      .filter(({ removed_at }) => removed_at === '2026-01-01T00:00:00.000Z')
      .map(({ record_id, ordinal, url }) => `${record_id} ${ordinal} ${url}`)
  }
  return gone
}

/** Reads lists one after the other; answers the rows of files that the last one makes. */
function rowsOf(...pages: readonly Partial<Page>[]) {
  let [streamState, rows]: [Json, readonly string[]] = [null, []]
  for (const page of pages) {
    const result = streams.recordings.toRows(pageOf({ ...page, answeredAt: 1_767_225_600_000 }), streamState)
    streamState = result.streamState
    rows = (result.rows['classroom.recording_file'] ?? []).map(
      ({ ordinal, url, removed_at }) => `${ordinal} ${url}${removed_at === null ? '' : ' gone'}`,
    )
  }
  return rows
}

const before = { items: [entry('one', 'a', 'b'), entry('two', 'c')] }

it.each<readonly [what: string, after: Partial<Page>, gone: readonly string[]]>([
  ['nothing that is listed', before, []],
  ['a file that its recording no longer has', { items: [entry('one', 'a'), entry('two', 'c')] }, ['one 1 b']],
  ['all files, where it has none', { items: [entry('one'), entry('two', 'c')] }, ['one 0 a', 'one 1 b']],
  ['the files of a recording that is gone', { items: [entry('one', 'a', 'b')] }, ['two 0 c']],
  ['nothing where the list is left out', { items: [{ recordId: 'one' }, entry('two', 'c')] }, []],
  [
    'nothing where the list is none',
    { items: [{ recordId: 'one', recordDetails: 'a' }, entry('two', 'c')] },
    [],
  ],
  ['nothing where a file is not told yet', { items: [entry('one', 'a', ''), entry('two', 'c')] }, []],
  ['nothing of others where a page follows', { items: [entry('one', 'a', 'b')], nextId: 'n' }, []],
  ['nothing of others where it is a later page', { items: [entry('one', 'a', 'b')], cursor: 'n' }, []],
  ['nothing of others where it counts more', { items: [entry('one', 'a', 'b')], total: 2 }, []],
  ['nothing of others where an item cannot be read', { items: [entry('one', 'a', 'b'), {}] }, []],
])('a list says gone: %s', (_, after, gone) => {
  expect(reading(before, after)).toEqual(gone)
})

it('a file is said to be gone once, and is there when it is listed again', () => {
  const without = { items: [entry('one', 'a')] }
  expect(reading(before, without, without)).toEqual([])
  expect(reading(before, without, before, without)).toEqual(['one 1 b', 'two 0 c'])
})

it('keeps the number of a file when others move up into the place of one that is gone', () => {
  const list = (...urls: readonly string[]) => ({ items: [entry('one', ...urls)] })
  expect(rowsOf(list('a', 'b'), list('b'))).toEqual(['1 b', '0 a gone'])
  expect(rowsOf(list('a', 'b'), list('b'), list('b'))).toEqual(['1 b'])
  expect(rowsOf(list('a', 'b'), list('b'), list('b', 'c'))).toEqual(['1 b', '2 c'])
  expect(rowsOf(list('a', 'b'), list('b'), list('a', 'b'))).toEqual(['0 a', '1 b'])
  expect(rowsOf(list('a', 'b'), list('b'), list())).toEqual(['1 b gone'])
  expect(rowsOf(list('a', 'b'), list('b'), { items: [] }, list('b'))).toEqual(['1 b'])
  expect(rowsOf(list('a', 'b'), list('b', 'a'))).toEqual(['1 b', '0 a'])
})

it('takes another address at the place of a file that is listed nowhere for that file', () => {
  const list = (...urls: readonly string[]) => ({ items: [entry('one', ...urls)] })
  expect(rowsOf(list('a?1', 'b?1'), list('a?2', 'b?2'))).toEqual(['0 a?2', '1 b?2'])
  expect(rowsOf(list('a?1', 'b?1', 'c?1'), list('a?2', 'b?2'))).toEqual(['0 a?2', '1 b?2', '2 c?1 gone'])
})

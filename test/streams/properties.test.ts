import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { PageResult } from '../../src/streams/page.ts'
import type { RowSet, TableName } from '../../src/tables/index.ts'
import type { Json } from '../../src/tables/json.ts'
import { cursorStreamNames } from '../support/streams.ts'
import { anything, cuts, log, quizLog } from './arbitraries.ts'
import { pageOf } from './pages.ts'

type QueueName = 'room-events' | 'popup-quiz' | 'poll'

/** Reads a log from its beginning, cut into pages at the given places. */
function readPages(name: QueueName, items: readonly object[], at: readonly number[]): readonly PageResult[] {
  const bounds = [0, ...at.filter(cut => cut < items.length).sort((a, b) => a - b), items.length]
  const pages = bounds.slice(1).map((end, index) => items.slice(bounds[index], end))
  let streamState: Json = null
  return pages.map((part, index) => {
    const nextId = index < pages.length - 1 ? `n${index + 1}` : undefined
    const page = pageOf({ items: part, cursor: index === 0 ? null : `n${index}`, nextId })
    const toRows = streams[name].toRows(page, streamState)
    streamState = toRows.streamState
    return toRows
  })
}

function union(harvests: readonly PageResult[], table: TableName): readonly object[] {
  return harvests.flatMap(({ rows }): readonly object[] => rows[table] ?? [])
}

function tablesOf(rows: RowSet, ...except: readonly TableName[]): object {
  return Object.fromEntries(
    Object.entries(rows).filter(([name, of]) => of.length > 0 && !except.some(table => table === name)),
  )
}

/** What a later row leaves open stays as an earlier one said. */
function merged(rows: readonly object[], key: string): object {
  const byKey = new Map<unknown, object>()
  for (const row of rows) {
    const id = Object.entries(row).find(([name]) => name === key)?.[1]
    const said = Object.entries(row).filter(([, value]) => value !== null)
    byKey.set(id, { ...byKey.get(id), ...Object.fromEntries(said) })
  }
  return Object.fromEntries(byKey)
}

describe.each(cursorStreamNames)('%s', name => {
  it('never throws, whatever items and whatever stream state it is given', () => {
    const items = fc.array(anything, { maxLength: 8 })
    const cursor = fc.constantFrom(null, 'n1')
    const purpose = fc.constantFrom('read' as const, 'probe' as const)
    fc.assert(
      fc.property(items, fc.jsonValue(), cursor, purpose, (some, streamState, from, why) => {
        const page = pageOf({ items: some, cursor: from, purpose: why })
        const { follow } = streams[name].toRows(page, streamState as Json)
        expect(['next', 'stay']).toContain(follow)
      }),
      { numRuns: 300 },
    )
  })

  it('keeps no token, however deep and beside whatever it comes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(5), (beside, sequence) => {
        const hidden = { taskToken: 'S3CRET', list: [{ boardToken: ['S3CRET'] }, beside] }
        const item = {
          ...{ roomUuid: 'algebra-7b', cmd: 1003, sequence, data: { resources: [hidden], ...hidden } },
          ...{ id: 'p', encryptKey: 'S3CRET', streamOptions: [hidden, { encryptKdfSalt: 'S3CRET' }] },
          ...{ recordId: 'r', recordDetails: [hidden], resourceUuid: 'd', taskProgress: hidden, ...hidden },
          changeProperties: { 'extra.pollToken': 'S3CRET', extra: hidden },
        }
        const toRows = streams[name].toRows(
          pageOf({ items: [item, [item], { ...item, sequence: -1 }] }),
          null,
        )
        expect(JSON.stringify(toRows)).not.toContain('S3CRET')
      }),
    )
  })
})

it('a log gives the same rows wherever it is cut into pages', () => {
  fc.assert(
    fc.property(log, cuts, (items, at) => {
      const whole = readPages('room-events', items, [])
      const parts = readPages('room-events', items, at)
      for (const table of Object.keys(whole[0]!.rows) as TableName[]) {
        if (table !== 'classroom.room') expect(union(parts, table)).toEqual(union(whole, table))
      }
      expect(parts.at(-1)?.holes).toEqual(whole[0]?.holes)
      const [room] = whole[0]?.rows['classroom.room'] ?? []
      const rooms = parts.flatMap(({ rows }) => rows['classroom.room'] ?? [])
      expect(rooms.map(part => part.first_event_at).sort()[0]).toBe(room?.first_event_at)
      expect(rooms.findLast(({ state }) => state !== null)?.state ?? null).toBe(room?.state)
    }),
  )
})

it('a quiz log gives the same rows wherever it is cut into pages', () => {
  fc.assert(
    fc.property(quizLog, cuts, (items, at) => {
      const whole = readPages('popup-quiz', items, [])
      const parts = readPages('popup-quiz', items, at)
      for (const table of ['classroom.widget_event', 'classroom.quiz_submission'] as const) {
        expect(union(parts, table)).toEqual(union(whole, table))
      }
      expect(merged(union(parts, 'classroom.quiz'), 'quiz_id')).toEqual(
        merged(union(whole, 'classroom.quiz'), 'quiz_id'),
      )
    }),
  )
})

it.each([
  ['room-events', log, 'classroom.room'],
  // What a quiz came to may have been said since.
  ['popup-quiz', quizLog, 'classroom.quiz'],
] as const)('%s: the last page read again gives the rows that it gave', (name, items, summary) => {
  fc.assert(
    fc.property(items as fc.Arbitrary<object[]>, cuts, (all, at) => {
      const first = readPages(name, all, at).at(-1)!
      const cut = at.filter(place => place < all.length)
      const cursor = cut.length === 0 ? null : `n${cut.length}`
      const again = streams[name].toRows(
        pageOf({ items: all.slice(Math.max(0, ...cut)), cursor }),
        first.streamState,
      )
      expect(tablesOf(again.rows, summary)).toEqual(tablesOf(first.rows, summary))
      expect(again.hints).toEqual([])
    }),
  )
})

import { expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

const { read, toRows, hasListed } = streams.resources
const envelope = { code: 0, msg: 'Success', ts: 1_767_225_600_000 }

/** Reads answers one after the other; answers what became of the last one. */
function reading(...answers: readonly object[]) {
  return answers.reduce<{
    streamState: Json
    removed: readonly string[]
    follow: string
    unfinished: boolean
  }>(
    ({ streamState }, answer) => {
      const page = pageOf(read({ ...envelope, ...answer }))
      const { rows, follow, unfinished, ...next } = toRows(page, streamState)
      const gone = (rows['classroom.resource'] ?? []).filter(({ removed_at }) => removed_at !== null)
      return {
        streamState: next.streamState,
        removed: gone.map(({ resource_uuid }) => resource_uuid),
        follow,
        unfinished,
      }
    },
    { streamState: null, removed: [], follow: '', unfinished: false },
  )
}

const one = { data: [{ resourceUuid: 'doc' }] }

it('what a list no longer names was removed', () => {
  expect(reading(one, { data: [] })).toMatchObject({ removed: ['doc'], follow: 'next', unfinished: false })
})

it('a list that counts more than it names proves nothing of the others', () => {
  const cut = { data: { total: 2, list: [{ resourceUuid: 'sheet' }] } }
  expect(reading(one, cut)).toMatchObject({ removed: [], streamState: { known: ['doc', 'sheet'] } })
  expect(reading(one, cut, { data: { total: 1, list: [{ resourceUuid: 'sheet' }] } }).removed).toEqual([
    'doc',
  ])
})

it('a list that names itself as the page behind it proves nothing of the others', () => {
  const items = [{ resourceUuid: 'sheet' }]
  const known = { known: ['doc', 'sheet'] }
  const pages = [pageOf({ items, nextId: 'n1' }), pageOf({ items, cursor: 'n1' })]
  const removed = pages.flatMap(page => toRows(page, known).rows['classroom.resource'] ?? [])
  expect(removed.filter(({ removed_at }) => removed_at !== null)).toEqual([])
})

it('knows that there was something', () => {
  expect([null, { known: [] }, { known: ['doc'] }].map(state => hasListed?.(state))).toEqual([
    false,
    false,
    true,
  ])
})

it.each([{}, { data: null }])('an answer %j is known to have no data', answer => {
  expect(read({ ...envelope, ...answer })).toMatchObject({ items: [], lacksData: true })
  expect(read({ ...envelope, ...one })).not.toHaveProperty('lacksData')
})

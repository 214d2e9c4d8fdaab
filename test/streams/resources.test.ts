import { expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

const { read, toRows } = streams.resources
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

it.each([{}, { data: null }])(
  'an answer %j says nothing of what was listed, and is asked for again',
  silent => {
    expect(reading(one, silent)).toMatchObject({ removed: [], follow: 'stay', unfinished: true })
    expect(reading(one, silent, silent, one)).toMatchObject({ removed: [], follow: 'next' })
    expect(reading(one, silent, { data: [] })).toMatchObject({ removed: ['doc'], follow: 'next' })
  },
)

it('three answers in a row without data say that there is nothing', () => {
  expect(reading(one, {}, {}, {})).toMatchObject({ removed: ['doc'], follow: 'next', unfinished: false })
})

it('where nothing was listed, one answer without data is enough', () => {
  expect(reading({})).toMatchObject({ removed: [], follow: 'next' })
})

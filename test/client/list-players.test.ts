import { expect, test } from 'vitest'
import { CallError } from '../../src/client/errors.ts'
import { listAll } from '../../src/client/players.ts'
import { listPlayers } from '../../src/provider/players/index.ts'

type Page = Readonly<Record<string, unknown>>

/** Serves pages one after the other, and keeps what they were asked with. */
function service(...pages: readonly (Page | Error)[]) {
  const asked: Page[] = []
  const left = [...pages]
  const ask = async (_operation: unknown, given: Page): Promise<Page> => {
    asked.push(given)
    const page = left.length > 1 ? left.shift()! : left[0]!
    if (page instanceof Error) throw page
    return page
  }
  return { asked, ask }
}

const player = (id: string) => ({ id, name: `name of ${id}` })
const failure = new CallError(listPlayers, { kind: 'unavailable', text: 'no' })

test('pages are read to the last, each with the token of the one before', async () => {
  const { ask, asked } = service(
    { totalSize: 3, players: [player('a'), player('b')], nextPageToken: 't1' },
    { totalSize: 3, players: [player('c')], nextPageToken: '' },
  )
  expect((await listAll({ ask }, 'room'))?.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(asked).toEqual([
    { filter: 'channelName eq room', pageSize: 500 },
    { filter: 'channelName eq room', pageSize: 500, pageToken: 't1' },
  ])
})

test('without a channel there is no filter', async () => {
  const { ask, asked } = service({ totalSize: 0, players: [], nextPageToken: '' })
  expect(await listAll({ ask })).toEqual([])
  expect(asked).toEqual([{ pageSize: 500 }])
})

test('a player that moved from page to page counts once', async () => {
  const { ask } = service(
    { totalSize: 2, players: [player('a'), player('b')], nextPageToken: 't' },
    { totalSize: 2, players: [player('b')], nextPageToken: '' },
  )
  expect(await listAll({ ask })).toHaveLength(2)
})

test.each<[string, readonly (Page | Error)[]]>([
  ['has fewer players than it says', [{ totalSize: 3, players: [player('a')], nextPageToken: '' }]],
  ['cannot be had', [failure]],
  ['breaks off', [{ totalSize: 2, players: [player('a')], nextPageToken: 't' }, failure]],
  ['has an entry without an ID', [{ totalSize: 1, players: [{ name: 'x' }], nextPageToken: '' }]],
  ['never ends', [{ totalSize: 2, players: [player('a')], nextPageToken: 't' }]],
])('a list that %s proves nothing', async (_what, pages) => {
  const { ask, asked } = service(...pages)
  expect(await listAll({ ask })).toBeUndefined()
  expect(asked.length).toBeLessThanOrEqual(50)
})

test('a list that does not say how many there are is believed', async () => {
  const { ask } = service({ players: [player('a')], nextPageToken: null })
  expect(await listAll({ ask })).toHaveLength(1)
})

test('an error that is none of the provider is passed on', async () => {
  const { ask } = service(new TypeError('a bug'))
  await expect(listAll({ ask })).rejects.toThrow(TypeError)
})

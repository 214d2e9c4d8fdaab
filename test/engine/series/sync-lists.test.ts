import { describe, expect, it } from 'vitest'
import type { CursorStream } from '../../../src/streams/stream.ts'
import { feed, list, quiz, type Served } from '../fake-streams.ts'
import { makeHarness } from './sync-harness.ts'

describe('a list of several pages', () => {
  it('is unfinished where any of its pages is', async () => {
    const { go, transport } = makeHarness(list)
    transport.answers = ({ nextId }) =>
      nextId === null ? { items: [{ id: 1, unfinished: true }], nextId: 'p2' } : { items: [{ id: 2 }] }
    expect(await go()).toMatchObject({ end: 'done', unfinished: true })
    transport.answers = ({ nextId }) =>
      nextId === null ? { items: [{ id: 1 }], nextId: 'p2' } : { items: [{ id: 2 }] }
    expect(await go()).toMatchObject({ end: 'done', unfinished: false })
  })

  it('is unfinished as its last page says where it is a log', async () => {
    const { go, transport } = makeHarness()
    transport.answers = ({ nextId }) =>
      nextId === null ? { items: [{ id: 1, unfinished: true }], nextId: 'p2' } : { items: [{ id: 2 }] }
    expect(await go()).toMatchObject({ end: 'done', unfinished: false })
  })
})

describe('what is of a room beside its log', () => {
  it('says how long ago it was asked for, until it is stored', async () => {
    const { go, store, transport, clock } = makeHarness(list)
    const began = clock.monotonic()
    transport.answers = () => ({ items: [{ id: 1 }] })
    await go()
    expect(store.commits.map(({ age }) => age?.())).toEqual([clock.monotonic() - began])
  })

  it.each<readonly [what: string, ahead: number, more: number]>([
    [
      'is four minutes older where the provider is four minutes behind, by whose clock classes end',
      -240_000,
      240_000,
    ],
    ['is no younger where the provider is ahead', 240_000, 0],
    ['is an hour older at most, whatever time is told', -1_700_000_000_000, 3_600_000],
  ])('%s', async (_, ahead, more) => {
    const { go, store, transport, clock } = makeHarness(list)
    const began = clock.monotonic()
    transport.answers = () => ({ items: [{ id: 1 }] })
    transport.answeredAt = () => clock.now() + ahead
    await go()
    expect(store.commits.map(({ age }) => age?.())).toEqual([clock.monotonic() - began + more])
  })

  it('is not its log, which tells what came after it', async () => {
    const { go, store } = makeHarness()
    await go()
    expect(store.commits.map(({ age }) => age)).toEqual([undefined])
  })
})

describe('a reading to the end that names a larger total', () => {
  const things = [{ id: 1 }, { id: 2 }]
  const rejectsOf = async (stream: CursorStream, answers: (nextId: string | null) => Served) => {
    const { go, store, transport } = makeHarness(stream)
    transport.answers = ({ nextId }) => answers(nextId)
    await go()
    return store.commits.flatMap(({ rejects }) => rejects)
  }

  it('is stored, and what it lacks is set aside as something that nobody knows', async () => {
    const letter = {
      ...{ reason: 'out_of_range', detail: 'total: counts more than is listed' },
      item: { total: 3, listed: 2 },
    }
    expect(await rejectsOf(list, () => ({ items: things, total: 3 }))).toEqual([letter])
    expect(await rejectsOf(quiz, () => ({ items: things, total: 3 }))).toEqual([letter])
  })

  it('is counted over all of its pages', async () => {
    const paged = (nextId: string | null) =>
      nextId === null ? { items: things, nextId: 'p2', total: 5 } : { items: [{ id: 3 }], total: 5 }
    const letter = { reason: 'out_of_range', item: { total: 5, listed: 3 } }
    expect(await rejectsOf(list, paged)).toMatchObject([letter])
    expect(await rejectsOf(quiz, paged)).toMatchObject([letter])
  })

  it('lacks nothing where it began behind the beginning', async () => {
    const { go, store, transport } = makeHarness(quiz, { cursor: 'p7', certain: true })
    transport.answers = () => ({ items: things, total: 700 })
    await go()
    expect(store.commits.flatMap(({ rejects }) => rejects)).toEqual([])
  })

  it('is none where others follow, where nothing more is counted, or of a feed', async () => {
    const paged = (nextId: string | null) =>
      nextId === null ? { items: things, nextId: 'p2', total: 3 } : { items: [{ id: 3 }], total: 3 }
    expect(await rejectsOf(list, paged)).toEqual([])
    expect(await rejectsOf(list, () => ({ items: things, total: 2 }))).toEqual([])
    expect(await rejectsOf(list, () => ({ items: things, total: 0 }))).toEqual([])
    expect(await rejectsOf(feed, nextId => ({ items: nextId === null ? things : [], total: 9 }))).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { RefusedRows, StoreUnavailable } from '../../../src/engine/ports.ts'
import { thingsOf } from '../fake-store.ts'
import { feed, list, quiz, roomLog } from '../fake-streams.ts'
import { makeHarness } from './sync-harness.ts'

const refused = { kind: 'bad_request', text: '', status: 400 } as const

describe('where a sync begins', () => {
  it('a series that nobody knows is made known and read from its beginning', async () => {
    const { go, asked, store } = makeHarness()
    expect(await go()).toMatchObject({ end: 'done' })
    expect(asked()).toEqual([null])
    expect(store.commits).toHaveLength(1)
  })

  it('a log is read on from the last nextId', async () => {
    const { go, asked } = makeHarness(roomLog, { cursor: 'p7', certain: true })
    await go()
    expect(asked()).toEqual(['p7'])
  })

  it('a log whose room has not been seen for longer than the provider remembers is probed first', async () => {
    const { go, asked, store } = makeHarness(roomLog, { cursor: 'p7', certain: false })
    await go()
    expect(asked()).toEqual([null, 'p7'])
    expect(store.commits.map(({ cursor, caughtUp }) => [cursor, caughtUp])).toEqual([
      ['p7', false],
      ['p7', true],
    ])
  })

  it('a probe that does not tell whose room it is reads no further, and proves nothing', async () => {
    const { go, asked, store, transport } = makeHarness(roomLog, { cursor: 'p7', certain: false })
    transport.answers = () => ({ items: [{ id: 1, undecided: true }] })
    expect(await go()).toMatchObject({ end: 'done', undecided: true })
    expect(asked()).toEqual([null])
    expect(store.commits).toMatchObject([{ cursor: 'p7', isUndecided: true }])
  })

  it('so is the log of a room that has ended long since', async () => {
    const { go, asked } = makeHarness(roomLog, { cursor: 'p7', certain: true })
    await go({ room: 'doubtful' })
    expect(asked()).toEqual([null, 'p7'])
  })

  it('the other streams of a room are vouched for by its log', async () => {
    const { go, asked } = makeHarness(quiz, { cursor: 'p7', certain: false })
    await go()
    expect(asked()).toEqual(['p7'])
  })

  it('a log that says so is read once more from its beginning', async () => {
    const doubted = { ...roomLog, rereads: () => true }
    const { go, asked } = makeHarness(doubted, { cursor: 'p7', certain: true })
    await go()
    expect(asked()).toEqual([null])
  })

  it('a long reading goes on where it stood, even one from the beginning', async () => {
    const doubted = { ...roomLog, rereads: () => true }
    const { go, asked, transport } = makeHarness(doubted, { cursor: 'p7', certain: true })
    transport.answers = ({ nextId }) => ({ items: [], nextId: nextId === 'p7' ? 'p6' : 'p8' })
    expect(await go({ asked: new Set([null, 'p6']) })).toMatchObject({ end: 'looped' })
    expect(asked()).toEqual(['p7'])
  })
})

describe('an answer without data', () => {
  const nothing = { items: [], lacksData: true } as const

  it.each([
    ['the log of a room', roomLog],
    ['the log of its quizzes', quiz],
  ])('is no end of %s, and is asked for again where it was', async (_, stream) => {
    const { go, asked, store, transport } = makeHarness(stream, { cursor: 'p7', certain: true })
    transport.answers = () => nothing
    expect(await go()).toMatchObject({ end: 'done', unfinished: true, undecided: true })
    await go()
    expect(asked()).toEqual(['p7', 'p7'])
    expect(store.commits.map(({ cursor, caughtUp }) => [cursor, caughtUp])).toEqual([
      ['p7', false],
      ['p7', false],
    ])
  })

  it('is believed the third time in a row, and from then on', async () => {
    const { go, store, transport } = makeHarness(quiz, { cursor: 'p7', certain: true })
    transport.answers = () => nothing
    for (let times = 0; times < 4; times++) await go()
    expect(store.commits.map(({ caughtUp }) => caughtUp)).toEqual([false, false, true, true])
  })

  it('begins to count anew after one with data', async () => {
    const { go, store, transport } = makeHarness(quiz, { cursor: 'p7', certain: true })
    const said = [nothing, nothing, { items: [] }, nothing, nothing, nothing]
    transport.answers = () => said[store.commits.length] ?? nothing
    for (const _ of said) await go()
    expect(store.commits.map(({ caughtUp }) => caughtUp)).toEqual([false, false, true, false, false, true])
  })

  it('is asked for again at once where nothing was ever listed', async () => {
    const { go, store, transport } = makeHarness(list)
    transport.answers = () => nothing
    expect(await go()).toMatchObject({ end: 'done', unfinished: false })
    expect(store.commits.map(({ caughtUp }) => caughtUp)).toEqual([false, false, true])
  })

  it('is not, where something was', async () => {
    const { go, store, transport } = makeHarness({ ...list, hasListed: () => true })
    transport.answers = () => nothing
    expect(await go()).toMatchObject({ end: 'done', unfinished: true })
    expect(store.commits.map(({ caughtUp }) => caughtUp)).toEqual([false])
  })

  it('at the end of a longer list is believed too, though what lies before it has data', async () => {
    const { go, store, transport } = makeHarness(list)
    transport.answers = ({ nextId }) => (nextId === null ? { items: [{ id: 1 }], nextId: 'p2' } : nothing)
    for (let times = 0; times < 3; times++) await go()
    expect(store.commits.map(({ caughtUp }) => caughtUp)).toEqual([false, false, false, false, false, true])
  })

  it('of a feed is an end like any other', async () => {
    const { go, store, transport } = makeHarness(feed)
    transport.answers = () => nothing
    await go()
    expect(store.commits).toMatchObject([{ caughtUp: true }])
  })
})

describe('a nextId that is refused after the end', () => {
  it('has the log read from its beginning', async () => {
    const {
      go,
      asked,
      transport,
      learnt: tailMemory,
    } = makeHarness(roomLog, { cursor: 'end', certain: true })
    transport.answers = ({ nextId }) => (nextId === null ? { items: [{ id: 1 }] } : refused)
    expect(await go()).toMatchObject({ end: 'done', fresh: 1 })
    expect(asked()).toEqual(['end', null])
    expect(tailMemory.refusedTails).toBe(1)
  })

  it('teaches nothing while the beginning of the log is refused too', async () => {
    const {
      go,
      asked,
      transport,
      learnt: tailMemory,
    } = makeHarness(roomLog, { cursor: 'end', certain: true })
    transport.answers = () => refused
    expect(await go()).toMatchObject({ end: 'failed' })
    expect(asked()).toEqual(['end', null])
    expect(tailMemory.refusedTails).toBe(0)
  })

  it('is forgiven as soon as another one is accepted', async () => {
    const { go, learnt: tailMemory } = makeHarness(roomLog, { cursor: 'p7', certain: true })
    tailMemory.refusedTails = 2
    await go()
    expect(tailMemory.refusedTails).toBe(0)
  })

  it('three times in a row is not asked any more', async () => {
    const { go, asked, learnt: tailMemory } = makeHarness(roomLog, { cursor: 'p7', certain: true })
    tailMemory.refusedTails = 3
    await go()
    expect(asked()).toEqual([null])
  })

  it('three times in a row is asked again now and then, and each time once it is accepted', async () => {
    const { go, asked, transport } = makeHarness(roomLog)
    let isRefusing = true
    transport.answers = ({ nextId }) => {
      if (nextId === null) return { items: [{ id: 1 }], nextId: 'p8' }
      return isRefusing && asked().at(-2) !== null ? refused : { items: [] }
    }
    const begins = async (count: number) => {
      const first: (string | null | undefined)[] = []
      for (let n = 0; n < count; n++) {
        const before = asked().length
        await go()
        first.push(asked()[before])
      }
      return first
    }
    const refusals = (await begins(200)).filter(nextId => nextId === 'p8').length
    expect(refusals).toBeGreaterThan(4)
    expect(refusals).toBeLessThan(12)
    isRefusing = false
    await begins(100)
    expect(await begins(3)).toEqual(['p8', 'p8', 'p8'])
  })

  it('after a probe has the log read from its beginning too', async () => {
    const { go, asked, transport } = makeHarness(roomLog, { cursor: 'p7', certain: true })
    transport.answers = ({ nextId }) => (nextId === null ? { items: [] } : refused)
    expect(await go({ room: 'doubtful' })).toMatchObject({ end: 'done' })
    expect(asked()).toEqual([null, 'p7', null])
  })
})

describe('where a sync ends', () => {
  it('a nextId that comes round again is not followed and moves nothing on', async () => {
    const { go, asked, transport, store, counts } = makeHarness()
    const next: Record<string, string> = { null: 'b', b: 'c', c: 'b' }
    transport.answers = ({ nextId }) => ({ items: [{ id: asked().length }], nextId: next[String(nextId)]! })
    expect(await go()).toMatchObject({ end: 'looped', fresh: 3 })
    expect(asked()).toEqual([null, 'b', 'c'])
    expect(store.commits.at(-1)).toMatchObject({ cursor: 'c', caughtUp: false })
    expect(counts.pages).toContain('room-events looped')
  })

  it('a page without items that names itself is the end, and the place is kept for what comes', async () => {
    const { go, asked, transport, store } = makeHarness()
    transport.answers = ({ nextId }) =>
      nextId === null ? { items: [{ id: 1 }], nextId: 'b' } : { items: [], nextId: 'b' }
    expect(await go()).toMatchObject({ end: 'done', fresh: 1 })
    expect(asked()).toEqual([null, 'b'])
    expect(store.commits.at(-1)).toMatchObject({ cursor: 'b', caughtUp: true })
    transport.answers = ({ nextId }) =>
      nextId === 'b' ? { items: [{ id: 2 }], nextId: 'c' } : { items: [], nextId: 'c' }
    expect(await go()).toMatchObject({ end: 'done', fresh: 1 })
    expect(asked().slice(2)).toEqual(['b', 'c'])
  })

  it('so is the fifth page without items in a row, whatever each of them names', async () => {
    const { go, asked, transport, store } = makeHarness(roomLog, { cursor: 'p0', certain: true })
    let page = 0
    const empty = [1, 2, 4, 5, 6, 7, 8]
    transport.answers = () => ({ items: empty.includes(page) ? [] : [{ id: page }], nextId: `p${++page}` })
    expect(await go()).toMatchObject({ end: 'done', fresh: 2 })
    expect(asked()).toEqual(['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8'])
    expect(store.commits.at(-1)).toMatchObject({ cursor: 'p8', caughtUp: true })
  })

  it('but where a log is read for the first time fifty are', async () => {
    const { go, asked, transport, store } = makeHarness()
    const told = (nextId: string | null) =>
      nextId === null ? [{ id: 1 }] : nextId === 'p45' ? [{ id: 2 }] : []
    transport.answers = ({ nextId }) => ({ items: told(nextId), nextId: `p${asked().length}` })
    expect(await go()).toMatchObject({ end: 'done', fresh: 2 })
    expect(asked()).toHaveLength(46 + 50)
    expect(store.commits.filter(({ caughtUp }) => caughtUp)).toHaveLength(1)
  })

  it('a log that runs backwards has none, and is read from its beginning each time', async () => {
    const backwards = {
      ...quiz,
      toRows: page => ({ ...quiz.toRows(page, null), isBackwards: true, streamState: { found: 1 } }),
      rewind: stored => stored,
    } as typeof quiz
    const { go, asked, transport, store } = makeHarness(backwards)
    transport.answers = () => ({ items: [{ id: 1 }] })
    expect([(await go()).end, (await go()).end]).toEqual(['looped', 'looped'])
    expect(asked()).toEqual([null, null])
    expect(store.commits.at(-1)).toMatchObject({ cursor: null, caughtUp: false, streamState: { found: 1 } })
  })

  it('a page with items that names itself, or an empty one that names an earlier one, is no end', async () => {
    const { go, transport, store } = makeHarness(roomLog, { cursor: 'b', certain: true })
    transport.answers = () => ({ items: [{ id: 1 }], nextId: 'b' })
    expect(await go()).toMatchObject({ end: 'looped' })
    transport.answers = ({ nextId }) =>
      nextId === 'b' ? { items: [{ id: 1 }], nextId: 'c' } : { items: [], nextId: 'b' }
    expect(await go()).toMatchObject({ end: 'looped' })
    expect(store.commits.every(({ caughtUp }) => !caughtUp)).toBe(true)
  })

  it('after two hundred pages the others have their turn, and what was asked is remembered', async () => {
    const { go, transport } = makeHarness()
    transport.answers = ({ nextId }) => ({ items: [{ id: 1 }], nextId: String(Number(nextId) + 1) })
    const reading = new Set<string | null>()
    expect(await go({ asked: reading })).toMatchObject({ end: 'more' })
    expect(reading.size).toBe(200)
  })

  it('a log without an end is given up after ten thousand pages', async () => {
    const { go, transport } = makeHarness(roomLog, { cursor: 'x', certain: true })
    let page = 0
    transport.answers = () => ({ items: [{ id: 1 }], nextId: `fresh-${page++}` })
    const asked = new Set(Array.from({ length: 9_900 }, (_, i) => `old-${i}`))
    expect(await go({ asked })).toMatchObject({ end: 'looped' })
  })

  it('a room that the provider does not know is gone', async () => {
    const { go, transport, counts } = makeHarness()
    transport.answers = () => ({ kind: 'not_found', text: '', status: 404, code: 20404100 })
    expect(await go()).toMatchObject({ end: 'gone' })
    expect(counts.pages).toEqual(['room-events gone'])
  })

  it('the feed is asked once a sync, so that what it tells is applied before it is asked again', async () => {
    const { go, asked, transport, store } = makeHarness(feed)
    transport.answers = () => ({ items: [{ id: 1, unfinished: true }] })
    expect(await go()).toMatchObject({ end: 'more', fresh: 1, unfinished: true })
    expect(asked()).toHaveLength(1)
    // One that tells a single event twice has told nothing of what waits behind it.
    for (let known = 1; known < 3; known++) expect(await go()).toMatchObject({ end: 'more' })
    expect(await go()).toMatchObject({ end: 'done' })
    expect(store.commits.map(({ caughtUp }) => caughtUp)).toEqual([false, false, false, true])
  })

  it('where a feed stands is read once, and again after each sync that failed', async () => {
    const { go, transport, store } = makeHarness(feed, { version: 4 })
    const reads = () => store.calls.filter(call => call === 'progress').length
    transport.answers = () => ({ items: [] })
    for (let polls = 0; polls < 3; polls++) expect(await go()).toMatchObject({ end: 'done' })
    expect([reads(), store.commits.map(({ version }) => version)]).toEqual([1, [4, 5, 6]])
    store.answerNextCommit({ outcome: 'stale' })
    expect(await go()).toMatchObject({ end: 'busy' })
    expect(await go()).toMatchObject({ end: 'done' })
    expect(reads()).toBe(2)
    store.fail('commit', new StoreUnavailable('57P01'), 1_000)
    await expect(go()).rejects.toThrow(StoreUnavailable)
    store.heal()
    expect(await go()).toMatchObject({ end: 'done' })
    expect([reads(), store.commits.at(-1)!.version]).toEqual([3, 8])
  })

  it('when the engine stops, the page in hand is the last', async () => {
    const { go, asked, transport, controller } = makeHarness()
    transport.answers = ({ nextId }) => {
      if (nextId === 'b') controller.abort()
      return { items: [{ id: 1 }], nextId: nextId === null ? 'b' : 'c' }
    }
    expect(await go()).toMatchObject({ end: 'stopped' })
    expect(asked()).toEqual([null, 'b'])
  })

  it.each(['stale', 'fenced', 'unverified'] as const)('a page that is %s ends the sync', async outcome => {
    const { go, store, transport } = makeHarness()
    transport.answers = () => ({ items: [], nextId: 'b' })
    store.answerNextCommit({ outcome })
    expect(await go()).toMatchObject({ end: outcome === 'stale' ? 'busy' : outcome })
    expect(transport.asked).toHaveLength(1)
  })

  it('bytes that make no page are set aside, and the place is kept', async () => {
    const { go, store, transport, counts } = makeHarness(roomLog, { cursor: 'p7', certain: true })
    const body = new TextEncoder().encode('<html>')
    transport.answers = () => ({ kind: 'malformed', text: 'not JSON', body })
    expect(await go()).toMatchObject({ end: 'failed' })
    expect(store.letters.map(({ reason, body }) => [reason, Buffer.from(body).toString()])).toEqual([
      ['malformed', '<html>'],
    ])
    expect(store.commits).toEqual([])
    expect(counts.letters).toEqual(['room-events malformed 1'])
  })
})

describe('a row that the database refuses', () => {
  /** The store of these tests refuses things with a negative id when it rehearses. */
  it('is set aside, and the rest of its page is stored', async () => {
    const { go, store, transport, counts } = makeHarness()
    transport.answers = () => ({ items: [{ id: 1 }, { id: -2 }, { id: 3 }] })
    store.fail('commit', new RefusedRows('22P05'))
    expect(await go()).toMatchObject({ end: 'done', fresh: 2 })
    const [page] = store.commits
    expect(thingsOf(page!)).toMatchObject([{ id: 1 }, { id: 3 }])
    expect(page!.rejects).toMatchObject([{ reason: 'store_refused', item: { id: -2 } }])
    expect(page!.streamState).toEqual({ read: 3 })
    expect(counts.letters).toEqual(['room-events store_refused 1'])
  })
})

describe('a nextId that cannot be sent', () => {
  it.each([
    ['a log', roomLog],
    ['a list', list],
  ])('ends the reading of %s as one that leads nowhere; what the page tells is stored', async (_, stream) => {
    const { go, asked, store, transport, counts } = makeHarness(stream)
    transport.answers = () => ({ items: [{ id: 1 }], nextId: '\ud800x' })
    expect(await go()).toMatchObject({ end: 'looped', fresh: 1 })
    expect(store.commits).toMatchObject([{ cursor: null, caughtUp: false }])
    expect(counts.pages).toContain(`${stream.name} looped`)
    transport.answers = () => ({ items: [{ id: 1 }, { id: 2 }] })
    expect(await go()).toMatchObject({ end: 'done' })
    expect(asked()).toEqual([null, null])
  })
})

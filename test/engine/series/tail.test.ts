import { describe, expect, it } from 'vitest'
import { RefusedRows } from '../../../src/engine/ports.ts'
import type { Page } from '../../../src/streams/page.ts'
import { popupQuiz } from '../../../src/streams/popup-quiz.ts'
import { roomEvents } from '../../../src/streams/room-events.ts'
import type { LogStream } from '../../../src/streams/stream.ts'
import type { Json } from '../../../src/tables/json.ts'
import { thingsOf } from '../fake-store.ts'
import { quiz, roomLog } from '../fake-streams.ts'
import { makeHarness } from './sync-harness.ts'

const log: LogStream = {
  ...roomLog,
  again: streamState => ({
    ...{ rows: {}, rejects: [], hints: [], streamState, room: { kind: 'current' }, follow: 'next' },
    unfinished: false,
  }),
}

/** What each sync committed of the pages that the provider answers, one after the other. */
async function committed(
  ...answers: readonly { readonly items: readonly object[]; readonly nextId?: string }[]
) {
  const harness = makeHarness(log)
  for (const answer of answers) {
    harness.transport.answers = ({ nextId }) =>
      (nextId === answer.nextId ? { items: [] } : answer) as { items: [] }
    expect(await harness.go()).toMatchObject({ end: 'done' })
  }
  return harness.store.commits.map(page => thingsOf(page).map(({ id }) => id))
}

describe('the last page of a log', () => {
  const page = { items: [{ id: 1, said: 'yes' }, { id: 2 }] }

  it('makes nothing when it is told again in the same words', async () => {
    expect(await committed(page, page, page)).toEqual([[1, 2], [], []])
  })

  it('is stored when a word of it is another', async () => {
    const other = { items: [{ id: 1, said: 'no' }, { id: 2 }] }
    expect(await committed(page, other, page)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ])
  })

  it('is stored when something was appended', async () => {
    expect(await committed(page, { items: [...page.items, { id: 3 }] })).toEqual([
      [1, 2],
      [1, 2, 3],
    ])
  })

  it('is read on when it is the last no more', async () => {
    expect(await committed(page, { ...page, nextId: 'p2' })).toEqual([[1, 2], [1, 2], []])
  })

  it('is tried again where the database refused a value of it', async () => {
    const harness = makeHarness(log)
    harness.transport.answers = () => ({ items: [{ id: 1 }, { id: -2 }] })
    harness.store.fail('commit', new RefusedRows('22008'))
    await harness.go()
    await harness.go()
    expect(harness.store.commits.map(page => thingsOf(page).map(({ id }) => id))).toEqual([[1], [1, -2]])
  })

  it('is stored when someone else moved the series meanwhile', async () => {
    const harness = makeHarness(log)
    harness.transport.answers = () => page
    await harness.go()
    const { version } = (await harness.store.progress('a1', 'room-events', 'algebra'))!
    harness.store.put('room-events', 'algebra', {
      version: version + 1,
      streamState: { read: 2 },
      certain: true,
    })
    await harness.go()
    expect(harness.store.commits.map(page => thingsOf(page).length)).toEqual([2, 2])
  })

  it('vouches for its room, and is the end of the log, however it is told', async () => {
    const harness = makeHarness(log)
    harness.transport.answers = () => page
    await harness.go()
    await harness.go()
    const [first, second] = harness.store.commits
    expect(second).toEqual({ ...first, version: 1, rows: {} })
  })
})

describe('a page of a log that names itself', () => {
  const served = [
    { items: [{ id: 1 }, { id: 2 }], nextId: 'p1' },
    { items: [{ id: 3 }], nextId: 'p2' },
  ]

  async function syncs(...answers: readonly ((nextId: string | null) => object)[]) {
    const harness = makeHarness({ ...quiz, again: log.again!, rewind: () => ({ read: 'anew' }) })
    const ends = []
    for (const answer of answers) {
      harness.transport.answers = ({ nextId }) => answer(nextId) as { items: [] }
      ends.push((await harness.go()).end)
    }
    const stored = harness.store.commits.map(page => thingsOf(page).map(({ id }) => id))
    return { ...harness, ends, stored }
  }
  const itself = () => served[0]!

  it('is stored once, and the log is read from its beginning the next time', async () => {
    const { ends, stored, asked, store } = await syncs(itself, itself)
    expect(ends).toEqual(['looped', 'looped'])
    expect(asked()).toEqual([null, 'p1', null, 'p1'])
    expect(stored).toEqual([[1, 2], [], [1, 2], []])
    expect(store.commits[1]).toMatchObject({ cursor: null, streamState: { read: 'anew' }, caughtUp: false })
  })

  it('is known again though something was appended to it meanwhile, or an item of it was set aside', async () => {
    const grown = (nextId: string | null) =>
      nextId === 'p1' ? { items: [{ id: 1 }, { id: 2 }, { id: 3 }], nextId: 'p1' } : served[0]!
    const { asked, stored } = await syncs(grown, grown)
    expect(asked()).toEqual([null, 'p1', null, 'p1'])
    expect(stored).toEqual([[1, 2], [], [1, 2], []])
    const spoilt = () => ({ items: [{ id: 1 }, 'no item'], nextId: 'p1' })
    expect((await syncs(spoilt, spoilt)).asked()).toEqual([null, 'p1', null, 'p1'])
  })

  it('is followed as soon as it names the next one', async () => {
    const right = (nextId: string | null) => (nextId === 'p2' ? served[1]! : { ...served[0]!, nextId: 'p2' })
    const { asked, stored } = await syncs(itself, nextId =>
      nextId === 'p2' ? { items: [{ id: 3 }] } : right(nextId),
    )
    expect(asked()).toEqual([null, 'p1', null, 'p2'])
    expect(stored).toEqual([[1, 2], [], [1, 2], [3]])
  })

  it('keeps its place where what it tells is not what the page before told', async () => {
    const later = (nextId: string | null) => (nextId === 'p1' ? { ...served[1]!, nextId: 'p1' } : served[0]!)
    const { asked, stored } = await syncs(later, later)
    expect(asked()).toEqual([null, 'p1', 'p1'])
    expect(stored).toEqual([[1, 2], [3], [3]])
  })

  it('is not taken for one of two pages that tell the same', async () => {
    const alike = (nextId: string | null) =>
      nextId === 'p1' ? { items: [{ id: 1 }, { id: 2 }] } : served[0]!
    const { ends, stored } = await syncs(alike)
    expect(ends).toEqual(['done'])
    expect(stored).toEqual([
      [1, 2],
      [1, 2],
    ])
  })
})

const event = (sequence: number) => ({
  roomUuid: 'algebra',
  cmd: 3,
  sequence,
  version: 1,
  data: { message: '?' },
})
const change = (sequence: number) => ({
  sequence,
  changeProperties: { state: 1, extra: { popupQuizId: 'q' } },
})

function pageOf(items: readonly object[], cursor: string | null): Page {
  return {
    ...{ series: 'algebra', cursor, purpose: 'read', items, nextId: undefined },
    ...{ answeredAt: undefined, receivedAt: 1_767_600_000_000, settings: { sequenceScope: 'room' } },
  } as Page
}

describe.each([
  ['a log without holes', roomEvents, [event(1), event(2), event(3)]],
  ['a log with a hole', roomEvents, [event(1), event(2), event(5)]],
  ['a log of which nothing was told', roomEvents, []],
  ['the log of a widget', popupQuiz, [change(1), change(2)]],
] as const)('what is known of %s', (_, stream, items) => {
  it('is what reading it again would tell', () => {
    let minutes = 0
    const read = (streamState: Json) => {
      const receivedAt = 1_767_600_000_000 + minutes++ * 60_000
      return stream.toRows({ ...pageOf(items, null), receivedAt }, streamState)
    }
    let { streamState } = read({})
    while (stream.rereads(streamState) && minutes < 10)
      streamState = read(stream.rewind(streamState)).streamState
    const { rows, ...again } = stream.again!(streamState)
    const { rows: _, ...expected } = read(streamState)
    expect(again).toEqual(expected)
    expect(rows).toEqual({})
  })
})

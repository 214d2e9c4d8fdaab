import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/engine/ports.ts'
import { createFeedGaps, createHeard } from '../../../src/engine/series/feed.ts'
import type { RowSet } from '../../../src/tables/index.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { FakeStore } from '../fake-store.ts'

const second = 1_000
const hour = 3_600 * second

function makeHarness() {
  const clock = new VirtualClock()
  const store = new FakeStore(['room-events'])
  const fence = () => ({ shard: 0, owner: 'me', epoch: 1 })
  const gaps = createFeedGaps({
    ...{ app: 'app', series: '', store, fence, clock, arrivesWithin: 40 * second, memory: 600 * second },
  })
  return { clock, gaps, store, looked: () => store.calls.filter(call => call === 'recordUnread').length }
}

describe('a feed that has more to tell than it is asked for', () => {
  it('is a gap as soon as that lasts longer than the provider remembers', async () => {
    const { clock, gaps, looked } = makeHarness()
    await clock.advance(second)
    await gaps.review()
    gaps.heard('all')
    const before = looked()
    await clock.advance(600 * second)
    gaps.heard('a part')
    await gaps.review()
    expect(looked() - before).toBe(0)
    await clock.advance(second)
    gaps.heard('a part')
    await gaps.review()
    expect(looked() - before).toBe(1)
  })
})

it('that an answer may be missing is told though the database went away right after it was set down', async () => {
  const { clock, gaps, store } = makeHarness()
  store.openGaps = 1
  await clock.advance(second)
  await gaps.review()
  await clock.advance(50 * second)
  await gaps.review()
  gaps.suspect()
  store.unread = 1
  store.fail('settleFeedGaps', new StoreUnavailable('57P01'))
  await expect(gaps.review()).rejects.toThrow(StoreUnavailable)
  expect(await gaps.review()).toBe('missed')
  expect(await gaps.review()).toBe('nothing new')
})

describe('a feed that nobody asked for longer than the provider remembers', () => {
  it.each([
    ['because the process stood still or waited for the database', 0, 601 * second],
    ['because the machine slept', 601 * second, 0],
  ])('is looked at before it is asked again, %s', async (_, slept, passed) => {
    const { clock, gaps, looked } = makeHarness()
    await clock.advance(second)
    await gaps.review()
    gaps.heard('all')
    const before = looked()
    clock.jump(slept)
    await clock.advance(passed)
    await gaps.review()
    expect(looked() - before).toBe(1)
  })

  it('is not, however long, where it is asked and tells all: but once in that time, for who asks by hand', async () => {
    const { clock, gaps, looked } = makeHarness()
    await clock.advance(second)
    await gaps.review()
    const before = looked()
    for (let n = 0; n < 200; n++) {
      await clock.advance(9 * second)
      await gaps.review()
      gaps.heard('all')
    }
    expect(looked() - before).toBeLessThanOrEqual(2 * 6)
    expect(looked() - before).toBeGreaterThanOrEqual(2)
  })
})

describe('an answer of the feed that nobody settled', () => {
  it('is looked for until its request can no longer arrive, and then no more', async () => {
    const { clock, gaps, looked } = makeHarness()
    await clock.advance(second)
    await gaps.review()
    const before = looked()
    gaps.suspect()
    for (let polls = 0; polls < 4; polls++) {
      await clock.advance(10 * second)
      await gaps.review()
    }
    expect(looked() - before).toBe(4)
    await clock.advance(second)
    await gaps.review()
    expect(looked() - before).toBe(5)
    await clock.advance(10 * second)
    await gaps.review()
    expect(looked() - before).toBe(5)
  })

  it('has the logs read by whoever takes the app over as well, once it can no longer arrive', async () => {
    const { clock, gaps, store } = makeHarness()
    store.openGaps = 1
    expect(await gaps.review()).toBe('nothing new')
    await clock.advance(39 * second)
    expect(await gaps.review()).toBe('nothing new')
    await clock.advance(second)
    expect(await gaps.review()).toBe('missed')
    await clock.advance(10 * second)
    expect(await gaps.review()).toBe('nothing new')
  })

  it('has them read no more where nothing is missing any longer', async () => {
    const { clock, gaps } = makeHarness()
    await gaps.review()
    await clock.advance(40 * second)
    expect(await gaps.review()).toBe('nothing new')
  })
})

describe('whether a feed may have more to tell', () => {
  /** How often in a row it is asked at once, told these answers one after another. */
  const asked = (...answers: readonly (readonly string[])[]) => {
    const heard = createHeard(new VirtualClock(), hour)
    const end = answers.findIndex(told => !heard.isNews(told))
    return end === -1 ? answers.length : end + 1
  }

  it('one that tells an event at a time, each of them twice, is asked until it has told all', () => {
    expect(asked(['a'], ['a'], ['b'], ['b'], ['c'], ['c'], [])).toBe(7)
  })

  it('one that tells an event at a time, and the last again and again, is left alone soon', () => {
    expect(asked(['a'], ['a'], ['a'], ['a'], ['a'], ['a'], ['a'], ['a'])).toBeLessThan(6)
  })

  it('one that tells all of the last seconds each time is asked no more once it tells nothing new', () => {
    expect(asked(['a', 'b', 'c'], ['a', 'b', 'c'], ['a', 'b', 'c'])).toBe(2)
  })

  it('is not told by what it told longer ago than the provider remembers: nothing of that is kept', async () => {
    const clock = new VirtualClock()
    const heard = createHeard(clock, hour)
    const isNewsAfter = async (ms: number) => {
      await clock.advance(ms)
      return heard.isNews(['a', 'b'])
    }
    expect([await isNewsAfter(0), await isNewsAfter(0.7 * hour), await isNewsAfter(0.7 * hour)]).toEqual([
      ...[true, false, false],
    ])
    expect([await isNewsAfter(1.1 * hour), await isNewsAfter(second)]).toEqual([true, false])
  })
})

describe('an answer of a feed', () => {
  const event = (room_uuid: string, sequence: number, data: unknown = { message: 'hello' }) => ({
    ...{ room_uuid, sequence, cmd: 3, version: 1, data, event_time: null, at: '2026-01-01T00:00:00Z' },
    ...{ at_source: 'provider', received_at: '2026-01-01T00:00:00Z', extra: null },
  })
  const rowsOf = (...events: readonly ReturnType<typeof event>[]) =>
    ({
      'classroom.room': [...new Set(events.map(({ room_uuid }) => room_uuid))].map(room_uuid => ({
        room_uuid,
      })),
      'classroom.room_event': events,
      'classroom.chat_message': events.map(({ room_uuid, sequence }) => ({ room_uuid, sequence })),
    }) as unknown as RowSet
  const told = (rows: RowSet) => {
    const names = (table: keyof RowSet) =>
      (rows[table] ?? []).map(row => Object.values(row).slice(0, 2).join(' ').trim())
    const [rooms, events, messages] = [
      names('classroom.room'),
      names('classroom.room_event'),
      names('classroom.chat_message'),
    ]
    expect(messages).toEqual(events)
    return { rooms, events }
  }
  /** Has an answer stored; `isKnown`: that it was. */
  const store = (heard: ReturnType<typeof createHeard>, rows: RowSet, isKnown = true) => {
    const answer = heard.answer()
    const left = answer.unstored(rows)
    const stored = answer.storing()
    if (isKnown) stored()
    return told(left)
  }

  it('leaves out what the one before told in the same words', () => {
    const heard = createHeard(new VirtualClock(), hour)
    expect(store(heard, rowsOf(event('maths', 1), event('art', 1)))).toEqual({
      rooms: ['maths', 'art'],
      events: ['maths 1', 'art 1'],
    })
    expect(store(heard, rowsOf(event('maths', 1), event('art', 1), event('art', 2)))).toEqual({
      rooms: ['art'],
      events: ['art 2'],
    })
    expect(store(heard, rowsOf(event('art', 1), event('art', 2)))).toEqual({ rooms: [], events: [] })
    // Not of the answer before, but of one before that.
    expect(store(heard, rowsOf(event('maths', 1)))).toEqual({ rooms: ['maths'], events: ['maths 1'] })
  })

  it('says of a room what the rest of its events say', () => {
    const ended = { ...event('maths', 5, { state: 2 }), cmd: 1, at: '2026-01-01T00:00:05.000Z' }
    const change = { room_uuid: 'maths', sequence: 5, at: ended.at, state: 2, started_at: null, extra: null }
    const room = {
      room_uuid: 'maths',
      state: 2,
      state_sequence: 5,
      started_at: null,
      ended_at: ended.at,
      ended_by: null,
      late_ends: null,
    }
    const rowsUpTo = (...later: readonly ReturnType<typeof event>[]) =>
      ({
        ...rowsOf(ended, ...later),
        'classroom.room': [
          { ...room, first_event_at: ended.at, last_event_at: later.at(-1)?.at ?? ended.at },
        ],
        'classroom.room_state_change': [change],
      }) as unknown as RowSet
    const heard = createHeard(new VirtualClock(), hour)
    store(heard, rowsUpTo())
    const later = { ...event('maths', 6), at: '2026-01-01T00:00:06.000Z' }
    expect(heard.answer().unstored(rowsUpTo(later))['classroom.room']).toEqual([
      {
        ...{
          room_uuid: 'maths',
          state: null,
          state_sequence: null,
          started_at: null,
          ended_at: null,
          ended_by: null,
          late_ends: null,
        },
        ...{ first_event_at: later.at, last_event_at: later.at },
      },
    ])
  })

  it('tells what came in other words', () => {
    const heard = createHeard(new VirtualClock(), hour)
    store(heard, rowsOf(event('maths', 1)))
    const others = [event('maths', 1, { message: 'goodbye' }), { ...event('maths', 1), cmd: 4 }]
    for (const other of others) expect(store(heard, rowsOf(other)).events).toEqual(['maths 1'])
  })

  it('tells all again where nobody knows whether the one before was stored', () => {
    const heard = createHeard(new VirtualClock(), hour)
    store(heard, rowsOf(event('maths', 1)))
    expect(store(heard, rowsOf(event('maths', 1), event('maths', 2)), false).events).toEqual(['maths 2'])
    expect(store(heard, rowsOf(event('maths', 1), event('maths', 2))).events).toEqual(['maths 1', 'maths 2'])
  })

  it('leaves it out after a request that failed', () => {
    const heard = createHeard(new VirtualClock(), hour)
    store(heard, rowsOf(event('maths', 1)))
    heard.answer()
    expect(store(heard, rowsOf(event('maths', 1))).events).toEqual([])
  })

  it('tells what cannot be compared', () => {
    const heard = createHeard(new VirtualClock(), hour)
    const strange = event('maths', 1, { size: 2n ** 60n })
    store(heard, rowsOf(strange))
    expect(store(heard, rowsOf(strange)).events).toEqual(['maths 1'])
  })
})

import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/engine/ports.ts'
import type { FailureKind } from '../../../src/provider/errors.ts'
import { feed, list, quiz, roomLog, stateNews } from '../fake-streams.ts'
import { cadence, hour, minute, second } from '../harness.ts'

import { startApp } from '../start-app.ts'

describe('faults', () => {
  it('while the database is away nothing is asked, and afterwards all goes on', async () => {
    const { clock, transport, store, health, outages, poller, stop } = startApp(['algebra', 'physics'])
    await clock.advance(15 * second)
    store.fail('progress', new StoreUnavailable('57P01'), 1_000)
    store.fail('settleFeedGaps', new StoreUnavailable('57P01'), 1_000)
    await clock.advance(10 * second)
    const before = transport.asked.length
    await clock.advance(10 * minute)
    expect(transport.asked).toHaveLength(before)
    expect(outages).toEqual(['down'])
    store.heal()
    health.answered()
    poller.wake()
    await clock.advance(second)
    expect(transport.asked.length).toBeGreaterThan(before)
    expect(health.state()).toBe('up')
    await stop()
  })

  it('a database that answers but takes nothing is tried by one sync of each stream', async () => {
    const rooms = Array.from({ length: 20 }, (_, i) => `room-${i}`)
    const { clock, transport, store, health, poller, stop } = startApp(rooms, [roomLog])
    await clock.advance(9 * second)
    store.fail('commit', new StoreUnavailable('53100'), 1_000)
    // Pages in hand are given up after a minute.
    await clock.advance(80 * second)
    const before = transport.asked.length
    health.answered()
    poller.wake()
    await clock.advance(second)
    expect(transport.asked).toHaveLength(before + 1)
    expect(health.state()).toBe('down')
    await stop()
  })

  it('what one page told is followed up though the next could not be stored while the database was away', async () => {
    const announced = { ...list, isAnnounced: true } as const
    const { clock, transport, store, health, poller, stop } = startApp(['algebra'], [roomLog, announced])
    await clock.advance(30 * minute)
    const hint = { room: 'algebra', change: 'news', at: clock.now(), streams: ['recordings'] } as const
    transport.answers = ({ operation, nextId }) => {
      if (operation !== 'roomEvents') return { items: [] }
      if (nextId === null) return { items: [{ id: 1, hint }], nextId: 'n1' }
      if (store.commits.at(-1)?.cursor === 'n1') store.fail('commit', new StoreUnavailable('57P01'), 1_000)
      return { items: [{ id: 2 }] }
    }
    // Pages in hand are given up after a minute.
    await clock.advance(100 * second)
    expect(health.state()).toBe('down')
    const before = transport.of('recordings').length
    store.heal()
    health.answered()
    poller.wake()
    await clock.advance(minute)
    expect(transport.of('recordings').length).toBeGreaterThan(before)
    await stop()
  })

  it.each([
    ['the feed', feed, { room: 'algebra', streams: ['room-events'] }, 'algebra roomEvents'],
    ['a log', roomLog, { room: 'physics', streams: ['recordings'] }, 'physics recordings'],
  ] as const)(
    'what %s told is followed up though nobody heard that it was stored',
    async (_, of, told, asked) => {
      const announced = { ...list, isAnnounced: true } as const
      const { clock, transport, store, health, poller, stop } = startApp(
        ['physics'],
        [feed, roomLog, announced],
      )
      await clock.advance(30 * minute + 10 * second)
      const before = transport.asked.length
      const commit = store.commit.bind(store)
      const hint = { ...told, change: 'news', at: clock.now() } as const
      transport.answers = ({ operation, room }) =>
        operation === of.operation.name && room !== 'algebra' && !store.stored.has(`${of.name} ${room} 1`)
          ? { items: [{ id: 1, hint }] }
          : { items: [] }
      store.commit = async page => {
        const result = await commit(page)
        if (page.stream !== of.name) return result
        store.commit = commit
        throw new StoreUnavailable(undefined)
      }
      for (let n = 0; n < 5; n++) {
        await clock.advance(minute)
        health.answered()
        poller.wake()
      }
      const since = transport.asked.slice(before).map(({ room, operation }) => `${room} ${operation}`)
      expect(since).toContain(asked)
      await stop()
    },
  )

  describe('a nextId that fails each time is at fault itself, and the log is read from its beginning', () => {
    /** What is asked of a log whose third page fails so, until it is begun anew; of the other room all is served. */
    async function askedUntilAnew(kind: FailureKind, rooms: readonly string[]) {
      const { clock, transport, stop } = startApp(rooms, [roomLog])
      transport.answers = ({ room, nextId }) => {
        if (room !== 'algebra') return { items: [] }
        if (nextId === null) return { items: [{ id: 1 }], nextId: 'b' }
        return nextId === 'b' ? { items: [{ id: 2 }], nextId: 'c' } : kind
      }
      for (let n = 0; n < 60; n++) await clock.advance(minute)
      await stop()
      const asked = transport.asked.filter(({ room }) => room === 'algebra').map(({ nextId }) => nextId)
      const again = asked.indexOf('b', 2)
      return again < 0 ? asked : asked.slice(0, again + 1)
    }

    it.each(['malformed', 'unexpected_status'] as const)('with %s after three times', async kind => {
      expect(await askedUntilAnew(kind, ['algebra'])).toEqual([null, 'b', 'c', 'c', 'c', null, 'b'])
    })

    it.each(['server_error', 'timeout', 'network'] as const)(
      'with %s too, where others are read',
      async kind => {
        expect(await askedUntilAnew(kind, ['algebra', 'physics'])).toEqual([
          null,
          'b',
          'c',
          'c',
          'c',
          null,
          'b',
        ])
      },
    )

    it('and where there are no others after some more', async () => {
      const asked = await askedUntilAnew('server_error', ['algebra'])
      expect(asked).toEqual([null, 'b', ...Array(12).fill('c'), null, 'b'])
    })
  })

  it('a stream that throws stops no other', async () => {
    const broken = {
      ...quiz,
      toRows: () => {
        throw new TypeError('a bug')
      },
    }
    const { clock, transport, said, store, stop } = startApp(['algebra'], [feed, roomLog, broken])
    await clock.advance(5 * minute)
    expect(said).toContain('a sync failed by a fault of this program; it is tried again')
    expect(transport.of('popupQuiz').length).toBeGreaterThan(2)
    expect(transport.of('popupQuiz').length).toBeLessThan(10)
    expect(store.commits.filter(({ stream }) => stream === 'app-events').length).toBeGreaterThan(25)
    await stop()
  })

  it.each([
    ['that a classroom is not there', { kind: 'not_found', text: '', status: 404, code: 20404100 }],
    ['that something else is not there', { kind: 'not_found', text: '', status: 404, code: 20404200 }],
    ['that nothing is there', { kind: 'not_found', text: '', status: 404 }],
    ['what nobody understands', { kind: 'malformed', text: '' }],
  ] as const)('a feed that answers %s is asked again in seconds, then each minute', async (_, failure) => {
    const { clock, transport, said, stop } = startApp([], [feed])
    let isBroken = true
    transport.answers = () => (isBroken ? failure : { items: [] })
    await clock.advance(20 * minute)
    const asked = transport.asked.map(({ at }) => at)
    const pauses = asked.slice(1).map((at, index) => at - asked[index]!)
    expect(pauses[0]).toBeLessThan(5 * second)
    expect(pauses.slice(0, 4)).toEqual(pauses.slice(0, 4).toSorted((a, b) => a - b))
    expect(Math.max(...pauses)).toBeLessThanOrEqual(minute)
    expect(asked.length).toBeLessThan(40)
    expect(said.filter(line => line === 'a page could not be read')).toHaveLength(asked.length)
    isBroken = false
    await clock.advance(3 * minute)
    expect(transport.asked.length).toBeGreaterThan(asked.length + 10)
    await stop()
  })

  it('a stream that hangs holds only its own schedule', async () => {
    const rooms = ['a', 'b', 'c', 'd', 'e']
    const { clock, transport, controller } = startApp(rooms)
    transport.answers = ({ operation }) => (operation === 'popupQuiz' ? new Promise(() => {}) : { items: [] })
    await clock.advance(20 * minute)
    expect(transport.of('popupQuiz')).toHaveLength(2)
    for (const room of rooms) {
      expect(transport.of('roomEvents').filter(each => each.room === room).length).toBeGreaterThan(4)
    }
    expect(transport.of('appEvents').length).toBeGreaterThan(100)
    controller.abort()
  })

  it('a log of which pages fail now and then is read on, page by page, as if the last one had been well', async () => {
    const doubted = { ...roomLog, rereads: () => true }
    const { clock, transport, stop } = startApp(['algebra'], [doubted])
    transport.answers = ({ nextId }) => {
      const page = Number(nextId)
      if (transport.asked.length % 10 === 0) return { kind: 'malformed', text: '' }
      return page < 100 ? { items: [{ id: page }], nextId: String(page + 1) } : { items: [{ id: page }] }
    }
    await clock.advance(2 * minute)
    const pages = transport.asked.map(({ nextId }) => Number(nextId))
    expect(pages.slice(0, pages.indexOf(100) + 1).filter((page, n) => page !== pages[n - 1])).toEqual(
      Array.from({ length: 101 }, (_, page) => page),
    )
    await stop()
  })

  it('a room that is muted for long is asked again while the provider remembers it', async () => {
    const { clock, transport, stop } = startApp(['algebra'], [roomLog])
    transport.answers = () => ({ kind: 'conflict', text: 'muted', status: 403, code: 30403200 })
    await clock.advance(8 * hour)
    const asked = transport.asked.map(({ at }) => at)
    const pauses = asked.slice(1).map((at, index) => at - asked[index]!)
    expect(Math.max(...pauses)).toBeLessThan(cadence.memory / 4)
    expect(asked.length).toBeLessThan(50)
    await stop()
  })

  it('a log with a page that is never read is begun anew now and then, at growing pauses', async () => {
    const doubted = { ...roomLog, rereads: () => true }
    const { clock, transport, stop } = startApp(['algebra'], [doubted])
    transport.answers = ({ nextId }) => {
      const page = Number(nextId)
      return page < 3 ? { items: [{ id: page }], nextId: String(page + 1) } : 'malformed'
    }
    await clock.advance(hour)
    const pages = transport.asked.map(({ nextId }) => Number(nextId))
    expect(pages.slice(0, 10)).toEqual([0, 1, 2, 3, 3, 3, 0, 1, 2, 3])
    expect(pages.filter(page => page === 3).length).toBeLessThan(20)
    await stop()
  })

  it('a shard that was lost is said once a sync, and asked no more for a while', async () => {
    const { clock, transport, store, fenced, stop } = startApp(['algebra'], [roomLog])
    store.answerNextCommit({ outcome: 'fenced' })
    await clock.advance(2 * second)
    expect(fenced).toEqual(['fenced'])
    expect(transport.asked).toHaveLength(1)
    await clock.advance(2 * second)
    expect(transport.asked).toHaveLength(2)
    await stop()
  })

  it('after stopping, pages in hand are finished and nothing new is asked', async () => {
    const { clock, transport, store, controller, poller } = startApp([], [feed])
    const held = Promise.withResolvers<{ items: readonly { id: number }[] }>()
    transport.answers = () => held.promise
    await clock.advance(second)
    controller.abort()
    await clock.advance(second)
    held.resolve({ items: [{ id: 7 }] })
    await clock.advance(0)
    await poller.done
    expect(store.stored).toEqual(new Set(['app-events  7']))
    expect(transport.asked).toHaveLength(1)
  })

  it('an answer of the feed that was not stored, as its place had moved, is looked for among the gaps', async () => {
    const { clock, store, stop } = startApp([])
    const looked = () => store.calls.filter(call => call === 'recordUnread').length
    await clock.advance(5 * minute)
    const before = looked()
    await clock.advance(5 * minute)
    expect(looked()).toBe(before)
    store.answerNextCommit({ outcome: 'stale' })
    await clock.advance(minute)
    expect(looked()).toBeGreaterThan(before)
    await stop()
  })

  const methods = [
    'openSeries',
    'discoverRooms',
    'progress',
    'commit',
    'closeSeries',
    'recordUnread',
    'settleFeedGaps',
    'deadLetter',
  ] as const
  const errors = {
    'the database goes away': new StoreUnavailable('57P01'),
    'a bug shows': new TypeError('a bug'),
  }

  it.each(
    methods.flatMap(method => Object.entries(errors).map(([what, error]) => ({ method, what, error }))),
  )('when $what in $method, every event is stored in the end', async ({ method, error }) => {
    const { clock, transport, store, health, poller, stop } = startApp(['algebra'])
    store.fail(method, error)
    let isSpoilt = true
    transport.answers = ({ operation, nextId }) => {
      if (operation === 'popupQuiz' && isSpoilt) {
        isSpoilt = false
        return { kind: 'malformed', text: 'no JSON', body: new Uint8Array([1]) }
      }
      if (operation === 'appEvents')
        return { items: [{ id: 1, hint: stateNews('algebra', 9, clock.now() - 50 * minute) }] }
      return nextId === null ? { items: [{ id: 1 }, { id: 2 }], nextId: 'p2' } : { items: [{ id: 3 }] }
    }
    for (let i = 0; i < 40; i++) {
      health.answered()
      poller.wake()
      await clock.advance(30 * second)
    }
    expect(store.calls).toContain(method)
    const all = ['room-events algebra', 'popup-quiz algebra'].flatMap(series =>
      [1, 2, 3].map(id => `${series} ${id}`),
    )
    expect(store.stored).toEqual(new Set([...all, 'app-events  1']))
    await stop()
  })
})

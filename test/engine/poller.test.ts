import { describe, expect, it } from 'vitest'
import { createAdmission } from '../../src/engine/admission.ts'
import { createStoreHealth } from '../../src/engine/health.ts'
import { startPoller } from '../../src/engine/poller.ts'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { feed, news, quiz, roomLog } from './fake-streams.ts'
import { appOf, createRig, fence, hour, minute, second, settingsOf } from './rig.ts'

const everything = [feed, roomLog, quiz]

function startApp(
  rooms: readonly string[] = [],
  streams: readonly (typeof everything)[number][] = everything,
) {
  const rig = createRig(['room-events', 'popup-quiz'])
  const app = appOf(
    'a1',
    streams.map(({ name }) => name),
    rooms,
  )
  const settings = settingsOf([app])
  const controller = new AbortController()
  const outages: string[] = []
  const fenced: string[] = []
  const health = createStoreHealth(rig.log, () => outages.push('down'))
  const poller = startPoller({
    ...rig,
    app,
    settings,
    streams,
    health,
    admission: createAdmission(rig, settings.deadline),
    fence: () => fence,
    signal: controller.signal,
    onFenced: () => fenced.push('fenced'),
  })
  const stop = async () => {
    controller.abort()
    await rig.clock.advance(0)
    await poller.done
  }
  return { ...rig, poller, health, outages, fenced, controller, stop }
}

describe('what is visited when', () => {
  it('a hint of the feed makes an unknown room visited at once', async () => {
    const { clock, transport, stop } = startApp()
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at > 30 * second
        ? { items: [{ id: at, hint: news('algebra', 'news', clock.now()) }] }
        : { items: [] }
    await clock.advance(39 * second)
    expect(transport.of('roomEvents')).toEqual([])
    await clock.advance(2 * second)
    expect(transport.of('roomEvents').map(({ room }) => room)).toEqual(['algebra'])
    await stop()
  })

  it('a full answer of the feed is followed by another question until nothing is new', async () => {
    const { clock, transport, stop } = startApp([], [feed])
    let id = 0
    transport.answers = () => ({ items: [{ id: Math.min(id++, 3), unfinished: true }] })
    await clock.advance(0)
    expect(transport.of('appEvents')).toHaveLength(5)
    await stop()
  })

  it('the other streams of a room wait until its log has been read', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    const log = Promise.withResolvers<{ items: [] }>()
    transport.answers = ({ operation }) => (operation === 'roomEvents' ? log.promise : { items: [] })
    await clock.advance(5 * second)
    expect(transport.of('popupQuiz')).toEqual([])
    log.resolve({ items: [] })
    await clock.advance(1 * second)
    expect(transport.of('popupQuiz')).toHaveLength(1)
    await stop()
  })

  it('a room of which nothing is heard is visited ever more seldom', async () => {
    const { clock, transport, stop } = startApp(['algebra'], [roomLog])
    await clock.advance(hour)
    const gaps = transport.asked
      .slice(1)
      .map(({ at }, i) => Math.round((at - transport.asked[i]!.at) / second))
    expect(gaps).toEqual([20, 40, 80, 160, 320, 600, 600, 600, 600])
    await stop()
  })

  it('news heard during a visit cause another visit', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    const log = Promise.withResolvers<{ items: [] }>()
    transport.answers = ({ operation, at }) => {
      if (operation === 'roomEvents' && at < second) return log.promise
      if (operation === 'appEvents' && at > 9 * second && at < 15 * second)
        return { items: [{ id: at, hint: news('algebra', 'hole', clock.now()) }] }
      return { items: [] }
    }
    await clock.advance(12 * second)
    expect(transport.of('roomEvents')).toHaveLength(1)
    log.resolve({ items: [] })
    await clock.advance(second)
    expect(transport.of('roomEvents')).toHaveLength(2)
    await stop()
  })

  it('an ended room is visited once more before the provider forgets it, and then no more', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'], [feed, roomLog, quiz])
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at === 0
        ? { items: [{ id: 1, hint: news('algebra', 'ended', clock.now()) }] }
        : { items: [] }
    await clock.advance(53 * minute)
    expect(store.isClosed('room-events', 'algebra')).toBe(false)
    await clock.advance(20 * minute)
    expect(store.isClosed('room-events', 'algebra')).toBe(true)
    expect(store.isClosed('popup-quiz', 'algebra')).toBe(true)
    const before = transport.of('roomEvents').length
    await clock.advance(3 * hour)
    expect(transport.of('roomEvents')).toHaveLength(before)
    await stop()
  })

  it('a room that the provider does not know any more is forgotten with all its streams', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    let isGone = false
    transport.answers = ({ room }) =>
      room && isGone ? { kind: 'not_found', text: 'gone', status: 404, code: 20404100 } : { items: [] }
    await clock.advance(second)
    isGone = true
    await clock.advance(hour)
    expect(store.forgotten).toEqual(['algebra'])
    const before = transport.asked.filter(({ room }) => room).length
    await clock.advance(3 * hour)
    expect(transport.asked.filter(({ room }) => room)).toHaveLength(before)
    await stop()
  })

  it('when the log of a room cannot be read any more, the other streams stop before they mix up two rooms', async () => {
    const { clock, transport, controller } = startApp(['algebra'])
    transport.answers = ({ operation, at }) =>
      operation === 'roomEvents' && at > second ? new Promise(() => {}) : { items: [] }
    await clock.advance(4 * hour)
    const last = transport.of('popupQuiz').at(-1)
    expect(last?.at).toBeGreaterThan(30 * minute)
    expect(last?.at).toBeLessThan(hour)
    controller.abort()
  })

  it.each([
    { isDoubtedAlways: false, asked: 2 },
    { isDoubtedAlways: true, asked: 3 },
  ])(
    'a page that the store does not trust waits for the log, which is read at once ($asked)',
    async ({ isDoubtedAlways, asked }) => {
      const { clock, transport, store, stop } = startApp(['algebra'])
      await clock.advance(25 * second)
      let isDoubted = true
      transport.answers = ({ operation, at }) => {
        if (operation === 'popupQuiz' && isDoubted) {
          isDoubted = isDoubtedAlways
          store.answerNextCommit({ outcome: 'unverified' })
        }
        if (operation === 'appEvents' && at < 35 * second)
          return { items: [{ id: 1, hint: { ...news('algebra', 'news', clock.now()), streams: [] } }] }
        return { items: [] }
      }
      const quizzes = transport.of('popupQuiz').length
      const logs = transport.of('roomEvents').length
      await clock.advance(29 * second)
      expect(transport.of('popupQuiz')).toHaveLength(quizzes + asked)
      expect(transport.of('roomEvents')).toHaveLength(logs + asked - 1)
      await stop()
    },
  )

  it('an answer of the feed that nobody stored has all logs read again', async () => {
    const { clock, transport, store, stop } = startApp(['algebra', 'physics'])
    await clock.advance(5 * minute)
    store.unread = 1
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at < 5 * minute + 15 * second ? 'server_error' : { items: [] }
    const before = transport.of('roomEvents').length
    await clock.advance(25 * second)
    const rooms = transport
      .of('roomEvents')
      .slice(before)
      .map(({ room }) => room)
    expect(new Set(rooms)).toEqual(new Set(['algebra', 'physics']))
    await stop()
  })

  it('the logs are read once more when an answer that was given up can no longer be made', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    await clock.advance(4.5 * hour)
    store.unread = 1
    store.openGaps = 1
    const failedAt = clock.monotonic()
    transport.answers = ({ operation }) =>
      operation === 'appEvents' && clock.monotonic() < failedAt + 15 * second ? 'server_error' : { items: [] }
    const asked = transport.of('roomEvents').length
    await clock.advance(2 * minute)
    const after = transport.of('roomEvents').slice(asked)
    expect(after.some(({ at }) => at < failedAt + 40 * second)).toBe(true)
    expect(after.filter(({ at }) => at >= failedAt + 50 * second)).toHaveLength(1)
    await stop()
  })

  it('ten thousand idle rooms are each looked at, and cost little more than one look an interval', async () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `room-${i}`)
    const { clock, transport, stop } = startApp(names, [roomLog])
    await clock.advance(2 * minute)
    expect(new Set(transport.asked.map(({ room }) => room)).size).toBe(10_000)
    const before = transport.asked.length
    await stop()
    expect(before).toBeLessThan(30_000)
  })
})

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

  it('a database that answers but takes nothing is tried by one visit of each stream', async () => {
    const rooms = Array.from({ length: 20 }, (_, i) => `room-${i}`)
    const { clock, transport, store, health, poller, stop } = startApp(rooms, [roomLog])
    await clock.advance(9 * second)
    store.fail('commit', new StoreUnavailable('53100'), 1_000)
    await clock.advance(30 * second)
    const before = transport.asked.length
    health.answered()
    poller.wake()
    await clock.advance(second)
    expect(transport.asked).toHaveLength(before + 1)
    expect(health.state()).toBe('down')
    await stop()
  })

  it('a stream that throws stops no other', async () => {
    const broken = {
      ...quiz,
      harvest: () => {
        throw new TypeError('a bug')
      },
    }
    const { clock, transport, said, store, stop } = startApp(['algebra'], [feed, roomLog, broken])
    await clock.advance(5 * minute)
    expect(said).toContain('a visit failed by a fault of this program; it is tried again')
    expect(transport.of('popupQuiz').length).toBeGreaterThan(2)
    expect(transport.of('popupQuiz').length).toBeLessThan(10)
    expect(store.commits.filter(({ stream }) => stream === 'app-events').length).toBeGreaterThan(25)
    await stop()
  })

  it('a stream that hangs holds only its own lane', async () => {
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

  it('a shard that was lost is said once a visit, and asked no more for a while', async () => {
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

  const methods = [
    'openSeries',
    'discoverRooms',
    'progress',
    'commit',
    'closeSeries',
    'recordUnread',
    'settleFeedGaps',
    'setAside',
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
        return { items: [{ id: 1, hint: news('algebra', 'ended', clock.now() - 50 * minute) }] }
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

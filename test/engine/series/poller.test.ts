import { describe, expect, it } from 'vitest'
import { recordings } from '../../../src/provider/classroom/index.ts'
import type { LogStream } from '../../../src/streams/stream.ts'
import { feed, news, quiz, roomLog, stateNews } from '../fake-streams.ts'
import { hour, minute, second } from '../harness.ts'

import { startApp } from '../start-app.ts'

describe('what is synced when', () => {
  it('a hint of the feed makes an unknown room synced at once', async () => {
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

  it('a list that was never read is due as soon as the log of its room tells of news', async () => {
    const list: LogStream = { ...quiz, name: 'recordings', operation: recordings }
    const { clock, transport, stop } = startApp([], [feed, roomLog, list])
    transport.answers = ({ operation }) => {
      const streams = operation === 'appEvents' ? (['room-events'] as const) : (['recordings'] as const)
      const hint = { ...news('algebra', 'news', clock.now()), streams }
      return { items: operation === 'recordings' ? [] : [{ id: 1, hint }] }
    }
    await clock.advance(second)
    expect(transport.of('recordings')).toHaveLength(1)
    await clock.advance(8 * second)
    expect(transport.of('recordings')).toHaveLength(1)
    await stop()
  })

  it('what is due is told anew within a second, also where nothing happens afterwards', async () => {
    const { clock, counts, transport, stop } = startApp(
      Array.from({ length: 30 }, (_, n) => `r${n}`),
      [roomLog],
    )
    transport.answers = () => clock.sleep(100).then(() => ({ items: [] }))
    await clock.advance(1.2 * second)
    expect(counts.due.get('room-events')).toBeGreaterThan(0)
    await clock.advance(2 * second)
    expect(transport.of('roomEvents')).toHaveLength(30)
    expect(counts.due.get('room-events')).toBe(0)
    await stop()
  })

  it('a room of which nothing is heard is synced ever more seldom', async () => {
    const { clock, transport, stop } = startApp(['algebra'], [roomLog])
    await clock.advance(hour)
    const gaps = transport.asked
      .slice(1)
      .map(({ at }, i) => Math.round((at - transport.asked[i]!.at) / second))
    expect(gaps).toEqual([20, 40, 80, 160, 320, 600, 600, 600, 600])
    await stop()
  })

  it.each([
    ['just now is asked again soon', 0, 10 * second],
    ['minutes ago is asked again as late as after minutes of silence', 170 * second, 160 * second],
  ])('a room that is met now and in which something happened last %s', async (_, ago, every) => {
    const { clock, transport, stop } = startApp(['algebra'])
    const at = clock.now() - ago
    transport.answers = ({ operation }) => {
      if (operation === 'appEvents') return { items: [] }
      return { items: [{ id: 1, ...(operation === 'roomEvents' && { hint: news('algebra', 'news', at) }) }] }
    }
    await clock.advance(0.9 * every)
    expect(transport.of('roomEvents')).toHaveLength(1)
    expect(transport.of('popupQuiz')).toHaveLength(1)
    await clock.advance(0.2 * every)
    expect(transport.of('roomEvents')).toHaveLength(2)
    expect(transport.of('popupQuiz')).toHaveLength(2)
    await stop()
  })

  it('news heard during a sync cause another sync', async () => {
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

  it('a feed that tells of holes all the time has the log read at once ever more seldom', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at > minute
        ? { items: [{ id: at, hint: news('algebra', 'hole', clock.now()) }] }
        : { items: [] }
    await clock.advance(11 * minute)
    const asked = transport.of('roomEvents').map(({ at }) => at)
    const again = asked.filter((at, n) => n > 0 && at - asked[n - 1]! < 8 * second)
    expect(again.length).toBeLessThanOrEqual(7)
    // As often as in any class that is on.
    expect(asked.length).toBeGreaterThan(55)
    expect(asked.length).toBeLessThan(80)
    await stop()
  })

  it('a hole has the log read at once also where another one was told of a while ago', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    const told: number[] = []
    transport.answers = ({ operation, at }) => {
      if (operation !== 'appEvents' || at < ((told.at(-1) ?? 0) + 2) * minute) return { items: [] }
      told.push(at / minute)
      return { items: [{ id: at, hint: news('algebra', 'hole', clock.now()) }] }
    }
    await clock.advance(15 * minute)
    const asked = transport.of('roomEvents').map(({ at }) => at / minute)
    expect(told.length).toBeGreaterThan(5)
    for (const at of told) expect(asked.find(each => each >= at)! - at).toBeLessThan(0.01)
    await stop()
  })

  it('an ended room is synced once more before the provider forgets it, and then no more', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'], [feed, roomLog, quiz])
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at === 0
        ? { items: [{ id: 1, hint: stateNews('algebra', 9, clock.now()) }] }
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

  const restarts = [stateNews('algebra', 1, 'begun'), 'ended', stateNews('algebra', 60, 'begun')] as const
  it.each([
    ['a class that is started again after its end goes on', [0, 1, 2], false],
    ['also when its end and its first start are told once more after that', [0, 1, 2, 1, 0], false],
    ['but not when its first start is told once more', [0, 1, 0], true],
    ['nor when its first start is told after its end', [1, 0], true],
  ])('%s', async (_, told, closes) => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    const end = clock.now()
    const hints = told
      .map(one => restarts[one]!)
      .map(hint => (hint === 'ended' ? stateNews('algebra', 50, end) : hint))
    transport.answers = ({ operation, at }) => {
      const hint = operation === 'appEvents' ? hints[Math.floor(at / minute)] : undefined
      return { items: hint ? [{ id: at, hint }] : [] }
    }
    await clock.advance(75 * minute)
    expect(store.isClosed('popup-quiz', 'algebra')).toBe(closes)
    expect(store.isClosed('room-events', 'algebra')).toBe(closes)
    await stop()
  })

  it.each([
    ['goes on', undefined, false],
    ['has ended', 0, true],
  ])('what the database knows of a class counts after a restart: it %s', async (_, endedAfter, closes) => {
    const { clock, transport, store, stop } = startApp([], [feed, roomLog, quiz])
    const endedAt = endedAfter === undefined ? undefined : clock.now()
    store.put('room-events', 'algebra', { life: { incarnation: 1, sequence: 60, endedAt } })
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at === 0
        ? { items: [{ id: 1, hint: stateNews('algebra', closes ? 1 : 50, closes ? 'begun' : clock.now()) }] }
        : { items: [] }
    await clock.advance(75 * minute)
    expect(store.isClosed('room-events', 'algebra')).toBe(closes)
    await stop()
  })

  it('a room whose name cannot be sent is closed with all its streams, and one dead letter tells it', async () => {
    const { clock, transport, store, said, stop } = startApp(['\ud800'])
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' ? { items: [{ id: at, hint: news('\ud800', 'news', at) }] } : { items: [] }
    await clock.advance(10 * minute)
    expect(new Set(store.letters.map(({ body }) => String(Buffer.from(body))))).toEqual(
      new Set(['"\\ud800"']),
    )
    expect(said.filter(line => line.includes('fault of this program'))).toEqual([])
    for (const stream of ['room-events', 'popup-quiz'] as const)
      expect(store.isClosed(stream, '\ud800')).toBe(true)
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

  it('of a channel that is no room nothing is said to be lost', async () => {
    const { clock, poller, transport, said, store, stop } = startApp()
    transport.answers = ({ room }) =>
      room ? { kind: 'not_found', text: '', status: 404, code: 20404100 } : { items: [] }
    await clock.advance(second)
    poller.discover(['lobby'])
    await clock.advance(minute)
    expect(transport.of('roomEvents').map(({ room }) => room)).toEqual(['lobby'])
    expect(store.forgotten).toEqual(['lobby'])
    expect(said.filter(line => line.includes('lost'))).toEqual([])
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

  it('a widget log of which every page waits for the log of its room is read on without a longer pause each time', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    await clock.advance(25 * second)
    const doubted = new Set<string>()
    const pages = 8
    transport.answers = ({ operation, nextId, at }) => {
      if (operation === 'appEvents' && at < 35 * second)
        return { items: [{ id: 1, hint: { ...news('algebra', 'news', clock.now()), streams: [] } }] }
      if (operation !== 'popupQuiz') return { items: [] }
      const page = Number(nextId ?? 0)
      if (!doubted.has(String(page))) {
        doubted.add(String(page))
        store.answerNextCommit({ outcome: 'unverified' })
      }
      return { items: [{ id: 100 + page }], ...(page + 1 < pages && { nextId: String(page + 1) }) }
    }
    await clock.advance(minute)
    expect([...store.stored].filter(name => name.startsWith('popup-quiz algebra 10'))).toHaveLength(pages)
    await stop()
  })

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

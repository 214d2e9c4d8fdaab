import { describe, expect, it } from 'vitest'
import { news, roomLog } from '../fake-streams.ts'
import { type Asked, hour, minute, second } from '../harness.ts'
import { startApp } from '../start-app.ts'

const plain = { kind: 'not_found', text: 'not here', status: 404 } as const
const coded = { ...plain, code: 20404100 } as const

describe('a room whose log answers 404', () => {
  it('without a code ends after a few tries, while the log of another is served', async () => {
    const { clock, transport, store, stop } = startApp(['algebra', 'physics'])
    transport.answers = ({ room, at }) => (room === 'algebra' && at > 5 * second ? plain : { items: [] })
    await clock.advance(10 * minute)
    expect(store.forgotten).toEqual([])
    await clock.advance(2 * hour)
    expect(store.forgotten).toEqual(['algebra'])
    const asked = () => transport.asked.filter(({ room }) => room === 'algebra').length
    const before = asked()
    await clock.advance(24 * hour)
    expect(asked()).toBe(before)
    await stop()
  })

  it('ends also when it was never served', async () => {
    const { clock, transport, store, poller, stop } = startApp(['physics'])
    transport.answers = ({ room }) => (room === 'channel' ? plain : { items: [] })
    poller.discover(['channel'])
    await clock.advance(2 * hour)
    expect(store.forgotten).toEqual(['channel'])
    await stop()
  })

  const both = ['algebra', 'physics']
  it.each([
    ['of all rooms', both, () => true],
    ['of the only room', ['algebra'], () => true],
    ['of all rooms after an hour in which they were served', both, ({ at }: Asked) => at > hour],
    [
      'of one room, and then of all',
      both,
      ({ room, at }: Asked) => at > 8 * minute || (at > 5 * minute && room === 'algebra'),
    ],
  ])('without a code ends none where it is the answer %s', async (_, rooms, isMissing) => {
    const { clock, transport, store, stop } = startApp(rooms, [roomLog])
    transport.answers = asked => (isMissing(asked) ? plain : { items: [] })
    await clock.advance(24 * hour)
    expect(store.forgotten).toEqual([])
    await stop()
  })

  it.each([
    ['without a code', plain],
    ['with one', coded],
  ])('for a moment, %s, goes on with all its streams', async (_, answer) => {
    const { clock, transport, store, stop } = startApp(['algebra', 'physics'])
    const [from, to] = [5 * minute, 5.5 * minute]
    transport.answers = ({ operation, room, at }) => {
      if (operation === 'appEvents' && at > from)
        return { items: [{ id: at, hint: news('algebra', 'news', at) }] }
      return room === 'algebra' && at > from && at < to ? answer : { items: [] }
    }
    await clock.advance(20 * minute)
    expect(store.forgotten).toEqual([])
    for (const operation of ['roomEvents', 'popupQuiz']) {
      const asked = transport.of(operation).filter(({ room, at }) => room === 'algebra' && at > 10 * minute)
      expect(asked.length).toBeGreaterThan(2)
    }
    await stop()
  })

  it('with a code ends within minutes, and at once when nothing was known of it but its name', async () => {
    const { clock, transport, store, poller, stop } = startApp(['algebra'])
    transport.answers = ({ room }) => (room ? coded : { items: [] })
    poller.discover(['channel'])
    await clock.advance(second)
    expect(store.forgotten).toEqual(['channel'])
    await clock.advance(6 * minute)
    expect(store.forgotten).toEqual(['channel', 'algebra'])
    expect(transport.of('roomEvents')).toHaveLength(4)
    await stop()
  })

  it('with a code ends at once after a restart, where nothing was ever stored of it but its name', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    for (const room of ['channel', 'physics']) store.put('room-events', room)
    store.known.set('physics', { lastEventAt: clock.now() - hour })
    transport.answers = ({ room }) => (room ? coded : { items: [] })
    await clock.advance(second)
    expect(store.forgotten).toEqual(['channel'])
    await clock.advance(6 * minute)
    expect(store.forgotten.toSorted()).toEqual(['algebra', 'channel', 'physics'])
    await stop()
  })

  it('with a code ends as soon after an outage of all logs', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    const [from, to] = [5 * minute, 35 * minute]
    transport.answers = ({ room, at }) => {
      if (!room || at < from) return { items: [] }
      return at < to ? { kind: 'server_error', text: 'broken', status: 500 } : coded
    }
    await clock.advance(to)
    await clock.advance(16 * minute)
    expect(store.forgotten).toEqual(['algebra'])
    await stop()
  })

  it('with a code, and then cannot be read, keeps no other stream waiting', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    transport.answers = ({ operation, at }) => {
      if (operation !== 'roomEvents' || at < 5 * minute) return { items: [] }
      return at < 7 * minute ? coded : 'malformed'
    }
    await clock.advance(hour)
    expect(transport.of('popupQuiz').some(({ at }) => at > 30 * minute)).toBe(true)
    await stop()
  })

  it.each([
    ['goes on', 6 * minute, (asked: number) => asked > 4],
    ['waits for news after three of them', hour, (asked: number) => asked === 3],
  ])('with a code at another stream, while the log is served: that stream %s', async (_, until, isRight) => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    transport.answers = ({ operation, at }) =>
      operation === 'popupQuiz' && at > 5 * minute && at < until ? coded : { items: [] }
    await clock.advance(hour)
    expect(store.forgotten).toEqual([])
    const asked = transport.of('popupQuiz').filter(({ at }) => at > 5 * minute)
    expect(isRight(asked.length)).toBe(true)
    await stop()
  })

  it('with a code at another stream, which waits for news then: that it is wanted is news', async () => {
    const { clock, transport, poller, stop } = startApp(['algebra'])
    let isThere = false
    transport.answers = ({ operation }) => (operation === 'popupQuiz' && !isThere ? coded : { items: [] })
    await clock.advance(hour)
    isThere = true
    const before = transport.of('popupQuiz').length
    poller.reread({ app: 'a1', room: 'algebra', region: null, streams: ['popup-quiz'] })
    await clock.advance(minute)
    expect(transport.of('popupQuiz')).toHaveLength(before + 1)
    await stop()
  })
})

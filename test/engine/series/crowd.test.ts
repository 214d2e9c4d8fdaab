import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/engine/ports.ts'
import { Discovery } from '../../../src/engine/series/discovery.ts'
import { Rooms } from '../../../src/engine/series/rooms.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { feed, news, quiz, roomLog } from '../fake-streams.ts'
import { appOf, createHarness, fence, hour, minute, second, settingsOf } from '../harness.ts'
import { startApp } from '../start-app.ts'

const names = (count: number, kind = 'r') => Array.from({ length: count }, (_, n) => `${kind}${n}`)

describe('more rooms than are remembered', () => {
  it('are not remembered', () => {
    const { clock } = createHarness([])
    const app = appOf('a1', ['app-events', 'room-events'])
    const rooms = new Rooms({
      app,
      clock,
      streams: [feed, roomLog],
      settings: { ...settingsOf([app]), mostRooms: 20 },
    })
    const asked = names(28_000).map(room => rooms.applyHint(news(room, 'news', clock.now()), '', feed).length)
    expect([...rooms.names()]).toHaveLength(20)
    expect(asked.filter(visits => visits > 0)).toHaveLength(20)
    expect(rooms.isCrowded).toBe(true)
  })

  it('are followed in turn, with all that is of them, from the first start on', async () => {
    const { clock, transport, stop } = startApp(names(100), [feed, roomLog, quiz], { mostRooms: 20 })
    await clock.advance(5 * minute)
    for (const operation of ['roomEvents', 'popupQuiz']) {
      const times = Map.groupBy(transport.of(operation), ({ room }) => room)
      expect(times.size).toBe(100)
      expect(Math.min(...times.values().map(visits => visits.length))).toBeGreaterThan(1)
    }
    await stop()
  })

  it('are asked about as often as they would be if there were places for all, where few have none', async () => {
    const asked = async (mostRooms: number) => {
      const { clock, store, transport, stop } = startApp(names(400), [feed, roomLog], { mostRooms })
      const lastEventAt = clock.now() - 24 * hour
      for (const room of names(400)) store.known.set(room, { lastEventAt, besideReadAgo: null })
      await clock.advance(hour)
      const times = Map.groupBy(transport.of('roomEvents'), ({ room }) => room)
      await stop()
      return [...times.values()].map(({ length }) => length)
    }
    const [few, all] = [await asked(395), await asked(400)]
    expect([few.length, Math.min(...few) > 1]).toEqual([400, true])
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
    expect(sum(few)).toBeLessThan(2 * sum(all))
  })

  it('have their turn at half of what the limits allow', async () => {
    const { clock, store } = createHarness([])
    const app = appOf('a1', ['room-events'])
    const limits = { ...app.limits, classroom: { ...app.limits.classroom!, rates: [perSecond(2)] } }
    const [settings, streams] = [{ ...settingsOf([app]), mostRooms: 100 }, [roomLog]]
    const context = { ...{ app: { ...app, limits }, clock, store, settings, streams }, fence: () => fence }
    const rooms = new Rooms(context)
    const planned: number[] = []
    const plans = { restsFor: () => minute, drop: () => {} }
    const look = (_: string, within: number) => void planned.push(within)
    const discovery = new Discovery(context as never, rooms, { ...plans, look })
    for (const room of names(150)) store.put('room-events', room, {})
    rooms.crowd(true)
    await discovery.relieve()
    expect(planned).toEqual(Array.from({ length: 10 }, (_, n) => n * second))
    await clock.advance(10 * second)
    await discovery.relieve()
    expect([planned.length, [...rooms.names()].length]).toEqual([20, 20])
  })

  it('are followed where the database was away when they were told of, and they are told of once more', async () => {
    const { clock, store, transport, poller, stop } = startApp(names(4), [roomLog], { mostRooms: 4 })
    await clock.advance(minute)
    store.fail('discoverRooms', new StoreUnavailable('57P01'))
    poller.discover(['late'])
    await clock.advance(minute)
    expect(transport.asked.map(({ room }) => room)).not.toContain('late')
    poller.discover(['late'])
    await clock.advance(10 * minute)
    expect(transport.asked.map(({ room }) => room)).toContain('late')
    await stop()
  })

  it('are followed although the log of many others cannot be read', async () => {
    const { clock, transport, stop } = startApp([...names(60, 'bad'), ...names(10)], [roomLog], {
      mostRooms: 20,
    })
    transport.answers = ({ room }) => (room.startsWith('bad') ? 'not_found' : { items: [] })
    await clock.advance(10 * minute)
    const good = transport.of('roomEvents').filter(({ room }) => room.startsWith('r'))
    expect(new Set(good.map(({ room }) => room)).size).toBe(10)
    await stop()
  })

  it('of which nothing is stored but their names have their turn too', async () => {
    const { clock, transport, stop } = startApp([], [feed, roomLog], { mostRooms: 20 })
    const named = names(50, 'named')
    transport.answers = ({ operation, at }) => {
      if (operation !== 'appEvents' || at > second) return { items: [] }
      return { items: named.map((room, id) => ({ id, hint: news(room, 'news', clock.now()) })) }
    }
    await clock.advance(5 * minute)
    expect(new Set(transport.of('roomEvents').map(({ room }) => room)).size).toBe(50)
    await stop()
  })

  it('that the feed or a call told of later have their turn too', async () => {
    const { clock, transport, store, poller, stop } = startApp([], [feed, roomLog], { mostRooms: 20 })
    const told = names(50, 'told')
    transport.answers = ({ operation, at }) => {
      if (operation !== 'appEvents' || at > second) return { items: [] }
      for (const room of told) store.put('room-events', room, {})
      return { items: told.map((room, id) => ({ id, hint: news(room, 'news', clock.now()) })) }
    }
    await clock.advance(30 * second)
    poller.discover(names(50, 'called'))
    await clock.advance(5 * minute)
    const asked = new Set(transport.of('roomEvents').map(({ room }) => room))
    expect(asked.size).toBe(100)
    await stop()
  })
})

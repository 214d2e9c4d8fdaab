import { describe, expect, it } from 'vitest'
import { feed, news, roomLog } from '../fake-streams.ts'
import { minute, second } from '../harness.ts'

import { startApp } from '../start-app.ts'

describe('how often a feed is asked', () => {
  it('the feed of a silent app ever later, and at its usual pace from the first event on', async () => {
    const { clock, transport, stop } = startApp([], [feed, roomLog], {}, [], { idleEvery: 40 * second })
    const begins = 5 * minute
    transport.answers = ({ operation, at }) =>
      operation === 'appEvents' && at >= begins && at < begins + minute
        ? { items: [{ id: at, hint: news('r1', 'news', at) }] }
        : { items: [] }
    await clock.advance(8 * minute)
    const times = transport.of('appEvents').map(({ at }) => at)
    const between = (from: number, to: number) =>
      times.flatMap((at, n) => (at >= from && at < to && n > 0 ? [at - times[n - 1]!] : []))
    expect(between(0, 2 * minute)).toEqual([20, 40, 40].map(each => each * second))
    const first = times.find(at => at >= begins)!
    expect(first - begins).toBeLessThanOrEqual(40 * second)
    expect(Math.max(...between(first + 1, begins + minute))).toBe(10 * second)
    expect(between(begins + 2 * minute + 30 * second, 8 * minute).at(-1)).toBe(40 * second)
    await stop()
  })

  it.each([1, 3])(
    'a feed that tells %d events an answer and is empty then goes at its usual pace',
    async size => {
      const { clock, transport, stop } = startApp([], [feed, roomLog], {}, [], { idleEvery: 40 * second })
      let told = 0
      // Two events a pace of ten seconds; each is told once.
      transport.answers = ({ operation, at }) => {
        if (operation !== 'appEvents' || at < 5 * minute) return { items: [] }
        const happened = Math.floor((at - 5 * minute) / (5 * second))
        const ids = Array.from({ length: Math.min(size, happened - told) }, (_, n) => told + n)
        told += ids.length
        return { items: ids.map(id => ({ id, hint: news('r1', 'news', at) })) }
      }
      await clock.advance(8 * minute)
      const times = transport.of('appEvents').map(({ at }) => at)
      const inClass = times.flatMap((at, n) => (at >= 6 * minute && n > 0 ? [at - times[n - 1]!] : []))
      expect(Math.max(...inClass)).toBe(10 * second)
      await stop()
    },
  )

  it('a feed that tells one event at a time is asked again at once until it tells nothing new', async () => {
    const { clock, transport, store, stop } = startApp([], [feed])
    const waiting = Array.from({ length: 300 }, (_, id) => ({ items: [{ id }] }))
    // What its room's log has told already is stored, and still stands before what nobody knows.
    for (let id = 0; id < 200; id++) store.stored.add(`app-events  ${id}`)
    transport.answers = () => waiting.shift() ?? { items: [] }
    await clock.advance(second)
    expect(store.stored.size).toBe(300)
    expect(transport.of('appEvents')).toHaveLength(301)
    await stop()
  })

  it('a feed of single events of which one is told as one was before is asked on: its room may be used again', async () => {
    const { clock, transport, store, stop } = startApp([], [feed])
    const waiting = [[1], [], [], [1], [2], [3], []].map(ids => ({ items: ids.map(id => ({ id })) }))
    transport.answers = () => waiting.shift() ?? { items: [] }
    await clock.advance(21 * second)
    expect([...store.stored].sort()).toEqual(['app-events  1', 'app-events  2', 'app-events  3'])
    await stop()
  })

  it.each([
    // Behind a single event that is told twice another may wait: two are asked for beyond the first known one, once.
    ['one event again and again', () => [{ id: 1 }], 9],
    ['the events of the last seconds', (n: number) => [0, 1, 2, 3, 4, 5].map(i => ({ id: n + i })), 7],
    ['one of three events in turn', (n: number) => [{ id: n % 3 }], 11],
    [
      'all that has happened since it was asked',
      (n: number) => (n === 1 ? [{ id: 1 }, { id: 2 }, { id: 3 }] : [{ id: 2 * n + 10 }, { id: 2 * n + 11 }]),
      7,
    ],
  ])('a feed that tells %s is asked at its pace', async (_, told, times) => {
    const { clock, transport, stop } = startApp([], [feed])
    transport.answers = () => ({ items: told(transport.of('appEvents').length) })
    await clock.advance(59 * second)
    expect(transport.of('appEvents')).toHaveLength(times)
    await stop()
  })

  it.each([
    { takes: 100, apart: 10.1 * second },
    { takes: 2 * second, apart: 10.1 * second },
    { takes: 8 * second, apart: 13 * second },
  ])('a feed of which an answer takes $takes ms is asked every $apart ms', async ({ takes, apart }) => {
    const { clock, transport, stop } = startApp([], [feed])
    transport.answers = async () => {
      await clock.sleep(takes)
      return { items: [] }
    }
    await clock.advance(minute)
    const times = transport.of('appEvents').map(({ at }) => at)
    expect(times.slice(1, 4).map((at, n) => at - times[n]!)).toEqual([apart, apart, apart])
    const stopped = stop()
    await clock.advance(minute)
    await stopped
  })
})

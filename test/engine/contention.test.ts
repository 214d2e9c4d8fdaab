import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { feed, roomLog } from './fake-streams.ts'
import { minute, second } from './harness.ts'
import { makeHarness as makeWindows } from './ranges/window-harness.ts'
import { startApp } from './start-app.ts'

const locked = () => new StoreUnavailable('55P03', { timeout: 'lock_timeout' })

describe('a page that another statement keeps from being stored', () => {
  it.each(['40001', '40P01', '55P03', '57014'])(
    'by %s is stored a little later, and asked for once',
    async code => {
      const { clock, transport, store, health, outages, stop } = startApp([], [feed])
      store.fail('commit', new StoreUnavailable(code), 3)
      await clock.advance(9 * second)
      expect(transport.asked).toHaveLength(1)
      expect(store.commits).toHaveLength(1)
      expect([health.state(), outages]).toEqual(['up', []])
      await stop()
    },
  )

  it('for ten minutes is asked for at growing pauses, and soon after them', async () => {
    const { clock, transport, store, outages, stop } = startApp(['algebra'], [roomLog])
    store.fail('commit', locked(), 100_000)
    await clock.advance(10 * minute)
    expect(transport.asked.length).toBeLessThanOrEqual(6)
    const asked = transport.asked.map(({ at }) => at)
    const pauses = asked.slice(1).map((at, n) => at - asked[n]!)
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
    store.heal()
    await clock.advance(8 * minute)
    expect(store.commits.length).toBeGreaterThan(0)
    expect(outages).toEqual([])
    await stop()
  })

  it('is tried once more when the engine stops, and given up then', async () => {
    const { clock, store, stop } = startApp([], [feed])
    store.fail('commit', locked(), 100_000)
    await clock.advance(20 * second)
    const before = store.calls.filter(call => call === 'commit').length
    await stop()
    expect(store.calls.filter(call => call === 'commit').length - before).toBe(1)
  })

  it('of a range costs a few requests in ten minutes', async () => {
    const { store, clock, asked, source } = makeWindows()
    store.putWindow('calls', { series: '', backlogFrom: clock.now() / 1_000 - 7_200 })
    await source.begin()
    store.commitWindow = async () => Promise.reject(locked())
    const end = clock.monotonic() + 10 * minute
    while (clock.monotonic() < end) {
      let isOver = false
      const runs = (await source.find()).requests.slice(0, 1).map(({ run }) => run())
      void Promise.all(runs).then(() => {
        isOver = true
      })
      do await clock.advance(second)
      while (!isOver)
    }
    expect(asked.length).toBeGreaterThan(1)
    expect(asked.length).toBeLessThanOrEqual(6)
  })
})

describe('a statement that stood in the way of another', () => {
  it('keeps an app from beginning for a moment, and nobody else', async () => {
    const { clock, transport, store, outages, stop } = startApp([], [feed])
    store.fail('follow', locked(), 3)
    await clock.advance(minute)
    expect(transport.asked.length).toBeGreaterThan(0)
    expect(outages).toEqual([])
    await stop()
  })

  it('keeps rooms waiting that have no place, and nobody else', async () => {
    const rooms = ['a', 'b', 'c']
    const { clock, store, outages, stop } = startApp(rooms, [roomLog], { mostRooms: 2 })
    await clock.advance(second)
    store.fail('openSeries', locked(), 3)
    await clock.advance(5 * minute)
    expect(outages).toEqual([])
    expect(new Set(store.commits.map(({ series }) => series))).toEqual(new Set(rooms))
    await stop()
  })
})

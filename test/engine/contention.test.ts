import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { feed, roomLog } from './fake-streams.ts'
import { hour, minute, second } from './harness.ts'
import { makeHarness as makeItems } from './ranges/item-harness.ts'
import { makeHarness as makeWindows } from './ranges/window-harness.ts'
import { startApp } from './start-app.ts'

const locked = () => new StoreUnavailable('55P03', { timeout: 'lock_timeout' })
const tooSlow = () => new StoreUnavailable('57014', { timeout: 'statement_timeout' })

describe('a page that another statement keeps from being stored', () => {
  it.each(['40001', '40P01', '55P03', '57014', '53200', '53400'])(
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

  it.each(['57P01', '08006', undefined])(
    'or a database that is away for seconds (%s), is stored when it is back, and nothing else is asked until then',
    async code => {
      const { clock, transport, store, health, outages, stop } = startApp(['algebra'], [feed])
      store.fail('commit', new StoreUnavailable(code), 3)
      await clock.advance(2 * second)
      expect([transport.asked.length, store.commits.length, health.state()]).toEqual([1, 0, 'down'])
      await clock.advance(3 * second)
      expect([transport.asked.length, store.commits.length]).toEqual([1, 1])
      expect(outages).toHaveLength(1)
      health.answered()
      await clock.advance(10 * second)
      expect(health.state()).toBe('up')
      expect(store.commits.length).toBe(transport.asked.length)
      await stop()
    },
  )

  it('because the database has too little room for it is told apart from one that a lock keeps', async () => {
    const { clock, store, said, stop } = startApp([], [feed])
    store.fail('commit', new StoreUnavailable('53200'), 1)
    await clock.advance(2 * second)
    store.fail('commit', locked(), 1)
    await clock.advance(12 * second)
    const told = said.filter(text => text.endsWith('is tried again'))
    expect(told).toEqual([
      'the database has too little room for a statement, which is tried again',
      'two statements met in the database; one of them is tried again',
    ])
    await stop()
  })

  it('because the database is away for longer than a minute is given up', async () => {
    const { clock, transport, store, health, stop } = startApp([], [feed])
    store.fail('commit', new StoreUnavailable('57P01'), 100_000)
    await clock.advance(70 * second)
    const tries = () => store.calls.filter(call => call === 'commit').length
    const before = tries()
    expect(before).toBeGreaterThan(5)
    await clock.advance(5 * minute)
    expect([transport.asked.length, tries()]).toEqual([1, before])
    store.heal()
    health.answered()
    await clock.advance(11 * second)
    expect(transport.asked.length).toBeGreaterThan(1)
    expect(store.commits.length).toBeGreaterThan(0)
    await stop()
  })

  it('for ten minutes is asked for at growing pauses, and soon after them', async () => {
    const { clock, transport, store, outages, counts, stop } = startApp(['algebra'], [roomLog])
    store.fail('commit', locked(), 100_000)
    await clock.advance(10 * minute)
    expect(transport.asked.length).toBeLessThanOrEqual(6)
    // Nothing else would tell: it is asked for as often as is meant, and the database answers.
    expect(new Set(counts.pages)).toEqual(new Set(['room-events store_blocked']))
    expect(counts.pages.length).toBeGreaterThan(3)
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

describe('items that expire and cannot be given up', () => {
  /** Looks as often as a busy group does. */
  async function expireFor(
    ms: number,
    refuses: (calls: readonly string[]) => boolean,
    keys: readonly string[],
  ) {
    const { put, source, store, clock, context } = makeItems()
    const expireItems = store.expireItems.bind(store)
    const tries: { readonly at: number; readonly calls: readonly string[] }[] = []
    store.expireItems = async (fence, app, stream, lowerBound, calls) => {
      tries.push({ at: clock.monotonic(), calls })
      if (refuses(calls)) throw tooSlow()
      return expireItems(fence, app, stream, lowerBound, calls)
    }
    for (const [n, key] of keys.entries()) put(key, 30 * 3_600 - n)
    for (const end = clock.monotonic() + ms; clock.monotonic() < end; await clock.advance(second))
      await source.find()
    return { store, tries, context }
  }

  it('keep nothing else from being done, and no other from being given up', async () => {
    const keys = ['a', 'huge', 'b', 'c', 'd', 'e']
    const { store, tries, context } = await expireFor(hour, calls => calls.includes('huge'), keys)
    expect(store.gaps.map(({ series }) => series).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(store.states()).toMatchObject({ 'call-sessions huge ': 'pending' })
    expect(tries.filter(({ calls }) => calls.includes('huge')).length).toBeLessThan(8)
    expect(context.health.state()).toBe('up')
  })

  it('are tried a few times while a whole table is locked, and given up after that', async () => {
    let isLocked = true
    const keys = Array.from({ length: 300 }, (_, n) => `call-${n}`)
    const held: number[] = []
    const { store, tries } = await expireFor(
      40 * minute,
      () => {
        if (held.push(0) > 6) isLocked = false
        return isLocked
      },
      keys,
    )
    expect(store.gaps).toHaveLength(300)
    expect(tries[6]!.at - tries[0]!.at).toBeGreaterThan(5 * minute)
  })
})

describe('an item that cannot be stored', () => {
  it('lets the others have their turn, and is asked for at growing pauses at the cost of repairs', async () => {
    const { put, source, store, clock, asked, context } = makeItems()
    const commitItem = store.commitItem.bind(store)
    store.commitItem = async page => (page.item.key === 'huge' ? Promise.reject(tooSlow()) : commitItem(page))
    put('huge', 4 * 3_600)
    put('other', 2 * 3_600)
    const huge: { readonly at: number; readonly purpose: string; readonly isFailing: boolean }[] = []
    for (let n = 0; n < 6 * 60; n++) {
      const { requests } = await source.find()
      const [first] = requests.toSorted((a, b) => a.expiresAt - b.expiresAt)
      const before = asked.length
      const run = first?.run()
      await clock.advance(minute)
      await clock.advance(minute)
      await run
      if (first && asked[before]?.call === 'huge')
        huge.push({ at: clock.monotonic(), purpose: first.purpose, isFailing: first.isFailing })
    }
    expect(store.states()).toMatchObject({ 'call-sessions other ': 'done', 'call-sessions huge ': 'pending' })
    expect(huge[0]).toMatchObject({ isFailing: false })
    expect(huge.slice(1).every(({ purpose, isFailing }) => purpose === 'repair' && isFailing)).toBe(true)
    expect(huge.length).toBeGreaterThan(2)
    expect(huge.length).toBeLessThan(12)
    const pauses = huge.slice(1).map(({ at }, n) => at - huge[n]!.at)
    expect(Math.max(...pauses)).toBeGreaterThan(20 * minute)
    expect(Math.max(...pauses)).toBeLessThan(3 * hour)
    expect(context.health.state()).toBe('up')
  })

  it('is no more than others once it was stored', async () => {
    const { put, work, source, store, clock } = makeItems()
    const commitItem = store.commitItem.bind(store)
    store.commitItem = async () => Promise.reject(tooSlow())
    put('huge', 4 * 3_600)
    const [first] = (await source.find()).requests
    const run = first!.run()
    await clock.advance(2 * minute)
    await run
    store.commitItem = commitItem
    const { again } = await source.find()
    expect(again).toBeLessThanOrEqual(minute)
    await clock.advance(minute)
    expect(await work()).toEqual(['repair'])
    expect(store.states()).toEqual({ 'call-sessions huge ': 'done' })
  })
})

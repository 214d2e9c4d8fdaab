import { describe, expect, it } from 'vitest'
import { shardOf } from '../../src/engine/ports/ledger.ts'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { appOf, minute, second } from './harness.ts'
import { allShards, FakeOwnership, shardCount, startEngine } from './start-engine.ts'

/** Which apps were asked since the n-th request. */
function appsAsked({ asked }: { readonly asked: readonly { readonly app: string }[] }, since: number) {
  return new Set(asked.slice(since).map(({ app }) => app))
}

describe('ownership', () => {
  it('nothing is asked before a shard is owned, and every app of an owned shard is', async () => {
    const { clock, transport, ownership, engine, stop } = startEngine(['a1', 'a2', 'a3'])
    ownership.fences = []
    await clock.advance(0)
    expect(engine.owned()).toEqual({ shards: 4, apps: ['a1', 'a2', 'a3'] })
    expect(appsAsked(transport, 0)).toEqual(new Set(['a1', 'a2', 'a3']))
    await stop()
  })

  it('counts for none where it could not be renewed for ten seconds, until it is', async () => {
    const { clock, counts, ownership, engine, stop } = startEngine()
    await clock.advance(second)
    ownership.error = new StoreUnavailable('25006')
    await clock.advance(8 * second)
    expect(counts.owned.at(-1)).toBe(4)
    await clock.advance(6 * second)
    expect(counts.owned.at(-1)).toBe('25006')
    expect(engine.owned()).toEqual({ shards: 0, apps: ['a1'] })
    ownership.error = undefined
    await clock.advance(4 * second)
    expect(counts.owned.at(-1)).toBe(4)
    await stop()
  })

  it('SQL is told of the days of an app, and of its users in calls', async () => {
    const plain = startEngine()
    await plain.clock.advance(second)
    await plain.stop()
    const at = { timeZone: 'Asia/Kathmandu', userLink: 'pupil-{uid}' }
    const set = startEngine(['a1'], {}, at)
    await set.clock.advance(second)
    await set.stop()
    const streams = { on: ['app-events', 'room-events'], off: [] }
    expect(plain.store.facts).toEqual([{ timeZone: 'UTC', userLink: 'stream', ...streams }])
    expect(set.store.facts).toEqual([{ ...at, ...streams }])
  })

  it('an app whose shard is lost is asked no more, the others are', async () => {
    const { clock, transport, ownership, stop } = startEngine(['a1', 'a2', 'a3', 'a4', 'a5'])
    await clock.advance(second)
    const lost = shardOf('a1', shardCount)
    ownership.fences = allShards(1).filter(({ shard }) => shard !== lost)
    await clock.advance(3 * second)
    const before = transport.asked.length
    await clock.advance(minute)
    const others = ['a2', 'a3', 'a4', 'a5'].filter(app => shardOf(app, shardCount) !== lost)
    expect(others.length).toBeGreaterThan(0)
    expect(appsAsked(transport, before)).toEqual(new Set(others))
    await stop()
  })

  it('an app that comes back under another epoch begins anew', async () => {
    const { clock, store, ownership, stop } = startEngine()
    await clock.advance(second)
    ownership.fences = allShards(2)
    await clock.advance(20 * second)
    expect(store.commits.at(-1)?.fence.epoch).toBe(2)
    expect(store.calls.filter(call => call === 'noteApp')).toHaveLength(2)
    await stop()
  })

  it('has all apps begin anew, once, where the database is an older one: what was begun in it may be gone', async () => {
    const { clock, store, transport, ownership, said, stop } = startEngine(['a1', 'a2'])
    await clock.advance(10 * second)
    const held = Promise.withResolvers<void>()
    transport.answers = async ({ app }) => {
      if (app === 'a2') await held.promise
      return { items: [] }
    }
    await clock.advance(10 * second)
    const begun = store.noted.length
    ownership.setBack = 1
    await clock.advance(20 * second)
    expect(store.noted.slice(begun)).toEqual(['a1'])
    const { length } = store.commits
    held.resolve()
    await clock.advance(20 * second)
    expect(store.noted.slice(begun)).toEqual(['a1', 'a2'])
    // The page in hand is stored all the same.
    expect(store.commits.slice(length).map(({ app }) => app)).toContain('a2')
    expect(said.filter(text => text.startsWith('the database may be an older one'))).toHaveLength(1)
    await stop()
  })

  it('is claimed again at once when a page was fenced', async () => {
    const { clock, store, ownership, stop } = startEngine()
    await clock.advance(9 * second)
    const before = ownership.claims
    store.answerNextCommit({ outcome: 'fenced' })
    ownership.fences = allShards(2)
    await clock.advance(1.5 * second)
    expect(ownership.claims).toBeGreaterThan(before)
    expect(store.commits.at(-1)?.fence.epoch).toBe(2)
    await stop()
  })

  it('a page that was fenced although the shard stayed ours is read again', async () => {
    const { clock, store, stop } = startEngine()
    await clock.advance(second)
    store.answerNextCommit({ outcome: 'fenced' })
    await clock.advance(9.5 * second)
    const before = store.commits.length
    await clock.advance(5 * second)
    expect(store.commits.length).toBeGreaterThan(before)
    await stop()
  })

  it('an app of which a page was fenced is left alone while nobody can say whose it is', async () => {
    const { clock, transport, store, ownership, stop } = startEngine(['a1', 'a2'])
    await clock.advance(second)
    ownership.error = new StoreUnavailable('53300')
    store.answerNextCommit({ outcome: 'fenced' })
    await clock.advance(30 * second)
    const before = transport.asked.length
    await clock.advance(minute)
    expect(appsAsked(transport, before).size).toBe(1)
    ownership.error = undefined
    await clock.advance(10 * second)
    expect(appsAsked(transport, before)).toEqual(new Set(['a1', 'a2']))
    await stop()
  })

  it('is tried again with growing waits while the database is away', async () => {
    const { clock, transport, ownership, said, stop } = startEngine()
    await clock.advance(second)
    ownership.error = new StoreUnavailable(undefined)
    await clock.advance(10 * minute)
    expect(ownership.claims).toBeLessThan(220)
    expect(said).toContain('ownership could not be renewed; trying again')
    ownership.error = undefined
    const before = transport.asked.length
    await clock.advance(15 * second)
    expect(transport.asked.length).toBeGreaterThan(before)
    await stop()
  })

  it('a claim that never answers does not hold the engine up', async () => {
    const { clock, ownership, stop } = startEngine()
    await clock.advance(second)
    ownership.hangs = true
    await clock.advance(30 * second)
    expect(ownership.claims).toBeGreaterThan(2)
    await stop()
    expect(ownership.releases).toBe(1)
  })
})

describe('a shard that another process should have', () => {
  const shard = shardOf('a1', shardCount)

  function handedOver(ownership: FakeOwnership): void {
    ownership.fences = allShards(1).filter(fence => fence.shard !== shard)
    ownership.surplus = [shard]
  }

  it('is given back when the page in hand of its app is stored, once', async () => {
    const { clock, transport, store, ownership, engine, stop } = startEngine(['a1', 'a2', 'a3', 'a4', 'a5'])
    const page = Promise.withResolvers<{ items: readonly { id: number }[] }>()
    transport.answers = () => page.promise
    await clock.advance(second)
    handedOver(ownership)
    await clock.advance(4 * second)
    expect(engine.owned().apps).not.toContain('a1')
    expect(ownership.released).toEqual([])
    const stored = store.stored.size
    page.resolve({ items: [{ id: 1 }] })
    await clock.advance(0)
    expect(store.stored.size).toBeGreaterThan(stored)
    expect(ownership.released).toEqual([[shard]])
    await stop()
  })

  it('is given back at once where it has no apps, and again where that failed', async () => {
    const { clock, ownership, stop } = startEngine([])
    await clock.advance(second)
    handedOver(ownership)
    ownership.release = async shards => {
      ownership.released.push(shards!)
      throw new StoreUnavailable(undefined)
    }
    await clock.advance(6 * second)
    expect(ownership.released).toEqual([[shard], [shard]])
    await stop()
  })

  it('is given back although a page in hand does not end in time', async () => {
    const { clock, transport, ownership, said, stop } = startEngine(['a1'])
    transport.answers = () => new Promise(() => {})
    await clock.advance(second)
    handedOver(ownership)
    await clock.advance(7.9 * second)
    expect(ownership.released).toEqual([])
    await clock.advance(4 * second)
    expect(ownership.released).toEqual([[shard]])
    expect(said).toContain('some pages of apps that move to another process are given up')
    await stop()
  })
})

describe('an outage of the database', () => {
  it('stops every app at once, and ends for all of them within five seconds', async () => {
    const apps = Array.from({ length: 50 }, (_, i) => `app-${i}`)
    const { clock, transport, store, ownership, said, stop } = startEngine(apps)
    await clock.advance(minute)
    const gone = new StoreUnavailable('57P01')
    for (const method of ['progress', 'commit', 'recordUnread', 'settleFeedGaps', 'openSeries'] as const) {
      store.fail(method, gone, 100_000)
    }
    ownership.error = gone
    await clock.advance(15 * second)
    const before = transport.asked.length
    const storeCalls = store.calls.length
    await clock.advance(10 * minute)
    expect(transport.asked).toHaveLength(before)
    expect(store.calls).toHaveLength(storeCalls)
    store.heal()
    ownership.error = undefined
    await clock.advance(5 * second)
    expect(appsAsked(transport, before)).toEqual(new Set(apps))
    expect(said).toContain('the database is available again')
    await stop()
  })

  it('while the others answer and a page finds no room, few pages are asked', async () => {
    const { clock, transport, store, stop } = startEngine()
    await clock.advance(second)
    store.fail('commit', new StoreUnavailable('53100'), 100_000)
    await clock.advance(10 * second)
    const before = transport.asked.length
    await clock.advance(10 * minute)
    expect(transport.asked.length - before).toBeLessThan(250)
    await stop()
  })
})

describe('stopping', () => {
  it('finishes the page in hand, then gives the shards back', async () => {
    const { clock, transport, store, ownership, engine } = startEngine()
    const page = Promise.withResolvers<{ items: readonly { id: number }[] }>()
    transport.answers = () => page.promise
    await clock.advance(second)
    const stopped = engine.stop()
    await clock.advance(2 * second)
    expect(ownership.releases).toBe(0)
    page.resolve({ items: [{ id: 1 }] })
    await clock.advance(0)
    await stopped
    expect(store.stored.size).toBe(1)
    expect(ownership.releases).toBe(1)
    expect(engine.owned().apps).toEqual([])
  })

  it('does not wait for a page longer than its deadline', async () => {
    const { clock, transport, ownership, said, engine } = startEngine()
    transport.answers = () => new Promise(() => {})
    await clock.advance(second)
    const stopped = engine.stop()
    await clock.advance(7.9 * second)
    expect(ownership.releases).toBe(0)
    await clock.advance(0.2 * second)
    await stopped
    expect(ownership.releases).toBe(1)
    expect(said).toContain('some pages in hand were not finished in time and are given up')
  })

  it('waits for an app that was given up just before', async () => {
    const { clock, transport, ownership, store, engine } = startEngine()
    const page = Promise.withResolvers<{ items: readonly { id: number }[] }>()
    transport.answers = () => page.promise
    await clock.advance(second)
    ownership.fences = []
    await clock.advance(3 * second)
    const stopped = engine.stop()
    await clock.advance(second)
    expect(ownership.releases).toBe(0)
    page.resolve({ items: [{ id: 1 }] })
    await clock.advance(0)
    await stopped
    expect(store.stored.size).toBe(1)
  })

  it('says nothing of shards that it never had', async () => {
    const ownership = new FakeOwnership([])
    ownership.error = new StoreUnavailable(undefined)
    const { clock, said, engine } = startEngine(['a1'], {}, {}, ownership)
    await clock.advance(second)
    const stopped = engine.stop()
    await clock.advance(second)
    await stopped
    expect(said.filter(text => text.includes('shards'))).toEqual([])
  })

  it('succeeds although the shards cannot be given back', async () => {
    const { clock, ownership, said, engine } = startEngine()
    await clock.advance(second)
    ownership.error = new StoreUnavailable(undefined)
    const stopped = engine.stop()
    await clock.advance(second)
    await stopped
    expect(said).toContain('the shards could not be given back; the others take them within seconds')
  })
})

describe('apps that come and go', () => {
  const all = ['app-events', 'room-events'] as const
  const apps = (...ids: readonly string[]) => ids.map(id => appOf(id, all))

  it('one that comes is drained with the next claim, and nothing of the others begins anew', async () => {
    const { clock, transport, store, engine, stop } = startEngine(['a1', 'a2'])
    await clock.advance(10 * second)
    const begun = store.noted.length
    await engine.configure(apps('a1', 'a2', 'a3'), [])
    const since = transport.asked.length
    await clock.advance(10 * second)
    expect(appsAsked(transport, since)).toEqual(new Set(['a1', 'a2', 'a3']))
    expect(store.noted.slice(begun)).toEqual(['a3'])
    await stop()
  })

  it('one that goes finishes its page, and is asked for no more', async () => {
    const { clock, transport, engine, stop } = startEngine(['a1', 'a2'])
    await clock.advance(10 * second)
    const held = Promise.withResolvers<void>()
    transport.answers = async ({ app }) => {
      if (app === 'a2') await held.promise
      return { items: [] }
    }
    await clock.advance(10 * second)
    let isOver = false
    const gone = engine.configure(apps('a1'), []).then(() => {
      isOver = true
    })
    await clock.advance(5 * second)
    expect(isOver).toBe(false)
    held.resolve()
    await gone
    const since = transport.asked.length
    await clock.advance(minute)
    expect(appsAsked(transport, since)).toEqual(new Set(['a1']))
    expect(engine.owned().apps).toEqual(['a1'])
    await stop()
  })

  it('one that changes is asked at once, whatever it was refused for before, and no other one is', async () => {
    const { clock, transport, engine, stop } = startEngine(['a1', 'a2', 'a3'])
    transport.answers = ({ app }) => (app === 'a1' ? { items: [] } : 'no_access')
    await clock.advance(10 * minute)
    const since = transport.asked.length
    await clock.advance(minute)
    expect(appsAsked(transport, since)).toEqual(new Set(['a1']))
    const changed = engine.configure(apps('a1', 'a2', 'a3'), ['a2'])
    await clock.advance(10 * second)
    await changed
    expect(appsAsked(transport, since)).toEqual(new Set(['a1', 'a2']))
    await stop()
  })

  it('one that changes begins anew when its page is finished, and never twice at one time', async () => {
    const { clock, transport, store, engine, stop } = startEngine(['a1', 'a2'])
    await clock.advance(10 * second)
    const held = Promise.withResolvers<void>()
    transport.answers = async ({ app }) => {
      if (app === 'a2') await held.promise
      return { items: [] }
    }
    await clock.advance(10 * second)
    const begun = store.noted.length
    const changed = engine.configure(apps('a1', 'a2'), ['a2'])
    await clock.advance(10 * second)
    expect(store.noted.slice(begun)).toEqual([])
    held.resolve()
    await changed
    const since = transport.asked.length
    await clock.advance(10 * second)
    expect(store.noted.slice(begun)).toEqual(['a2'])
    expect(appsAsked(transport, since)).toEqual(new Set(['a1', 'a2']))
    await stop()
  })
})

it('apps begin in turns, so that the first of them is asked before the last is known', async () => {
  const names = Array.from({ length: 100 }, (_, n) => `a${n}`)
  const { clock, store, transport, stop } = startEngine(names)
  const begun: (() => void)[] = []
  store.noteApp = () => new Promise<void>(resolve => begun.push(resolve))
  await clock.advance(second)
  expect([begun.length, transport.asked.length]).toEqual([8, 0])
  begun[0]!()
  await clock.advance(second)
  expect([begun.length, new Set(transport.of('appEvents').map(({ app }) => app)).size]).toEqual([9, 1])
  for (let n = 1; n < names.length; n++) {
    begun[n]!()
    await clock.advance(1)
  }
  await clock.advance(second)
  expect(new Set(transport.of('appEvents').map(({ app }) => app)).size).toBe(100)
  await stop()
})

it('apps whose turn comes after the engine was told to stop do not begin', async () => {
  const { clock, store, engine, stop } = startEngine(Array.from({ length: 20 }, (_, n) => `a${n}`))
  const begun: (() => void)[] = []
  store.noteApp = () => new Promise<void>(resolve => begun.push(resolve))
  await clock.advance(second)
  void engine.stop()
  await clock.advance(0)
  for (const end of [...begun]) end()
  await stop()
  expect(begun).toHaveLength(8)
})

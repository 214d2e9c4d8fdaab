import { describe, expect, it } from 'vitest'
import type { Failure } from '../../../src/provider/errors.ts'
import { news } from '../fake-streams.ts'
import { type Asked, fence, minute, second } from '../harness.ts'
import { startApp } from '../start-app.ts'

const regions = ['ap', 'eu']
const gone: Failure = { kind: 'not_found', text: 'no such room', code: 20404100 }

const start = (rooms: readonly string[] = []) => startApp(rooms, undefined, {}, regions)

/** The regions in which an operation was asked for, in turn. */
function asked({ transport }: ReturnType<typeof start>, operation: string): readonly string[] {
  return transport.asked.flatMap((each, n) =>
    each.operation === operation ? [transport.targets[n]!.split('/')[1]!] : [],
  )
}

describe('an app in two regions', () => {
  it('has the feed of each followed, each as a series of its own with debits of its own', async () => {
    const app = start()
    await app.clock.advance(second)
    expect(asked(app, 'appEvents').toSorted()).toEqual(regions)
    expect(app.store.commits.map(({ series }) => series).toSorted()).toEqual(regions)
    expect(app.ledger.taken.map(({ scope }) => scope).toSorted()).toEqual(['a1/ap', 'a1/eu'])
    await app.stop()
  })

  it('is followed in one while the feed of the other hangs', async () => {
    const app = start()
    const never = Promise.withResolvers<{ items: [] }>()
    app.transport.answers = ({ region }) => (region === 'ap' ? never.promise : { items: [] })
    await app.clock.advance(35 * second)
    expect(asked(app, 'appEvents').filter(region => region === 'eu')).toHaveLength(4)
    never.resolve({ items: [] })
    await app.stop()
  })

  it('has the log of a room read in the region whose feed named it', async () => {
    const app = start()
    app.transport.answers = ({ operation, region }) =>
      operation === 'appEvents' && region === 'eu'
        ? { items: [{ id: 1, hint: news('algebra', 'news', 0) }] }
        : { items: [] }
    await app.clock.advance(5 * second)
    expect(new Set(asked(app, 'roomEvents'))).toEqual(new Set(['eu']))
    await app.stop()
  })

  it('has a room looked for in each region in turn, where no feed named it', async () => {
    const app = start(['algebra'])
    app.transport.answers = ({ operation, region }) =>
      operation === 'roomEvents' && region === 'ap' ? gone : { items: [] }
    await app.clock.advance(5 * second)
    expect(asked(app, 'roomEvents').slice(0, 2)).toEqual(regions)
    expect(app.store.forgotten).toEqual([])
    expect(app.store.commits.findLast(({ stream }) => stream === 'room-events')?.region).toBe('eu')
    await app.stop()
  })

  it('has a room looked for in the next region where the first cannot answer', async () => {
    const app = start(['algebra'])
    app.transport.answers = ({ operation, region }) =>
      operation === 'roomEvents' && region === 'ap' ? 'server_error' : { items: [] }
    await app.clock.advance(5 * minute)
    expect(asked(app, 'roomEvents')).toContain('eu')
    await app.stop()
  })

  it('has a room that calls told of believed to be none when no region knows it', async () => {
    const app = start()
    app.transport.answers = ({ room, region }) =>
      room === 'channel' || (room === 'algebra' && region === 'ap') ? gone : { items: [] }
    app.poller.discover(['channel', 'algebra'])
    await app.clock.advance(5 * second)
    expect(asked(app, 'roomEvents').toSorted()).toEqual(['ap', 'ap', 'eu', 'eu'])
    expect(app.store.forgotten).toEqual(['channel'])
    await app.stop()
  })

  it('has a room of the configuration that no region knows believed to be none about as soon as one region would', async () => {
    const app = startApp(['algebra'], undefined, {}, [...regions, 'na'])
    app.transport.answers = ({ room }) => (room ? gone : { items: [] })
    await app.clock.advance(15 * minute)
    expect(app.store.forgotten).toEqual(['algebra'])
    await app.stop()
  })

  it('loses a room only when every region says so', async () => {
    const app = start(['algebra'])
    let away: (at: Asked) => boolean = ({ region }) => region === 'ap'
    app.transport.answers = each => (each.operation === 'roomEvents' && away(each) ? gone : { items: [] })
    await app.clock.advance(30 * minute)
    expect(app.store.forgotten).toEqual([])
    away = () => true
    await app.clock.advance(30 * minute)
    expect(app.store.forgotten).toEqual(['algebra'])
    await app.stop()
  })
})

describe('a room of an app in two regions', () => {
  const named = (room: string, region: string) => (each: Asked) =>
    each.operation === 'appEvents' && each.region === region
      ? { items: [{ id: 1, hint: news(room, 'news', 0) }] }
      : undefined

  it('stays where its log was read, though another feed named it meanwhile', async () => {
    const app = start(['algebra'])
    const log = Promise.withResolvers<{ items: [] }>()
    app.transport.answers = each =>
      named('algebra', 'eu')(each) ??
      (each.operation === 'roomEvents' && each.at === 0 ? log.promise : { items: [] })
    await app.clock.advance(5 * second)
    log.resolve({ items: [] })
    await app.clock.advance(minute)
    expect(new Set(asked(app, 'roomEvents'))).toEqual(new Set(['ap']))
    await app.stop()
  })

  it('is looked for at once where another feed names it, when its own region denies it', async () => {
    const app = start(['algebra'])
    app.transport.answers = each => {
      const isUsedAgain = each.at > 15 * second
      if (each.operation === 'roomEvents' && (each.region === 'eu') !== isUsedAgain) return gone
      return (isUsedAgain ? named('algebra', 'eu')(each) : undefined) ?? { items: [] }
    }
    await app.clock.advance(40 * second)
    expect(asked(app, 'roomEvents').at(-1)).toBe('eu')
    await app.clock.advance(2 * minute)
    expect(asked(app, 'roomEvents').at(-1)).toBe('eu')
    await app.stop()
  })

  it('is read though many rooms of the other region hang', async () => {
    const app = start(Array.from({ length: 40 }, (_, n) => `slow-${n}`))
    const never = Promise.withResolvers<{ items: [] }>()
    app.transport.answers = each =>
      each.operation === 'roomEvents' && each.region === 'ap'
        ? never.promise
        : ((each.at > 5 * second ? named('algebra', 'eu')(each) : undefined) ?? { items: [] })
    await app.clock.advance(20 * second)
    expect(asked(app, 'roomEvents')).toContain('eu')
    never.resolve({ items: [] })
    await app.stop()
  })

  it('is over where the other region has no words for one that it never had', async () => {
    const app = start(['physics'])
    const plain: Failure = { kind: 'not_found', text: 'not here' }
    app.transport.answers = each => {
      if (each.operation !== 'roomEvents' || each.room !== 'algebra')
        return named('algebra', 'ap')(each) ?? { items: [] }
      if (each.at < 10 * second) return { items: [] }
      return each.region === 'ap' ? gone : plain
    }
    await app.clock.advance(3 * 60 * minute)
    expect(app.store.forgotten).toContain('algebra')
    await app.stop()
  })

  it('that is to be read again is asked for where it was found last', async () => {
    const app = start()
    app.poller.reread({ app: 'a1', room: 'algebra', region: 'eu', streams: ['room-events'] })
    await app.clock.advance(5 * second)
    expect(new Set(asked(app, 'roomEvents'))).toEqual(new Set(['eu']))
    await app.stop()
  })
})

describe('an app that was in other regions before', () => {
  it('has what their feeds handed out last set down, and owes them nothing more', async () => {
    const app = start()
    app.store.put('app-events', '')
    app.store.put('app-events', 'cn')
    await app.clock.advance(second)
    expect(['', 'cn', 'ap'].map(series => app.store.isClosed('app-events', series))).toEqual([
      true,
      true,
      false,
    ])
    expect(app.store.calls.filter(call => call === 'recordUnread').length).toBeGreaterThanOrEqual(2)
    await app.stop()
  })

  it('has a feed that comes back followed anew', async () => {
    const app = start()
    app.store.put('app-events', 'ap')
    await app.store.closeSeries(fence, 'a1', 'app-events', 'ap')
    app.transport.answers = () => 'server_error'
    await app.clock.advance(second)
    expect(app.store.isClosed('app-events', 'ap')).toBe(false)
    await app.stop()
  })
})

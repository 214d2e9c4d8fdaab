import { describe, expect, it } from 'vitest'
import type { Failure } from '../../src/provider/errors.ts'
import { news } from './fake-streams.ts'
import { type Asked, minute, second } from './rig.ts'
import { startApp } from './start-app.ts'

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
})

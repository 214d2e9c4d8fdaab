import { describe, expect, it } from 'vitest'
import { Engine } from '../../../src/engine/supervisor.ts'
import { perMinute, perSecond } from '../../../src/provider/limits.ts'
import { listPlayers } from '../../../src/provider/players/index.ts'
import { roomCadence } from '../../../src/streams/parts/cadence.ts'
import type { SnapshotStream } from '../../../src/streams/stream.ts'
import { feed, news, roomLog, type Served } from '../fake-streams.ts'
import { appOf, createHarness, fence, second, settingsOf } from '../harness.ts'

/** A list of the whole app; its tokens are the nextIds of these tests. */
const players: SnapshotStream = {
  kind: 'snapshot',
  name: 'cloud-players',
  title: '',
  writes: [],
  operation: listPlayers,
  read: answer => {
    const { items, nextId } = answer as Served
    return { items, nextId, total: items.length }
  },
  source: 'list',
  scope: 'app',
  ...roomCadence('15s'),
  request: cursor => (cursor === null ? {} : { pageToken: cursor }),
  toRows: page => ({
    rows: {},
    streamState: { cursor: page.cursor, total: page.total ?? null },
    room: { kind: 'current' },
    follow: 'next',
    rejects: [],
    hints: (page.items as Served['items']).flatMap(({ hint }) => (hint ? [hint] : [])),
    unfinished: false,
  }),
}

const every = { activeEvery: 15 * second, idleEvery: 15 * second, memory: 0, concurrency: 1 }

/** One app that is read every 15 seconds, with what else follows rooms. */
function started(others: readonly ('app-events' | 'room-events')[] = []) {
  const harness = createHarness(['room-events'])
  const app = appOf('a1', others)
  const group = {
    ...{ scope: 'key:1', rates: [perSecond(2), perMinute(15)], concurrency: 2 },
    counted: 'ledger' as const,
  }
  const apps = [
    {
      ...app,
      streams: { ...app.streams, 'cloud-players': every },
      limits: { ...app.limits, 'players-list': group },
    },
  ]
  const settings = settingsOf(apps)
  const ownership = {
    claim: async () => ({ fences: [0, 1, 2, 3].map(shard => ({ ...fence, shard })), surplus: [] }),
    release: async () => {},
  }
  const engine = new Engine({ ...harness, ownership, settings, streams: [feed, roomLog, players] })
  const times = () => harness.transport.of('listPlayers').map(({ at }) => at / second)
  const stop = async () => {
    const stopped = engine.stop()
    await harness.clock.advance(settings.drainDeadline)
    await stopped
  }
  return { ...harness, engine, times, stop }
}

describe('a list of the whole app', () => {
  it('is read at once and then at its interval, without any stream of rooms', async () => {
    const { clock, store, times, stop } = started()
    await clock.advance(46 * second)
    expect(times()).toEqual([0, 15, 30, 45])
    expect(store.commits.map(({ series, caughtUp, source }) => [series, caughtUp, source])).toEqual(
      Array(4).fill(['', true, 'list']),
    )
    expect(store.calls).not.toContain('openSeries')
    await stop()
  })

  it('is debited in its own group, and settled by its page', async () => {
    const { clock, ledger, store, counts, stop } = started()
    await clock.advance(second)
    expect(ledger.taken).toMatchObject([{ scope: 'key:1', group: 'players-list', n: 1 }])
    expect(store.commits[0]?.settles).toMatchObject({ n: 1 })
    expect(counts.debits).toEqual(['players-list'])
    await stop()
  })

  it('is read page by page from its beginning each time, and is told how many there are in all', async () => {
    const { clock, transport, store, stop } = started()
    const tokens: (string | null)[] = []
    transport.answers = ({ operation }) => {
      if (operation !== 'listPlayers') return { items: [] }
      tokens.push(new URL(transport.targets.at(-1)!, 'http://x').searchParams.get('pageToken'))
      return tokens.length % 3 === 0 ? { items: [] } : { items: [{ id: 1 }], nextId: `t${tokens.length}` }
    }
    await clock.advance(16 * second)
    expect(tokens).toEqual([null, 't1', 't2', null, 't4', 't5'])
    expect(store.commits.slice(0, 3).map(({ streamState, caughtUp }) => [streamState, caughtUp])).toEqual([
      [{ cursor: null, total: 1 }, false],
      [{ cursor: 't1', total: 1 }, false],
      [{ cursor: 't2', total: 0 }, true],
    ])
    await stop()
  })

  it('that breaks off between two pages is begun anew', async () => {
    const { clock, transport, store, stop } = started()
    let asked = 0
    transport.answers = () => {
      asked += 1
      if (asked === 2) return 'server_error'
      return asked === 1 ? { items: [{ id: 1 }], nextId: 't1' } : { items: [{ id: 1 }] }
    }
    await clock.advance(10 * second)
    expect(store.commits.map(({ streamState }) => streamState)).toEqual([
      { cursor: null, total: 1 },
      { cursor: null, total: 1 },
    ])
    await stop()
  })

  it.each([
    ['that nobody can read shows no room of a channel', 'malformed', []],
    ['that can be read does', { items: [] }, ['algebra']],
  ] as const)('a log %s', async (_, log, verified) => {
    const { clock, transport, store, stop } = started(['room-events'])
    transport.answers = ({ operation, at }) => {
      if (operation === 'roomEvents') return log
      return {
        items:
          operation === 'listPlayers' && at === 0
            ? [{ id: 1, hint: news('algebra', 'news', clock.now()) }]
            : [],
      }
    }
    await clock.advance(30 * second)
    expect(transport.of('roomEvents').length).toBeGreaterThan(0)
    expect(store.vouched).toEqual([])
    const read = store.commits.filter(({ stream }) => stream === 'room-events')
    expect([...new Set(read.map(({ series }) => series))]).toEqual(verified)
    await stop()
  })

  it('has the room of a channel looked at, and is itself not taken for a stream of rooms', async () => {
    const { clock, transport, store, times, stop } = started(['room-events'])
    transport.answers = ({ operation, at }) =>
      operation === 'listPlayers' && at === 0
        ? { items: [{ id: 1, hint: news('algebra', 'news', clock.now()) }] }
        : { items: [] }
    await clock.advance(14 * second)
    expect(transport.of('roomEvents').map(({ room }) => room)).toContain('algebra')
    expect(times()).toEqual([0])
    expect(
      store.commits.filter(({ stream }) => stream === 'cloud-players').map(({ series }) => series),
    ).toEqual([''])
    await stop()
  })

  it('waits ever longer while it fails, like everything else', async () => {
    const { clock, transport, times, stop } = started()
    transport.answers = () => 'malformed'
    await clock.advance(160 * second)
    const gaps = times().map((at, i, all) => Math.round(at - (all[i - 1] ?? 0)))
    expect(gaps.slice(1)).toEqual(gaps.slice(1).toSorted((a, b) => a - b))
    expect(gaps.at(-1)).toBeGreaterThan(2 * gaps[1]!)
    expect(times().length).toBeLessThan(8)
    await stop()
  })
})

describe('a list that somebody wants', () => {
  it('is read at once', async () => {
    const { clock, engine, times, stop } = started()
    await clock.advance(4 * second)
    engine.schedule('a1', 'cloud-players')
    await clock.advance(0)
    expect(times()).toEqual([0, 4])
    await clock.advance(14 * second)
    expect(times()).toEqual([0, 4])
    await clock.advance(second)
    expect(times()).toEqual([0, 4, 19])
    await stop()
  })

  it('is read seldom enough to leave half of what may be asked for to others, however often it is wanted', async () => {
    const { clock, engine, times, stop } = started()
    for (let i = 0; i < 600; i++) {
      engine.schedule('a1', 'cloud-players')
      await clock.advance(second / 10)
    }
    expect(times().map(at => Math.round(at * 10) / 10)).toEqual([
      ...[0, 0.1, 8.1, 16.1, 24.1, 32.1, 40.1, 48.1, 56.1],
    ])
    await stop()
  })

  it('is read once more after what was asked during a reading, and after the last wish of many', async () => {
    const { clock, transport, engine, times, stop } = started()
    const slow = Promise.withResolvers<Served>()
    transport.answers = ({ at }) => (at === 0 ? slow.promise : { items: [] })
    await clock.advance(second)
    engine.schedule('a1', 'cloud-players')
    engine.schedule('a1', 'cloud-players')
    await clock.advance(second)
    expect(times()).toEqual([0])
    slow.resolve({ items: [] })
    await clock.advance(0)
    expect(times()).toEqual([0, 2])
    engine.schedule('a1', 'cloud-players')
    await clock.advance(10 * second)
    expect(times()).toEqual([0, 2, 9])
    await stop()
  })

  it('is not tried sooner while it fails', async () => {
    const { clock, transport, engine, times, stop } = started()
    transport.answers = () => 'malformed'
    await clock.advance(second)
    const before = times().length
    for (let i = 0; i < 20; i++) {
      engine.schedule('a1', 'cloud-players')
      await clock.advance(second / 10)
    }
    expect(times()).toHaveLength(before)
    transport.answers = () => ({ items: [] })
    await clock.advance(20 * second)
    const healed = times().length
    engine.schedule('a1', 'cloud-players')
    await clock.advance(0)
    expect(times()).toHaveLength(healed + 1)
    await stop()
  })

  it('is nothing for an app or a stream that nobody reads', async () => {
    const { clock, transport, engine, stop } = started(['room-events'])
    await clock.advance(second)
    const before = transport.asked.length
    engine.schedule('a2', 'cloud-players')
    engine.schedule('a1', 'app-events')
    engine.schedule('a1', 'room-events')
    engine.schedule('a1', 'calls')
    await clock.advance(second)
    expect(transport.asked).toHaveLength(before)
    await stop()
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestLine } from '../../src/provider/operation.ts'
import { configuredStreams, streams } from '../../src/streams/index.ts'
import type { PageResult } from '../../src/streams/page.ts'
import type { Json } from '../../src/tables/json.ts'
import { plainDeployment } from '../support/streams.ts'
import { pageOf } from './pages.ts'
import { begin, expected, type Listed, listed, playerIds, Tables } from './player-world.ts'

const stream = streams['cloud-players']

/** Reads listings one after the other; a listing that breaks off is begun anew by the next. */
function readAll(listings: readonly Listed[], onPage: (toRows: PageResult) => void): void {
  let streamState: Json = null
  let now = begin
  for (const { after, pages, off, read } of listings) {
    now += after
    const total = new Set(pages.flat().map(({ id }) => id)).size + off
    for (const [i, items] of pages.slice(0, read).entries()) {
      const isLast = i === pages.length - 1
      const page = pageOf({
        ...{ series: '', items, total, cursor: i === 0 ? null : `t${i}` },
        nextId: isLast ? undefined : `t${i + 1}`,
        ...{ answeredAt: now * 1_000, receivedAt: now * 1_000 + i },
      })
      const toRows = stream.toRows(page, streamState)
      streamState = toRows.streamState
      onPage(toRows)
    }
  }
}

describe('the list of players', () => {
  it('is stored without its secrets, those in addresses too', () => {
    const options = { token: 'canary', from: 'rtmp://user:canary@h/a' }
    const streamUrl = 'rtmp://user:canary@live.example/a?token=canary'
    const { rows } = stream.toRows(pageOf({ items: [{ id: 'a', streamUrl, options }] }), null)
    expect(JSON.stringify(rows)).not.toContain('canary')
    expect(rows['players.cloud_player']).toMatchObject([
      { player_id: 'a', stream_url: 'rtmp://[redacted]@live.example/a?token=[redacted]' },
    ])
  })

  it('is read with a time of creation that comes as a text', () => {
    const { rows, rejects } = stream.toRows(pageOf({ items: [{ id: 'a', createTs: '1767225000' }] }), null)
    expect(rejects).toEqual([])
    expect(rows['players.cloud_player']).toMatchObject([{ created_at: '2025-12-31T23:50:00.000Z' }])
  })

  it('proves nothing where it leads in a circle, however many it says that there are', () => {
    const now = begin + 3_600
    const state = (parts: object, before: Json = null) =>
      stream.toRows(pageOf({ series: '', total: 1, ...parts, answeredAt: now * 1_000 }), before).streamState
    const circle = { items: [{ id: 'a' }], looping: true }
    const known = state({ items: [{ id: 'a' }, { id: 'b', createTs: begin }], total: 2 })
    const thrice = state(circle, state(circle, state(circle, known)))
    expect((thrice as { players: object[] }).players).toMatchObject([{ id: 'a' }, { id: 'b', missed: null }])
    const whole = { items: [{ id: 'a' }] }
    expect((state(whole, state(whole, known)) as { players: object[] }).players).toMatchObject([
      { id: 'a' },
      { id: 'b', status: 'destroyed' },
    ])
  })

  it('says nothing of a player that may still be invisible: its end is after that', () => {
    const ends = [4, 12, 72].reduce<{ state: Json; at: readonly (string | null)[] }>(
      ({ state }, after) => {
        const time = { answeredAt: (begin + after) * 1_000, receivedAt: (begin + after) * 1_000 }
        const { streamState, rows } = stream.toRows(pageOf({ items: [], total: 0, ...time }), state)
        return { state: streamState, at: (rows['players.cloud_player'] ?? []).map(row => row.destroyed_at) }
      },
      {
        state: stream.toRows(
          pageOf({ items: [{ id: 'a', createTs: begin }], total: 1, answeredAt: (begin + 1) * 1_000 }),
          null,
        ).streamState,
        at: [],
      },
    )
    expect(ends.at).toEqual([new Date((begin + 12) * 1_000).toISOString()])
  })

  it('comes to what was really said of each player, however it is cut, thinned, repeated or broken off', () => {
    fc.assert(
      fc.property(fc.array(listed, { minLength: 1, maxLength: 12 }), listings => {
        const tables = new Tables()
        readAll(listings, ({ rows }) => tables.apply(rows))
        for (const id of playerIds) expect([id, tables.of(id)]).toEqual([id, expected(id, listings)])
      }),
      { numRuns: 2_000 },
    )
  })

  it('remembers no player that has been gone for two complete listings', () => {
    fc.assert(
      fc.property(fc.array(listed, { minLength: 1, maxLength: 8 }), listings => {
        const empty: Listed = { after: 15, pages: [[]], off: 0, read: 99 }
        let last: Json = null
        readAll([...listings, empty, empty, empty], ({ streamState }) => {
          last = streamState
        })
        expect(last).toEqual({ players: [], listing: null })
      }),
    )
  })

  it('that never ends is not remembered without end', () => {
    let streamState: Json = null
    for (let i = 0; i < 50; i++) {
      const items = Array.from({ length: 500 }, (_, n) => ({ id: `${i}-${n}` }))
      const cursor = i === 0 ? null : `t${i}`
      streamState = stream.toRows(
        pageOf({ items, cursor, nextId: `t${i + 1}`, total: 9e9 }),
        streamState,
      ).streamState
    }
    const { players, listing } = streamState as unknown as { players: readonly unknown[]; listing: unknown }
    expect([players.length, listing]).toEqual([20_000, null])
  })

  it('proves nothing where it does not say how many there are in all', () => {
    const known = { id: 'p1', status: 'idle', since: 0, missed: { lists: 1, at: 0 }, changedAt: null }
    const { streamState, rows } = stream.toRows(pageOf({ items: [] }), { players: [known], listing: null })
    expect([streamState, rows['players.cloud_player']]).toEqual([{ players: [known], listing: null }, []])
  })

  it('tells the changes of a player in their order, whatever the clocks of those who read it', () => {
    const noon = Date.UTC(2026, 4, 4, 12)
    const told = [
      { status: 'idle', clock: 60_000 },
      { status: 'running', clock: -60_000 },
      { clock: -50_000 },
      { clock: -45_000 },
      { status: 'idle', clock: -40_000 },
    ]
    let streamState: Json = null
    const pages = told.map(({ status, clock }) => {
      const items = status ? [{ id: 'a', createTs: 1_767_222_000, status }] : []
      const page = pageOf({ items, total: items.length, receivedAt: noon + clock })
      const { rows, ...next } = stream.toRows(page, streamState)
      streamState = next.streamState
      return rows
    })
    const changes = pages.flatMap(rows => rows['players.cloud_player_change'] ?? [])
    expect(changes.map(({ to_status, changed_at }) => [to_status, Date.parse(changed_at) - noon])).toEqual([
      ['idle', 60_000],
      ['running', 60_001],
      ['destroyed', 60_002],
      ['idle', 60_003],
    ])
    const players = pages.flatMap(rows => rows['players.cloud_player'] ?? [])
    expect(players.map(row => row.destroyed_at)).toEqual([null, null, changes[2]!.changed_at, null])
  })

  it('loses no destruction with a page of which an entry is refused and left out', () => {
    const gone = { id: 'gone', status: 'running', since: 0, missed: { lists: 1, at: 1_000 } }
    const page = pageOf({ items: [{ id: 'odd' }], total: 1 })
    const whole = stream.toRows(page, { players: [gone], listing: null })
    const kept = stream.toRows({ ...page, items: [null] }, { players: [gone], listing: null })
    expect(kept.rows['players.cloud_player_change']).toEqual([])
    const next = stream.toRows(page, whole.streamState)
    expect(next.rows['players.cloud_player_change']).toEqual([
      expect.objectContaining({ player_id: 'gone', to_status: 'destroyed', from_status: null }),
    ])
  })
})

describe('the question', () => {
  it('asks for the largest pages, and goes on by the token of the page before', () => {
    const target = (cursor: string | null) =>
      requestLine(stream.operation, { appId: 'a1', ...stream.request(cursor) }).target
    expect([target(null), target('x/1==')]).toEqual([
      '/v1/projects/a1/cloud-player/players?pageSize=500',
      '/v1/projects/a1/cloud-player/players?pageSize=500&pageToken=x%2F1%3D%3D',
    ])
  })

  it('finds the entries, the next page and the number of all in an answer', () => {
    const players = [{ id: 'p1' }]
    expect(stream.read({ totalSize: 7, players, fields: 'id', nextPageToken: 't1' })).toEqual({
      ...{ items: players, nextId: 't1', total: 7 },
    })
    const none = { items: [], nextId: undefined, total: undefined }
    expect(stream.read({ players: [], nextPageToken: '' })).toEqual(none)
    expect(stream.read({ players: null, nextPageToken: null })).toEqual(none)
    expect(stream.read({ totalSize: 0 })).toEqual({ ...none, total: 0 })
  })

  it('is counted apart from lists of one channel only where the limits are read so', () => {
    const groups = (['joint', 'split'] as const).map(playerLimits => {
      const all = configuredStreams({ ...plainDeployment, playerLimits })
      return all.find(({ name }) => name === 'cloud-players')?.operation.limitGroup
    })
    expect(groups).toEqual(['players-list', 'players-list-all'])
  })
})

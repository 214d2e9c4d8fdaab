import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PageCommit } from '../../src/engine/ports.ts'
import { createIntentStore } from '../../src/postgres/players.ts'
import { readStatus, readStoreGauges } from '../../src/postgres/status.ts'
import { app, me, openStore, rowSet, type TestStore, time } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.follow(me, app, 'cloud-players', '')
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.rows('truncate players.cloud_player, players.cloud_player_change, classroom.room, analytics.call')
})

const said = {
  name: 'intro',
  uid: '7',
  account: null,
  channel_name: 'maths',
  stream_url: 'rtmp://live.example/a',
  status: 'running',
  created_at: time(-60),
  extra: { region: 'ap' },
}

/** A row of a player of which nothing is said but what is given. */
function player(player_id: string, more: object = {}) {
  const blank = Object.fromEntries(Object.keys(said).map(column => [column, null]))
  return { player_id, ...blank, last_seen_at: time(0), destroyed_at: null, ...more }
}

function change(player_id: string, from_status: string | null, to_status: string, minute = 0) {
  return { player_id, changed_at: time(minute), from_status, to_status, source: 'list' }
}

async function list(
  players: readonly object[],
  changes: readonly object[] = [],
  more: Partial<PageCommit> = {},
) {
  const { version } = (await db.store.progress(app, 'cloud-players', ''))!
  return db.store.commit({
    ...{ app, fence: me, cursor: null, streamState: null, rejects: [], caughtUp: true, version },
    ...{ stream: 'cloud-players', series: '', source: 'list', room: { kind: 'current' } },
    rows: rowSet({ 'players.cloud_player': players, 'players.cloud_player_change': changes }),
    ...more,
  })
}

const stored = async (id: string) =>
  (await db.rows('select * from players.cloud_player where player_id = $1', [id]))[0]
const history = () =>
  db.rows(
    'select player_id, from_status, to_status from players.cloud_player_change order by changed_at, player_id',
  )

describe('a page of the list of players', () => {
  it('is stored with its progress, its region unknown', async () => {
    const streamState = { players: [] }
    const { version } = (await db.store.progress(app, 'cloud-players', ''))!
    const result = await list([player('a', said), player('b')], [change('a', null, 'running')], {
      streamState,
    })
    expect(result).toMatchObject({
      outcome: 'committed',
      version: version + 1,
      stored: { 'players.cloud_player': 2, 'players.cloud_player_change': 1 },
    })
    expect(await db.store.progress(app, 'cloud-players', '')).toMatchObject({
      version: version + 1,
      streamState,
    })
    expect(await stored('a')).toMatchObject({
      ...said,
      ...{ app_id: app, region: null, created_at: new Date(time(-60)), first_seen_at: new Date(time(0)) },
    })
  })

  it('was seen first when the answer that named it was heard, however long its commit took', async () => {
    await list([player('late', { last_seen_at: time(-3) })])
    await list([player('late', { last_seen_at: time(0) })])
    expect(await stored('late')).toMatchObject({
      ...{ first_seen_at: new Date(time(-3)), last_seen_at: new Date(time(0)) },
    })
  })

  it.each(['before', 'after'])(
    'knows the region of a player that was made here %s it was listed',
    async when => {
      const intents = createIntentStore(db.pool)
      const intent = { app, name: when, channel: 'maths', region: 'eu', requestHash: 'h' }
      await intents.attempt(intent)
      // Somebody else wants the name meanwhile, and elsewhere.
      await intents.attempt({ ...intent, region: 'na', requestHash: 'other' })
      if (when === 'after') await list([player(when, said)])
      await intents.done(intent, when)
      await list([player(when, said)])
      await list([player(when, { status: 'failed' })])
      expect(await stored(when)).toMatchObject({ region: 'eu' })
    },
  )

  it('of another version, or of a process that lost the shard, writes nothing', async () => {
    expect(await list([player('a')], [], { version: 99 })).toEqual({ outcome: 'stale' })
    expect(await list([player('a')], [], { fence: { ...me, epoch: 2 } })).toEqual({ outcome: 'fenced' })
    expect(await stored('a')).toBeUndefined()
  })

  it('never erases what is known by saying nothing, and takes what it says', async () => {
    await list([player('a', said)])
    await list([player('a', { last_seen_at: time(1) })])
    expect(await stored('a')).toMatchObject({ ...said, created_at: new Date(time(-60)) })
    expect(await stored('a')).toMatchObject({ last_seen_at: new Date(time(1)) })
    await list([player('a', { status: 'failed', stream_url: 'rtmp://live.example/b' })])
    expect(await stored('a')).toMatchObject({
      name: 'intro',
      status: 'failed',
      stream_url: 'rtmp://live.example/b',
    })
  })

  it('tells when a player is gone, and that it lives when it comes back', async () => {
    await list([player('a', said), player('b', said)])
    const gone = { status: 'destroyed', destroyed_at: time(3), last_seen_at: null }
    await list([player('a', gone), player('b', gone)])
    expect(await stored('a')).toMatchObject({
      ...{
        status: 'destroyed',
        destroyed_at: new Date(time(3)),
        last_seen_at: new Date(time(0)),
        name: 'intro',
      },
    })
    await list([player('a', { status: 'idle' }), player('b')])
    expect(await stored('a')).toMatchObject({ status: 'idle', destroyed_at: null, name: 'intro' })
    // What it does now, nobody said.
    expect(await stored('b')).toMatchObject({ status: null, destroyed_at: null, name: 'intro' })
  })

  it('adds to the history what is not in it yet, whatever the stream has forgotten', async () => {
    await list([player('a', said)], [change('a', null, 'running')])
    await list([player('a', said)], [change('a', null, 'running', 1)])
    const failed = [player('a', { status: 'failed' })]
    expect(await list(failed, [change('a', null, 'failed', 2)])).toMatchObject({
      stored: { 'players.cloud_player': 0, 'players.cloud_player_change': 1 },
    })
    const gone = [player('a', { status: 'destroyed', destroyed_at: time(3) })]
    await list(gone, [change('a', 'failed', 'destroyed', 3)])
    await list(gone, [change('a', null, 'destroyed', 3)])
    await list([player('a', { status: 'idle' })], [change('a', null, 'idle', 4)])
    expect(await history()).toEqual([
      { player_id: 'a', from_status: null, to_status: 'running' },
      { player_id: 'a', from_status: 'running', to_status: 'failed' },
      { player_id: 'a', from_status: 'failed', to_status: 'destroyed' },
      { player_id: 'a', from_status: 'destroyed', to_status: 'idle' },
    ])
  })

  it('keeps what Postgres cannot hold as text, and sets aside what could not be read', async () => {
    const odd = { ...said, channel_name: 'a\0b', extra: { note: '\ud800' } }
    const rejects = [{ reason: 'missing_key', detail: 'id: Required', item: { name: '?' } }] as const
    expect(await list([player('odd', odd)], [], { rejects })).toMatchObject({
      outcome: 'committed',
      deadLetters: { missing_key: 1 },
    })
    expect(await stored('odd')).toMatchObject({ channel_name: 'a\u001a0000b', extra: { note: '\u001ad800' } })
  })

  it('that Postgres refuses is found out by a rehearsal, which leaves nothing behind', async () => {
    const { version } = (await db.store.progress(app, 'cloud-players', ''))!
    const page = (created_at: string): PageCommit => ({
      ...{ app, fence: me, cursor: null, streamState: null, rejects: [], caughtUp: true, version },
      ...{ stream: 'cloud-players', series: '', source: 'list', room: { kind: 'current' } },
      rows: rowSet({ 'players.cloud_player': [player('a', { created_at })] }),
    })
    expect(await db.store.dryRun(page(time(0)))).toBe(true)
    expect(await db.store.dryRun(page('yesterday evening'))).toBe(false)
    expect(await stored('a')).toBeUndefined()
  })
})

describe('the views', () => {
  async function room(
    uuid: string,
    state: number | null,
    more: { incarnation?: number; forgotten?: string } = {},
  ) {
    const { incarnation = 1, forgotten = null } = more
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, state, forgotten_at) values ($1, $2, $3, $4, $5)`,
      [app, uuid, incarnation, state, forgotten],
    )
  }
  async function call(cname: string, finished: boolean | null, began: number) {
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, finished, updated_at) values ($1, $2, $2, $3, $4, $3)`,
      [app, cname, time(began), finished],
    )
  }
  const day = 24 * 60

  it('name as orphans players that play where no class and no call goes on', async () => {
    const channels = [
      'none',
      'before',
      'during',
      'after',
      'forgotten',
      'reused',
      'calling',
      'called',
      'stale',
    ]
    await list(channels.map(channel_name => player(channel_name, { ...said, channel_name })))
    await list([
      player('idle', { ...said, status: 'idle', channel_name: 'none' }),
      player('failed', { ...said, status: 'failed', channel_name: 'none' }),
      player('gone', { ...said, status: 'destroyed', channel_name: 'none', destroyed_at: time(1) }),
      player('thin'),
      player('connecting', { ...said, status: 'connecting', channel_name: 'after' }),
    ])
    await room('before', 0)
    await room('during', 1)
    await room('after', 2)
    await room('forgotten', 1, { forgotten: time(0) })
    await room('reused', 1)
    await room('reused', 3, { incarnation: 2 })
    await call('calling', false, -60)
    await call('called', true, -60)
    await call('stale', false, -day - 1)
    const found = await db.rows('select player_id, room_state from players.orphan_player order by 1')
    expect(found).toEqual([
      { player_id: 'after', room_state: 2 },
      { player_id: 'before', room_state: 0 },
      { player_id: 'called', room_state: null },
      { player_id: 'connecting', room_state: 2 },
      { player_id: 'forgotten', room_state: 1 },
      { player_id: 'none', room_state: null },
      { player_id: 'reused', room_state: 3 },
      { player_id: 'stale', room_state: null },
    ])
  })

  it('do not take the class or the call of another app for its own', async () => {
    await list([player('a', said)])
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, state) values ('other', 'maths', 1, 1)`,
    )
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, finished) values ('other', 'c', 'maths', $1, false)`,
      [time(0)],
    )
    expect(await db.value('select count(*)::int from players.orphan_player')).toBe(1)
  })

  it('tell who plays where now', async () => {
    await list([
      player('second', { ...said, uid: null, account: 'board', status: 'idle', created_at: time(-5) }),
      player('first', said),
      player('elsewhere', { ...said, channel_name: 'art' }),
      player('gone', { ...said, destroyed_at: time(0), status: 'destroyed' }),
      player('nowhere'),
    ])
    const found = await db.rows('select * from players.channel order by channel_name')
    expect(found).toMatchObject([
      { channel_name: 'art', players: 1, running: 1, player_ids: ['elsewhere'] },
      {
        ...{ channel_name: 'maths', players: 2, running: 1, player_ids: ['first', 'second'] },
        ...{ users: ['7', 'board'], first_created_at: new Date(time(-60)) },
      },
    ])
  })

  it('count the players of a class beside its calls, each in the room that the name meant then', async () => {
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, valid_from, valid_to)
       values ($1, 'maths', 1, $2, $3), ($1, 'maths', 2, $3, null)`,
      [app, time(-90), time(-30)],
    )
    for (const [id, at] of [
      ['old', -80],
      ['new', -20],
    ] as const) {
      await db.rows(
        `insert into analytics.call (app_id, call_id, cname, created_at) values ($1, $2, 'maths', $3)`,
        [app, id, time(at)],
      )
    }
    await list([
      player('a', { ...said, created_at: time(-85) }),
      player('b', { ...said, created_at: time(-10) }),
      player('c', { ...said, created_at: null }),
    ])
    const found = await db.rows(
      'select incarnation, calls, cloud_players from analytics.class_quality order by 1',
    )
    expect(found).toEqual([
      { incarnation: 1, calls: 1, cloud_players: 1 },
      { incarnation: 2, calls: 1, cloud_players: 2 },
    ])
  })

  it('feed the gauges: players that live by status, and orphans of every app whose list was read', async () => {
    await list([
      player('a', said),
      player('b', { ...said, status: 'idle' }),
      player('c'),
      player('d', { ...said, status: 'destroyed', destroyed_at: time(0) }),
    ])
    const { players, orphans } = await readStoreGauges(db.pool)
    expect(players?.toSorted((a, b) => (a.status < b.status ? -1 : 1))).toEqual([
      { app, status: 'idle', count: 1 },
      { app, status: 'running', count: 1 },
      { app, status: 'unknown', count: 1 },
    ])
    expect(orphans).toEqual([{ app, count: 1 }])
    await room('maths', 1)
    expect((await readStoreGauges(db.pool)).orphans).toEqual([{ app, count: 0 }])
  })

  it('feed the gauges no more once the stream is switched off, and again when it is on', async () => {
    await list([player('a', said)])
    await db.rows(
      `insert into ingest.stream_off (app_id, stream, off_at) values ($1, 'cloud-players', ingest.clock())`,
      [app],
    )
    expect(await readStoreGauges(db.pool)).toMatchObject({ players: [], orphans: [] })
    await db.rows('delete from ingest.stream_off')
    expect(await readStoreGauges(db.pool)).toMatchObject({
      players: [{ app, status: 'running', count: 1 }],
      orphans: [{ app, count: 1 }],
    })
  })
})

it('the status shows the stream with the last commit of its only series', async () => {
  await list([])
  const { streams } = await readStatus(db.pool)
  expect(streams).toMatchObject([
    {
      app,
      stream: 'cloud-players',
      open: 1,
      backlog: 0,
      lastCommit: '2026-01-05T08:00:00Z',
      oldestSeconds: 0,
    },
  ])
})

it('a range of time cannot be asked for of a list, and what to look at instead is said', async () => {
  const asked = db.rows(`select ingest.is_complete('cloud-players', $1, $2, $3)`, [app, time(0), time(1)])
  await expect(asked).rejects.toMatchObject({ code: '22023', hint: expect.stringContaining('caught_up_at') })
})

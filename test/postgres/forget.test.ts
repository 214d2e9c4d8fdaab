import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Forgetting } from '../../src/postgres/forget.ts'
import { streams } from '../../src/streams/index.ts'
import { at, commitNext, iso, itemPage, work } from './analytics.ts'
import { app, me, type TestStore } from './harness.ts'
import {
  lesson,
  openReplayHarness,
  pollItems,
  quizItems,
  type ReplayHarness,
  record,
} from './replay-harness.ts'

const declared = Object.values(streams)
const keeping = { chat: 'on', names: 'on' } as const

let harness: ReplayHarness
let db: TestStore
let forgetting: Forgetting
beforeAll(async () => {
  harness = await openReplayHarness()
  db = harness.db
  forgetting = new Forgetting(db.pool, keeping, declared)
})
afterAll(() => harness.close())

/** Every row of the four schemas in which a text stands, as `table: row`. */
async function told(text: string): Promise<readonly string[]> {
  const names = await db.rows(
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('ingest', 'classroom', 'analytics', 'players') and c.relkind in ('r', 'p') and not c.relispartition`,
  )
  const found: string[] = []
  for (const { name } of names) {
    const isLetter = name === 'ingest.dead_letter'
    const row = isLetter ? `t.series || encode(t.body, 'escape')` : 't::text'
    const rows = await db.rows(`select ${row} as line from ${name} t where ${row} ~ $1`, [text])
    found.push(...rows.map(({ line }) => `${name}: ${line}`))
  }
  return found
}

/** All rows with what may be masked left out: keys, sequences, digests and counts. */
async function skeleton(): Promise<unknown> {
  const counts: Record<string, unknown> = {}
  for (const table of [
    'room_event',
    'chat_message',
    'attendance',
    'reward',
    'stage_change',
    'hand_wave',
    'quiz_submission',
    'poll_submission',
  ])
    counts[table] = await db.value(`select count(*)::int from classroom.${table}`)
  const hashes = await db.rows(
    'select room_uuid, widget, position, content_hash from classroom.widget_event order by 1, 2, 3',
  )
  const keys = await db.rows('select room_uuid, sequence, cmd, at from classroom.room_event order by 1, 2')
  return { counts, hashes, keys }
}

async function school(): Promise<void> {
  await harness.read('room-events', 'r1', { items: lesson('r1') })
  await harness.read('room-events', 'r2', { items: lesson('r2', 0, 40) })
  await harness.read('popup-quiz', 'r1', { items: quizItems })
  await harness.read('poll', 'r1', { items: pollItems })
}

const ann = { app, kind: 'user', id: 'ann' } as const

describe('whoever is forgotten', () => {
  it('is listed beforehand, which changes nothing', async () => {
    await school()
    const before = await told('ann')
    const { isForgotten, found } = await forgetting.look(ann)
    expect(isForgotten).toBe(false)
    expect(found).toMatchObject({
      'classroom.chat_message': 2,
      'classroom.attendance': 4,
      'classroom.reward': 2,
    })
    expect(await told('ann')).toEqual(before)
  })

  it('is told nowhere any more, and nothing else is gone', async () => {
    const before = await skeleton()
    const { found } = await forgetting.look(ann)
    expect(await forgetting.forget(ann)).toEqual(found)
    expect(await told('"?\\yann\\y|ANN')).toEqual([])
    expect(await skeleton()).toEqual(before)
    const people = await db.rows('select distinct user_uuid, user_name from classroom.attendance order by 2')
    expect(people).toEqual([
      { user_uuid: 'bob', user_name: 'BOB' },
      { user_uuid: expect.stringMatching(/^forgotten-[0-9a-f]{16}$/), user_name: people[1]!.user_uuid },
    ])
    expect(await db.rows('select user_uuid, message from classroom.chat_message')).toEqual([
      { user_uuid: people[1]!.user_uuid, message: '' },
      { user_uuid: people[1]!.user_uuid, message: '' },
    ])
  })

  it('once more finds nothing', async () => {
    expect(await forgetting.look(ann)).toEqual({ isForgotten: true, found: {} })
    expect(await forgetting.forget(ann)).toEqual({})
  })

  it('is noted without being named', async () => {
    const [noted] = await db.rows('select kind, forgotten_by, rows from ingest.forgotten')
    expect(noted).toMatchObject({ kind: 'user', rows: { 'classroom.chat_message': 2 } })
    expect(JSON.stringify(await db.rows('select * from ingest.forgotten'))).not.toContain('ann')
  })

  it('stays forgotten when the log is read again, and is no contradiction', async () => {
    const before = await harness.dump()
    await school()
    expect(await told('"?\\yann\\y|ANN')).toEqual([])
    expect(await harness.dump()).toEqual(before)
    expect(await db.rows('select key from ingest.divergence')).toEqual([])
  })

  it('and when the tables are made anew', async () => {
    const { tally } = await harness.compare()
    expect(tally.rows()).toBe(0)
  })

  it('and in what comes later, whichever way it is committed', async () => {
    const later = (room: string) => [
      record(room, 100, 20, { onlineUsers: [{ userUuid: 'ann', userName: 'ANN' }] }),
    ]
    // Alone.
    await harness.read('room-events', 'r3', { items: later('r3') })
    // By the feed.
    await harness.read('app-events', '', { items: later('r4') })
    // Together with others, copied.
    const pages = await Promise.all(
      ['r5', 'r6', 'r7', 'r8'].map(room => harness.page('room-events', room, { items: later(room) })),
    )
    await Promise.all(pages.map(page => db.store.commit(page)))
    expect(await told('"?\\yann\\y|ANN')).toEqual([])
    const [seventh, eighth] = await db.rows(
      `select xmin::text from ingest.progress where series in ('r7', 'r8') and stream = 'room-events'`,
    )
    expect(seventh).toEqual(eighth)
    const seen = await db.rows(
      `select room_uuid, user_uuid like 'forgotten-%' as masked from classroom.attendance where sequence = 100 order by 1`,
    )
    expect(seen).toEqual(['r3', 'r4', 'r5', 'r6', 'r7', 'r8'].map(room_uuid => ({ room_uuid, masked: true })))
  })

  it('also in bytes that nobody could read', async () => {
    const letter = {
      app,
      stream: 'room-events',
      series: 'r1',
      reason: 'malformed',
      detail: 'not JSON',
      alike: 'by body',
    } as const
    const bytes = (text: string) => Buffer.from(text)
    await db.store.deadLetter({
      ...letter,
      body: bytes('{"fromUser":{"userUuid":"ann","userName":"ANN"},"message":"hi"}'),
    })
    const rows = await db.rows(
      `select convert_from(body, 'UTF8') as body from ingest.dead_letter where reason = 'malformed'`,
    )
    expect(rows).toEqual([
      {
        body: expect.stringMatching(
          /^\{"fromUser":\{"userUuid":"forgotten-\w+","userName":"forgotten-\w+"\},"message":""\}$/,
        ),
      },
    ])
  })

  it('also of a commit that was under way meanwhile', async () => {
    const page = await harness.page('room-events', 'r9', {
      items: [record('r9', 1, 20, { onlineUsers: [{ userUuid: 'bob', userName: 'BOB' }] })],
    })
    // Another process forgets; this one has read who was forgotten before.
    await new Forgetting(db.pool, keeping, declared).forget({ ...ann, id: 'bob' })
    expect(await db.store.commit(page)).toMatchObject({ outcome: 'committed' })
    expect(await told('"?\\ybob\\y|BOB')).toEqual([])
  })

  it('also where a database that was put back has as many others forgotten, once the app begins anew', async () => {
    await harness.read('room-events', 'r10', { items: [] })
    await new Forgetting(db.pool, keeping, declared).forget({ ...ann, id: 'carl' })
    await db.rows(
      `delete from ingest.forgotten where mark = (select mark from ingest.forgotten order by forgotten_at desc offset 1 limit 1)`,
    )
    await db.store.noteApp(me, app, { timeZone: 'UTC', userLink: 'stream', on: [], off: [] })
    await harness.read('room-events', 'r11', {
      items: [record('r11', 1, 20, { onlineUsers: [{ userUuid: 'carl', userName: 'CARL' }] })],
    })
    expect(await told('"?\\ycarl\\y|CARL')).toEqual([])
  })
})

describe('a user of calls', () => {
  it('is forgotten in calls, and not in classrooms', async () => {
    const uid = '4711000'
    const call = { call_id: 'c1', cname: 'r1', finished: true, extra: { owner: uid } }
    const rows = { 'analytics.call': [{ ...call, created_at: iso(0), destroyed_at: iso(60) }] }
    await db.store.beginWindows(me, app, 'calls', [''], 0)
    await commitNext(db, 'calls', '', { rows })
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid, cname) values ($1, 'c1', 's1', $2, 'r1')`,
      [app, uid],
    )
    await db.rows(
      `insert into analytics.call_summary (app_id, call_id, persons) values ($1, 'c1', array[$2, '5'])`,
      [app, uid],
    )
    const found = await forgetting.forget({ app, kind: 'uid', id: uid })
    expect(found).toEqual({ 'analytics.call': 1, 'analytics.call_session': 1, 'analytics.call_summary': 1 })
    expect(await told(uid)).toEqual([])
  })

  it('stays so in what is listed later, and in values', async () => {
    const call = { call_id: 'c2', cname: 'r1', finished: true, extra: { owner: 4711000 } }
    await commitNext(db, 'calls', '', {
      rows: { 'analytics.call': [{ ...call, created_at: iso(0), destroyed_at: iso(60) }] },
      work: [work('c2'), work('c2', { stream: 'call-metrics', ask: { sids: ['s1'] } })],
    })
    const session = {
      ...{
        call_id: 'c2',
        sid: 's1',
        cname: 'r1',
        uid: '4711000',
        network: null,
        platform: null,
        speaker: true,
      },
      ...{
        sdk_version: null,
        device_type: null,
        joined_at: iso(0),
        left_at: iso(60),
        finished: true,
        extra: null,
      },
    }
    const series = { call_id: 'c2', sid: 's1', mid: 5, at: [at(0)], value: [1], peer_uid: '4711000' }
    const pages = [
      ['call-sessions', { 'analytics.call_session': [session] }],
      ['call-metrics', { 'analytics.session_series': [series, { ...series, peer_uid: '0' }] }],
    ] as const
    for (const [stream, rows] of pages) {
      const [item] = await db.store.items(app, stream, { after: 0, before: at(1e6) }, 10)
      expect(await db.store.commitItem(itemPage(item!, { rows }))).toMatchObject({ outcome: 'committed' })
    }
    expect(await told('4711000')).toEqual([])
    expect(await db.rows('select peer_uid from analytics.session_series order by 1')).toEqual([
      { peer_uid: '0' },
      { peer_uid: expect.stringMatching(/^forgotten-/) },
    ])
  })
})

describe('a room', () => {
  it('stays, with nobody of it known by ID or name, and with what they wrote gone', async () => {
    await harness.read('room-events', 'party', { items: lesson('party') })
    const before = await skeleton()
    await forgetting.forget({ app, kind: 'room', id: 'party' })
    expect(await skeleton()).toEqual(before)
    expect((await told('party')).length).toBeGreaterThan(0)
    const rows = await db.rows(
      `select data::text as line from classroom.room_event where room_uuid = 'party' and data::text ~ '\\y(tom|Tom|ann|bob|ANN|BOB|half)\\y'`,
    )
    expect(rows).toEqual([])
    await harness.read('room-events', 'party', { items: lesson('party') })
    expect(await skeleton()).toEqual(before)
    expect(await db.rows('select key from ingest.divergence')).toEqual([])
    expect((await harness.compare()).tally.rows()).toBe(0)
  })

  it('is that of the calls in its channel, also where a stay does not say in which', async () => {
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at) values ($1, 'ball', 'ball', now())`,
      [app],
    )
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid, cname)
       values ($1, 'ball', 's1', '815001', 'ball'), ($1, 'ball', 's2', '815002', null)`,
      [app],
    )
    await forgetting.forget({ app, kind: 'room', id: 'ball' })
    expect(await told('81500')).toEqual([])
  })

  it('is that of what the feed told of it and nobody could read, before and after, and of no other room', async () => {
    const record = (roomUuid: string, guest: string, sequence: number) => ({
      ...{ roomUuid, cmd: 'chat', sequence, version: 1 },
      data: { fromUser: { userUuid: `guest-${guest}`, userName: `GUEST ${guest}` }, message: 'hello' },
    })
    const answer = (room: string, guest: string) => ({
      code: 0,
      data: { page: { list: [record(room, guest, 9)] } },
    })
    const letters = async (room: string, ...guests: readonly [string, string, string]) => {
      await harness.read('app-events', '', { items: [record(room, guests[0], 7)] })
      const texts = [
        JSON.stringify(answer(room, guests[1])),
        JSON.stringify([record(room, guests[2], 8)]).slice(0, -2),
      ]
      for (const text of texts)
        await db.store.deadLetter({
          ...{ app, stream: 'app-events', series: '', reason: 'malformed', detail: 'answer: cannot be read' },
          ...{ body: new TextEncoder().encode(text), alike: 'by body' },
        })
    }
    await letters('gala "7"', '8171', '8172', '8173')
    await letters('opera', '8271', '8272', '8273')
    const others = await told('guest-827|GUEST 827')
    expect(await forgetting.forget({ app, kind: 'room', id: 'gala "7"' })).toMatchObject({
      'ingest.dead_letter': 3,
    })
    await letters('gala "7"', '8174', '8175', '8176')
    expect(await told('guest-817|GUEST 817')).toEqual([])
    expect(await told('guest-827|GUEST 827')).toEqual(others)
    expect(others).toHaveLength(3)
  })

  it('of which nobody could read something keeps how much that was, also when it is forgotten once more', async () => {
    const body = new TextEncoder().encode('<html>guest-8371 is in the cellar</html>'.padEnd(1_234))
    const letter = {
      app,
      stream: 'room-events',
      series: 'cellar',
      reason: 'malformed',
      detail: 'no JSON',
    } as const
    await db.store.deadLetter({ ...letter, body, alike: 'by body' })
    const cellar = { app, kind: 'room', id: 'cellar' } as const
    expect(await forgetting.forget(cellar)).toEqual({ 'ingest.dead_letter': 1 })
    const kept = await told('cellar.withheld')
    expect(kept).toEqual([expect.stringContaining('withheld: 1234 bytes')])
    expect(await forgetting.forget(cellar)).toEqual({})
    expect(await told('cellar.withheld')).toEqual(kept)
  })

  it('is that of what could not be read of these calls, before and after', async () => {
    await db.store.beginWindows(me, app, 'calls', [''], 0)
    const call = { call_id: 'waltz', cname: 'dance', finished: true, extra: null }
    await commitNext(db, 'calls', '', {
      rows: { 'analytics.call': [{ ...call, created_at: iso(0), destroyed_at: iso(60) }] },
      work: [work('waltz')],
    })
    const read = async (uid: string) => {
      const items = await db.store.items(app, 'call-sessions', { after: 0, before: at(1e6) }, 10)
      const item = items.find(({ key }) => key === 'waltz')!
      const reject = { reason: 'wrong_type', detail: 'sid: Invalid input', item: { sid: 7, uid } } as const
      await db.store.commitItem(itemPage(item, { rejects: [reject], again: -1 }))
    }
    await read('815003')
    await forgetting.forget({ app, kind: 'room', id: 'dance' })
    await read('815004')
    expect(await db.value(`select count(*)::int from ingest.dead_letter where series = 'waltz'`)).toBe(2)
    expect(await told('81500')).toEqual([])
  })
})

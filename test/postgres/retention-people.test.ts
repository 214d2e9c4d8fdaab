import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJson, writeJson } from '../../src/postgres/encode.ts'
import { classroomTables, room } from '../../src/tables/classroom.ts'
import { commitNext, iso, itemPage, openItems, session, work } from './analytics.ts'
import { app, listPage, me, rowSet, start, type TestStore } from './harness.ts'
import { lesson, openReplayHarness, pollItems, quizItems, type ReplayHarness } from './replay-harness.ts'

const day = 86_400_000
const contents = classroomTables.filter(table => table !== room).map(({ name }) => name)

let harness: ReplayHarness
let db: TestStore
beforeAll(async () => {
  harness = await openReplayHarness({ retention: { classroom: 400 * day, calls: 400 * day } })
  db = harness.db
})
afterAll(() => harness.close())

/** The one message that cannot be read says something here. */
const sound = (name: string) =>
  lesson(name).map(each => decodeJson(writeJson(each).replace('"message":42', '"message":"fine"')) as object)

async function rowsOf(name: string): Promise<number> {
  let rows = 0
  for (const table of contents) {
    rows += (await db.value(`select count(*)::int from ${table} where room_uuid = $1`, [name])) as number
  }
  return rows
}

/** The log is read until nothing is new, as a room is when its class is over. */
async function held(name: string): Promise<void> {
  await db.setTime(new Date(Date.parse(start) + 20 * 60_000).toISOString())
  await harness.read('room-events', name, { items: sound(name) })
  await harness.read('popup-quiz', name, { items: quizItems })
  await harness.read('poll', name, { items: pollItems })
  for (const stream of ['recordings', 'resources'] as const) {
    const { version } = (await db.store.progress(app, stream, name))!
    const recording = {
      ...{
        room_uuid: name,
        record_id: 'x',
        sid: null,
        resource_id: null,
        type: 1,
        status: 2,
        url: null,
        extra: null,
      },
      ...{ started_at: null, ended_at: new Date(start).toISOString() },
    }
    const rows = rowSet(stream === 'recordings' ? { 'classroom.recording': [recording] } : {})
    await db.store.commit(listPage(stream, name, version, { rows }))
  }
  await db.rows(`update ingest.progress set closed_at = caught_up_at where series = $1`, [name])
}

const verdicts = (name: string) =>
  db.rows('select stream, complete, reason, gaps from ingest.room_complete where room_uuid = $1 order by 1', [
    name,
  ])
const days = () =>
  db.rows(
    `select stream, day::text, complete, gaps from ingest.complete_day where day = date '2026-01-05' order by 1`,
  )
const gaps = () => db.rows('select stream, series, reason from ingest.gap')

describe('a class that is as old as classrooms are kept', () => {
  it('goes with all that happened in it, and the verdict on it stays', async () => {
    await held('old')
    await db.rows(`update classroom.room_event set source = 'feed' where room_uuid = 'old' and sequence = 3`)
    const before = await verdicts('old')
    expect(before).toContainEqual({
      stream: 'room-events',
      complete: false,
      reason: 'unconfirmed',
      gaps: '0',
    })
    expect(before).toContainEqual({
      stream: 'recordings',
      complete: false,
      reason: 'files_missing',
      gaps: '0',
    })
    expect(before).toContainEqual({ stream: 'poll', complete: true, reason: null, gaps: '0' })
    await db.advance(399 * day)
    await held('young')
    await db.setTime(new Date(Date.parse(start) + 401 * day).toISOString())
    await db.rows(
      `update classroom.room set verified_at = ingest.clock(), last_event_at = ingest.clock() where room_uuid = 'young'`,
    )
    const young = await rowsOf('young')
    await db.rows(
      `update ingest.progress set stream_state = stream_state || '{"tail": "x"}' where stream = 'room-events'`,
    )

    await db.keepHouse()
    expect(await rowsOf('old')).toBe(0)
    // What is gone is stored again when it is told again.
    expect(await db.rows(`select series from ingest.progress where stream_state ? 'tail'`)).toEqual([
      { series: 'young' },
    ])
    expect(await rowsOf('young')).toBe(young)
    expect(await verdicts('old')).toEqual(before)
    expect(await gaps()).toEqual([])
    expect(await db.rows(`select incarnation, state from classroom.room where room_uuid = 'old'`)).toEqual([
      { incarnation: 1, state: 3 },
    ])
  })

  it('is nothing that a replay finds fault with', async () => {
    const { tally } = await harness.compare()
    expect(tally.tables().filter(({ table }) => table === 'classroom.room')).toEqual([])
    expect((await db.rows(`select 1 from classroom.room where room_uuid = 'old'`)).length).toBe(1)
  })

  it('is the same room when its log is served again, and fills with it', async () => {
    await harness.read('room-events', 'old', { items: sound('old') })
    expect(await db.rows(`select incarnation from classroom.room where room_uuid = 'old'`)).toEqual([
      { incarnation: 1 },
    ])
    expect(await rowsOf('old')).toBeGreaterThan(10)
    expect(await db.rows('select key from ingest.divergence')).toEqual([])
    expect(await gaps()).toEqual([])
    // Its life begins anew.
    await db.keepHouse()
    expect(await rowsOf('old')).toBeGreaterThan(10)
    await db.rows(
      `update classroom.room set verified_at = verified_at - interval '401 days', last_event_at = last_event_at - interval '401 days', emptied_at = emptied_at - interval '402 days'`,
    )
    await db.keepHouse()
    expect(await rowsOf('old')).toBe(0)
  })
})

describe('a class that was emptied, and whose log was served again', () => {
  it('goes once more, also when it is forgotten meanwhile', async () => {
    await db.rows('truncate ingest.progress')
    await db.setTime(start)
    await harness.read('room-events', 'twice', { items: sound('twice') })
    await db.advance(401 * day)
    await db.keepHouse()
    await db.keepHouse()
    expect(await rowsOf('twice')).toBe(0)
    await db.advance(3 * 3_600_000)
    await harness.read('room-events', 'twice', { items: sound('twice') })
    await db.advance(3 * 3_600_000)
    const before = await verdicts('twice')
    await db.store.forgetRoom(me, app, 'twice')
    // What was not read of it by then is lost.
    const after = before.map(each => (each.reason === 'unread' ? { ...each, gaps: '1' } : each))
    expect(await verdicts('twice')).toEqual(after)
    await db.keepHouse()
    await db.keepHouse()
    expect(await rowsOf('twice')).toBe(0)
    expect(await verdicts('twice')).toEqual(after)
  })
})

describe('a room whose log nobody could read', () => {
  it('keeps what else was read of it when it is forgotten, for as long as classrooms are kept', async () => {
    await db.rows('truncate ingest.progress')
    await db.setTime(start)
    await db.store.discoverRooms(me, app, ['mute'])
    expect(await db.store.vouchFor(me, app, 'mute')).toBe(true)
    const rows = rowSet({ 'classroom.quiz': [{ room_uuid: 'mute', quiz_id: 'q' }] })
    const { version } = (await db.store.progress(app, 'popup-quiz', 'mute'))!
    await db.store.commit(listPage('popup-quiz', 'mute', version, { rows, streamState: {} }))
    await db.advance(2 * 3_600_000)
    await db.store.forgetRoom(me, app, 'mute')
    await db.keepHouse()
    expect(await rowsOf('mute')).toBe(1)
    await db.advance(400 * day)
    await db.keepHouse()
    expect(await rowsOf('mute')).toBe(0)
  })
})

describe('a retention of days', () => {
  it('takes nothing from what makes a day complete', async () => {
    await db.rows(`truncate ingest.progress, classroom.room, ${contents.join(', ')}`)
    const other = await openReplayHarness({ retention: { classroom: day } })
    db = other.db
    const first = harness
    harness = other
    await held('brief')
    await db.setTime(new Date(Date.parse(start) + 3 * day).toISOString())
    await db.rows('update ingest.progress set caught_up_at = ingest.clock()')
    await db.rows(`update classroom.room set first_seen_at = first_seen_at - interval '2 days'`)
    const before = await days()
    expect(before).toContainEqual({ stream: 'room-events', day: '2026-01-05', complete: true, gaps: 0 })
    await db.keepHouse()
    expect(await rowsOf('brief')).toBe(0)
    expect(await days()).toEqual(before)
    await other.close()
    harness = first
    db = first.db
  })
})

describe('a call that is as old as calls are kept', () => {
  it('stays, without those who were in it', async () => {
    const call = { call_id: 'c1', cname: 'r', finished: true, extra: { owner: '7' } }
    await db.setTime(start)
    await db.store.beginWindows(me, app, 'calls', [''], 0)
    await commitNext(db, 'calls', '', {
      rows: { 'analytics.call': [{ ...call, created_at: iso(0), destroyed_at: iso(60) }] },
    })
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid) values ($1, 'c1', 's', '7')`,
      [app],
    )
    await db.rows(`insert into analytics.call_summary (app_id, call_id, persons) values ($1, 'c1', '{7}')`, [
      app,
    ])
    await db.advance(399 * day)
    await db.keepHouse()
    expect(await db.value('select count(*)::int from analytics.call_session')).toBe(1)
    await db.advance(2 * day)
    await db.keepHouse()
    for (const table of ['call_session', 'call_summary']) {
      expect(await db.value(`select count(*)::int from analytics.${table}`), table).toBe(0)
    }
    expect(await db.rows('select call_id, cname, extra from analytics.call')).toEqual([
      { call_id: 'c1', cname: 'r', extra: null },
    ])
  })

  it('goes once more when it was read only after it had gone', async () => {
    const old = -500 * 86_400
    const call = { call_id: 'late', cname: 'r', finished: true, extra: null }
    await commitNext(db, 'calls', '', {
      rows: { 'analytics.call': [{ ...call, created_at: iso(old), destroyed_at: iso(old + 60) }] },
      work: [work('late', { from: old, to: old + 60 })],
    })
    await db.keepHouse()
    const [item] = await openItems(db)
    const stay = session('late', 's', { joined_at: iso(old), left_at: iso(old + 60) })
    await db.store.commitItem(itemPage(item!, { rows: rowSet({ 'analytics.call_session': [stay] }) }))
    const kept = () =>
      db.rows(
        'select uid from analytics.call_session union all select persons[1] from analytics.call_summary',
      )
    expect(await kept()).toEqual([{ uid: '1' }, { uid: '1' }])
    await db.keepHouse()
    expect(await kept()).toEqual([])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { rebuildWith } from '../../src/commands/replay/rebuild.ts'
import { storeDeadLetter } from '../../src/postgres/dead-letters.ts'
import { Forgetting } from '../../src/postgres/forget.ts'
import { Masks } from '../../src/postgres/masks.ts'
import { openReplay, type Replay } from '../../src/postgres/replay.ts'
import { streams } from '../../src/streams/index.ts'
import { at, commitNext, itemPage, openItems, work } from './analytics.ts'
import { app, me, session } from './harness.ts'
import { minute, openReplayHarness, pupil, type ReplayHarness, record, settings } from './replay-harness.ts'

const keeping = { chat: 'on', names: 'on' } as const

let harness: ReplayHarness
let forgetting: Forgetting
/** A session that waits for a lock as long as a test may take. */
let patient: Replay
beforeAll(async () => {
  harness = await openReplayHarness()
  const { pool } = harness.db
  forgetting = new Forgetting(pool, keeping, Object.values(streams))
  const limits = { lock: 60_000, total: 60_000 }
  patient = await openReplay(pool, { streams: Object.values(streams), clock: systemClock, limits })
})
afterAll(async () => {
  patient.close()
  await harness.close()
})

const rebuild = rebuildWith(Object.values(streams), settings, () => {})
const messages = (room: string) =>
  harness.db.rows('select user_uuid, message from classroom.chat_message where room_uuid = $1 order by 1', [
    room,
  ])
const masked = expect.stringMatching(/^forgotten-[0-9a-f]{16}$/)

const message = (room: string, who: string) =>
  record(room, 2, 3, { fromUser: pupil(who), message: 'here I am' })

/** A room in which one person wrote something. */
async function said(room: string, who: string): Promise<void> {
  const items = [record(room, 1, 1, { state: 1, startTime: minute(0) }), message(room, who)]
  await harness.read('room-events', room, { items, answeredAt: minute(9) })
}
const forget = (name: string) => forgetting.forget({ app, kind: 'user', id: name })

/** Until so many sessions of the database wait for a lock, or what should wait is over. */
async function untilWaiting(sessions: number, isOver: () => boolean = () => false): Promise<void> {
  const count = `select count(*)::int from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'`
  while (!isOver() && Number(await harness.db.value(count)) < sessions) {}
}

describe('someone who is forgotten while others write', () => {
  it('is masked in what a letter tells that was read before', async () => {
    const masks = new Masks(harness.db.pool, keeping)
    await masks.run(app, async () => {})
    await forget('writer')
    const answer = { series: 'r1', cursor: null, purpose: 'read', nextId: 'more', settings } as const
    const { rows } = streams['room-events'].toRows(
      { ...answer, answeredAt: minute(9), receivedAt: minute(9), items: [message('r1', 'writer')] },
      null,
    )
    const letter = {
      ...{ id: '1', app, stream: 'room-events', series: 'r1', reason: 'wrong_type', detail: '' },
      ...{ body: Buffer.from(''), receivedAt: minute(9), isCut: false },
    }
    // The tables are rebuilt from what is stored raw.
    const raw = { 'classroom.room_event': rows['classroom.room_event']! }
    const page = { rows: raw, writes: streams['room-events'].writes }
    expect(await storeDeadLetter(harness.db.pool, letter, page, true, masks)).toBe(true)
    const data = `select data::text from classroom.room_event where room_uuid = 'r1'`
    expect(await harness.db.value(data)).not.toMatch(/writer|here/)
  })

  it('stays so where a room was compared before: it is compared again', async () => {
    await said('r2', 'before')
    const place = { app, room: 'r2', incarnation: 1 }
    await harness.db.rows(`delete from classroom.chat_message where room_uuid = 'r2'`)
    const found = await harness.replay.compare(place, rebuild)
    await forget('before')
    expect(await harness.replay.mend(place, found)).toEqual({ outcome: 'moved' })
    expect(await messages('r2')).toEqual([])
    await harness.write()
    expect(await messages('r2')).toEqual([{ user_uuid: masked, message: '' }])
  })

  it('waits for a room that is changed meanwhile, and is masked in it', async () => {
    await said('r3', 'while')
    const place = { app, room: 'r3', incarnation: 1 }
    await harness.db.rows(`delete from classroom.chat_message where room_uuid = 'r3'`)
    await harness.db.rows(`update classroom.room_state_change set started_at = now() where room_uuid = 'r3'`)
    const found = await patient.compare(place, rebuild)
    const other = await session(harness.db.url)
    await other.query('begin')
    await other.query(`select from classroom.room_state_change where room_uuid = 'r3' for update`)
    const mending = patient.mend(place, found)
    await untilWaiting(1)
    let isOver = false
    const done = forget('while').finally(() => {
      isOver = true
    })
    await untilWaiting(2, () => isOver)
    expect(isOver).toBe(false)
    await other.query('commit')
    expect(await mending).toMatchObject({ outcome: 'mended' })
    await done
    expect(await messages('r3')).toEqual([{ user_uuid: masked, message: '' }])
  })

  it('is not named by a call that is summed up meanwhile', async () => {
    const { db } = harness
    await db.rows(`insert into analytics.call (app_id, call_id, created_at) values ($1, 'summed', now())`, [
      app,
    ])
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid) values ($1, 'summed', 's', '4711000')`,
      [app],
    )
    const other = await session(db.url)
    // Whoever stores the last of a call once it is known who is forgotten, and before all is masked.
    const begin = async () => {
      const known = await db.value('select count(*) from ingest.forgotten where app_id = $1', [app])
      await other.query('begin')
      await other.query('select ingest.hold_forgotten($1, $2)', [app, known])
      await other.query(`select analytics.summarize_tried($1, array['summed'])`, [app])
    }
    const pool = new Proxy(db.pool, {
      get: (target, name) => {
        if (name !== 'query') return Reflect.get(target, name).bind(target)
        return async (what: { text: string }) => {
          const result = await target.query(what)
          if (what.text.includes('remember_forgotten')) await begin()
          return result
        }
      },
    })
    const person = { app, kind: 'uid', id: '4711000' } as const
    let isOver = false
    const done = new Forgetting(pool, keeping, Object.values(streams)).forget(person).finally(() => {
      isOver = true
    })
    await untilWaiting(1, () => isOver)
    await other.query('commit')
    await done
    expect(await db.rows('select persons from analytics.call_summary')).toEqual([{ persons: [masked] }])
  })

  it('is found again in rows that have moved', async () => {
    await said('r4', 'moved')
    const other = await session(harness.db.url)
    await other.query(`begin; update classroom.chat_message set at = at where room_uuid = 'r4'`)
    const done = forget('moved')
    await untilWaiting(1)
    await other.query('commit')
    await done
    expect(await messages('r4')).toEqual([{ user_uuid: masked, message: '' }])
  })
})

describe('what is remembered of users of calls', () => {
  const letters = () => harness.db.rows('select series, letters::int from ingest.unkept_letter')
  const counted = () =>
    harness.db.value(`select stream_state from ingest.work_item where stream = 'call-sessions'`)

  it('of letters that were not kept is masked', async () => {
    await harness.db.rows(
      `insert into ingest.unkept_letter (app_id, stream, series, reason, letters, last_seen_at)
       values ($1, 'realtime-quality', 'maths 4711000', 'wrong_type', 3, now()), ($1, 'popup-quiz', '4711000', 'wrong_type', 1, now())`,
      [app],
    )
    expect(await forgetting.forget({ app, kind: 'uid', id: '4711000' })).toEqual({
      'ingest.unkept_letter': 1,
    })
    expect(await letters()).toEqual(
      expect.arrayContaining([
        { series: expect.stringMatching(/^maths forgotten-[0-9a-f]{16}$/), letters: 3 },
        { series: '4711000', letters: 1 },
      ]),
    )
  })

  it('of a call whose sessions are listed is masked, stored before or later', async () => {
    await harness.db.store.beginWindows(me, app, 'calls', [''], 0)
    await commitNext(harness.db, 'calls', '', { work: [work('c1')] })
    const sessions = [['4712000', at(0), at(60)]]
    const page = async (users: readonly string[]) => {
      const [item] = await openItems(harness.db)
      const state = { sessions, users: [...users] }
      return harness.db.store.commitItem(itemPage(item!, { nextPage: 2, streamState: state }))
    }
    await page(['4712000', '5', 'sid s1'])
    expect(await forgetting.forget({ app, kind: 'uid', id: '4712000' })).toEqual({ 'ingest.work_item': 1 })
    expect(await counted()).toEqual({ sessions, users: [masked, '5', 'sid s1'] })
    expect(await page(['4712000', '6'])).toMatchObject({ outcome: 'committed' })
    expect(await counted()).toEqual({ sessions, users: [masked, '6'] })
    expect(await forgetting.look({ app, kind: 'uid', id: '4712000' })).toEqual({
      isForgotten: true,
      found: {},
    })
  })

  it('of all who were in a room is masked too', async () => {
    await harness.db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at) values ($1, 'c1', 'party', now())`,
      [app],
    )
    await forgetting.forget({ app, kind: 'room', id: 'party' })
    expect(await counted()).toMatchObject({ users: [masked, masked] })
    const [item] = await openItems(harness.db)
    const streamState = { sessions: [], users: ['7'] }
    await harness.db.store.commitItem(itemPage(item!, { nextPage: 3, streamState }))
    expect(await counted()).toEqual({ sessions: [], users: [masked] })
  })
})

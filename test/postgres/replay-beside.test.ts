import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { rebuildWith } from '../../src/commands/replay/rebuild.ts'
import type { Incarnation } from '../../src/postgres/replay/session.ts'
import { type Comparison, openReplay, type Replay } from '../../src/postgres/replay.ts'
import { streams } from '../../src/streams/index.ts'
import { app, session } from './harness.ts'
import {
  lesson,
  minute,
  openReplayHarness,
  pollItems,
  pupil,
  type ReplayHarness,
  record,
  settings,
} from './replay-harness.ts'

let harness: ReplayHarness
/** A session that waits for a lock as long as a test may take. */
let patient: Replay
let turn = 0
beforeAll(async () => {
  harness = await openReplayHarness()
  const limits = { lock: 60_000, total: 60_000 }
  patient = await openReplay(harness.db.pool, {
    streams: Object.values(streams),
    clock: systemClock,
    limits,
  })
})
afterAll(async () => {
  patient.close()
  await harness.close()
})

/** What is wrong in the table that is mended first, so that a change can be stopped before it comes to the messages. */
const spoilFirst = `update classroom.room_state_change set started_at = now() where room_uuid = $1`
const holdFirst = `select from classroom.room_state_change where room_uuid = $1 for update`

const rebuild = rebuildWith(Object.values(streams), settings, () => {})
const opening = lesson('').length - 5

/** A room of its own, still open, in which one message is wrong; and the comparison that found it. */
async function roomWithDifference(): Promise<{
  readonly place: Incarnation
  readonly found: Comparison
  readonly name: string
}> {
  const name = `room-${++turn}`
  await harness.read('room-events', name, { items: lesson(name).slice(0, opening), answeredAt: minute(9) })
  await harness.read('poll', name, { items: pollItems })
  await harness.db.rows(`update classroom.chat_message set message = 'planted' where room_uuid = $1`, [name])
  const place = { app, room: name, incarnation: 1 }
  const found = await harness.replay.compare(place, rebuild)
  expect(found.differences).toMatchObject([{ table: 'classroom.chat_message', kind: 'different', rows: 1 }])
  return { place, found, name }
}

const planted = async (name: string) =>
  harness.db.value(
    `select count(*)::int from classroom.chat_message where room_uuid = $1 and message = 'planted'`,
    [name],
  )
const message = (name: string, sequence: number) =>
  record(name, sequence, 3, { fromUser: pupil('bob'), message: `fresh ${sequence}` })
const fresh = async (name: string) =>
  harness.db.value(
    `select count(*)::int from classroom.chat_message where room_uuid = $1 and message like 'fresh%'`,
    [name],
  )

describe('what a daemon writes meanwhile is never undone', () => {
  it('a page of the log between the comparison and the change: nothing is changed, and compared again it is', async () => {
    const { place, found, name } = await roomWithDifference()
    await harness.read('room-events', name, {
      items: [...lesson(name).slice(0, opening), message(name, 50)],
      answeredAt: minute(11),
    })
    expect(await harness.replay.mend(place, found)).toEqual({ outcome: 'moved' })
    expect([await planted(name), await fresh(name)]).toEqual([1, 1])
    const { tally, busy } = await harness.write()
    expect([tally.rows(), busy]).toEqual([1, []])
    expect([await planted(name), await fresh(name)]).toEqual([0, 1])
  })

  it('an answer of the feed between the comparison and the change', async () => {
    const { place, found, name } = await roomWithDifference()
    await harness.read('app-events', '', { items: [message(name, 50)], answeredAt: minute(11) })
    expect(await harness.replay.mend(place, found)).toEqual({ outcome: 'moved' })
    await harness.write()
    expect([await planted(name), await fresh(name)]).toEqual([0, 1])
  })

  it('a page of the log of its polls between the comparison and the change', async () => {
    const { place, found, name } = await roomWithDifference()
    await harness.read('poll', name, { items: [...pollItems, { ...pollItems[1], sequence: 99 }] })
    expect(await harness.replay.mend(place, found)).toEqual({ outcome: 'moved' })
    expect((await harness.write()).tally.rows()).toBe(1)
  })

  it('an answer of the feed while the change is under way', async () => {
    const { place, name } = await roomWithDifference()
    await harness.db.rows(spoilFirst, [name])
    const found = await patient.compare(place, rebuild)
    const other = await session(harness.db.url)
    await other.query('begin')
    await other.query(holdFirst, [name])
    const mending = patient.mend(place, found)
    await untilWaiting(1)
    await harness.read('app-events', '', { items: [message(name, 51)], answeredAt: minute(11) })
    await other.query('commit')
    expect(await mending).toMatchObject({ outcome: 'mended' })
    expect([await planted(name), await fresh(name)]).toEqual([0, 1])
    expect((await harness.compare()).tally.rows()).toBe(0)
  })

  it('a page of the log while the change is under way waits for it', async () => {
    const { place, name } = await roomWithDifference()
    await harness.db.rows(spoilFirst, [name])
    const found = await patient.compare(place, rebuild)
    const other = await session(harness.db.url)
    await other.query('begin')
    await other.query(holdFirst, [name])
    const mending = patient.mend(place, found)
    await untilWaiting(1)
    const items = [...lesson(name).slice(0, opening), message(name, 52)]
    const reading = harness.read('room-events', name, { items, answeredAt: minute(11) })
    await untilWaiting(2)
    await other.query('commit')
    expect(await mending).toMatchObject({ outcome: 'mended' })
    expect((await reading).outcome).toBe('committed')
    expect([await planted(name), await fresh(name)]).toEqual([0, 1])
    expect((await harness.compare()).tally.rows()).toBe(0)
  })

  it('a commit that is under way makes the room busy, and the room is tried again later', async () => {
    const { place, found, name } = await roomWithDifference()
    const other = await session(harness.db.url)
    await other.query('begin')
    await other.query(
      `update ingest.progress set version = version + 1 where series = $1 and stream = 'room-events'`,
      [name],
    )
    expect(await harness.replay.mend(place, found)).toEqual({ outcome: 'busy' })
    const writing = harness.write()
    await untilWaiting(1)
    await other.query('commit')
    const { tally, busy } = await writing
    expect([tally.rows(), busy, await planted(name)]).toEqual([1, [], 0])
  })

  it('a room that stays busy is told, and is as it was', async () => {
    const { place, name } = await roomWithDifference()
    const other = await session(harness.db.url)
    await other.query('begin')
    await other.query(`select from ingest.progress where series = $1 for update`, [name])
    const { tally, busy } = await harness.write()
    expect([tally.rows(), busy, await planted(name)]).toEqual([0, [place], 1])
    await other.query('rollback')
    expect((await harness.write()).tally.rows()).toBe(1)
  })

  it('a change that takes too long is given up whole', async () => {
    const { place, name } = await roomWithDifference()
    const hasty = await openReplay(harness.db.pool, {
      ...{
        streams: Object.values(streams),
        clock: systemClock,
        limits: { lock: 60_000, total: 200 },
      },
    })
    const other = await session(harness.db.url)
    await other.query('begin')
    await other.query('select from classroom.chat_message where room_uuid = $1 for update', [name])
    await harness.db.rows(spoilFirst, [name])
    expect(await hasty.mend(place, await hasty.compare(place, rebuild))).toEqual({ outcome: 'busy' })
    await other.query('rollback')
    expect((await harness.write()).tally.rows()).toBeGreaterThan(1)
    hasty.close()
  })

  it('a comparison sees one moment only, whatever is written while it goes on', async () => {
    const { place, name } = await roomWithDifference()
    await harness.write()
    const found = await harness.replay.compare(place, async (at, raw, put) => {
      await harness.read('app-events', '', { items: [message(name, 53)], answeredAt: minute(12) })
      await harness.read('room-events', name, {
        items: [...lesson(name).slice(0, opening), message(name, 54)],
        answeredAt: minute(12),
      })
      return rebuild(at, raw, put)
    })
    expect(found.differences).toEqual([])
    expect(await fresh(name)).toBe(2)
  })
})

/** Until so many sessions of the database wait for a lock. */
async function untilWaiting(sessions: number): Promise<void> {
  const count = `select count(*)::int from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'`
  while (Number(await harness.db.value(count)) < sessions) {}
}

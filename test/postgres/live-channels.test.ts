import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { at, back, commitNext, iso, span } from './analytics.ts'
import { app, me, openStore, type TestStore } from './harness.ts'

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows('truncate ingest.progress, ingest.gap, analytics.call, classroom.room cascade')
})
afterAll(async () => (await opened)?.close())

const stream = 'realtime-usage'
const step = 20

const begin = (series: string, from: number, passing = true) =>
  db.store.beginWindows(me, app, stream, [series], at(from), step, passing)
const leave = (series: string) => db.store.leaveWindows(me, app, stream, series)
const read = (series: string, from: number, to: number) =>
  commitNext(db, stream, series, { covers: [span(from, to)], sees: [span(from, to)] })
const progress = async (series: string) =>
  (await db.store.windows(app, stream)).find(each => each.series === series)
const gaps = () => db.rows('select series, reason, state from ingest.gap order by range_from')

async function isComplete(from: number, to: number): Promise<unknown> {
  const rows = await db.rows('select ingest.is_complete($1, $2, $3, $4) as answer', [
    ...[stream, app, iso(from), iso(to)],
  ])
  return (rows[0] as { answer: unknown }).answer
}

describe('a series that is asked for while something goes on', () => {
  beforeEach(async () => {
    await begin('project', 0, false)
    await read('project', 0, 10_000)
  })

  it('takes nothing from what was before it, and is judged from its choice on', async () => {
    await begin('math', 1_000)
    expect(await isComplete(0, 1_000)).toBe(true)
    expect(await isComplete(0, 1_020)).toBe(false)
    await read('math', 800, 2_000)
    expect(await isComplete(0, 2_000)).toBe(true)
    expect(await isComplete(0, 2_020)).toBe(false)
  })

  it('owes nothing once it is left: what was not read was not asked for', async () => {
    await begin('math', 1_000)
    await read('math', 1_000, 2_000)
    await leave('math')
    expect(await isComplete(0, 10_000)).toBe(true)
    expect(await gaps()).toEqual([])
    expect(await db.rows(`select * from ingest.backlog where series = 'math'`)).toEqual([])
  })

  it('stays incomplete where something was lost, and where what was asked for was never served', async () => {
    await begin('math', 1_000)
    await commitNext(db, stream, 'math', {
      covers: [span(1_200, 1_940)],
      sees: [span(1_200, 2_000)],
      misses: [span(1_940, 2_000)],
    })
    expect(await db.store.expireWindows(me, app, stream, 'math', at(1_100))).toEqual({ lost: 1, absent: 0 })
    await leave('math')
    expect(await gaps()).toEqual([
      { series: 'math', reason: 'expired', state: 'lost' },
      { series: 'math', reason: 'not_served', state: 'absent' },
    ])
    expect(await isComplete(0, 1_000)).toBe(true)
    expect(await isComplete(0, 1_020)).toBe(false)
    expect(await isComplete(1_100, 1_940)).toBe(true)
    expect(await isComplete(1_940, 1_960)).toBe(false)
    expect(await isComplete(2_000, 10_000)).toBe(true)
  })

  it('loses nothing as long as it was never asked for', async () => {
    await begin('math', 1_000)
    expect(await db.store.expireWindows(me, app, stream, 'math', at(1_100))).toEqual({ lost: 0, absent: 0 })
    expect(await gaps()).toEqual([])
    expect(await isComplete(0, 1_100)).toBe(true)
    expect(await isComplete(0, 1_120)).toBe(false)
    await read('math', 1_100, 2_000)
    expect(await db.store.expireWindows(me, app, stream, 'math', at(2_100))).toEqual({ lost: 1, absent: 0 })
    expect(await isComplete(0, 2_000)).toBe(true)
    expect(await isComplete(0, 2_020)).toBe(false)
  })

  it('chosen once more is owed from then on, and not for the time between', async () => {
    await begin('math', 1_000)
    await read('math', 1_000, 2_000)
    await leave('math')
    expect(await progress('math')).toBeUndefined()
    await begin('math', 5_000)
    const known = (await progress('math'))!
    expect(back(known.lost)).toEqual([[2_000, 5_000]])
    expect(await isComplete(0, 5_000)).toBe(true)
    expect(await isComplete(4_000, 5_020)).toBe(false)
    expect(await db.store.expireWindows(me, app, stream, 'math', at(5_100))).toEqual({ lost: 1, absent: 0 })
    expect(await gaps()).toHaveLength(1)
  })

  it('goes on after a restart with what it owes', async () => {
    await begin('math', 1_000)
    await read('math', 1_000, 2_000)
    await begin('math', 7_000)
    expect((await progress('math'))!.lost).toEqual([])
    expect(await db.store.expireWindows(me, app, stream, 'math', at(3_000))).toEqual({ lost: 1, absent: 0 })
    expect(await isComplete(2_000, 3_000)).toBe(false)
  })

  it('that was asked for all the time before owes nothing of the time between', async () => {
    await begin('math', 0, false)
    await read('math', 0, 2_000)
    await leave('math')
    await begin('math', 6_000)
    expect(await isComplete(0, 6_000)).toBe(true)
    expect(await isComplete(0, 6_020)).toBe(false)
  })

  it('alone makes nothing complete', async () => {
    await begin('math', 1_000)
    await leave('math')
    await leave('project')
    expect(await isComplete(0, 100)).toBe(false)
  })

  it('is counted by the day on which it was chosen, beside the values that are promised all day', async () => {
    const dayBegin = -32 * 3_600
    await db.rows('truncate ingest.progress')
    await begin('project', dayBegin, false)
    await read('project', dayBegin, dayBegin + 86_400)
    await begin('math', dayBegin + 3_600)
    const days = () =>
      db.rows(
        `select complete, expected::int, received::int from ingest.complete_day where stream = $1 and day < $2::date`,
        [stream, iso(dayBegin + 86_400)],
      )
    expect(await days()).toEqual([{ complete: false, expected: 4_320, received: 4_320 }])
    await leave('math')
    expect(await days()).toEqual([{ complete: true, expected: 4_320, received: 4_320 }])
  })
})

describe('the channels in which something goes on', () => {
  const call = (id: string, cname: string, from: number, to: number | null, finished: boolean) =>
    db.rows(
      'insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished) values ($1, $2, $3, $4, $5, $6)',
      [app, id, cname, iso(from), to === null ? null : iso(to), finished],
    )
  const room = (uuid: string, from: number | null, to: number | null, incarnation = 1) =>
    db.rows(
      'insert into classroom.room (app_id, room_uuid, incarnation, started_at, ended_at, valid_to) values ($1, $2, $3, $4, $5, $6)',
      [app, uuid, incarnation, from === null ? null : iso(from), to === null ? null : iso(to), null],
    )
  const live = () => db.store.liveChannels(app, at(5_000))

  it('are those of calls and rooms without an end, or with one since the moment that is asked about', async () => {
    await call('1', 'going on', 3_000, 4_000, false)
    await call('2', 'over lately', 2_000, 5_500, true)
    await call('3', 'long over', 1_000, 4_999, true)
    await call('4', 'nobody saw it end', -100_000, null, false)
    await room('class', 4_000, null)
    await room('class over lately', 3_500, 5_200)
    await room('not begun', null, null)
    expect(await live()).toEqual([
      { channel: 'class', endedAt: null },
      { channel: 'class over lately', endedAt: at(5_200) },
      { channel: 'going on', endedAt: null },
      { channel: 'over lately', endedAt: at(5_500) },
    ])
  })

  it('go on while one of their calls or rooms does, and are as new as the newest', async () => {
    await call('1', 'both', 1_000, 5_100, true)
    await room('both', 900, null)
    await call('2', 'again', 2_000, null, false)
    await call('3', 'both', 3_000, 5_300, true)
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at) values ('another', 'x', 'theirs', $1)`,
      [iso(4_000)],
    )
    expect(await live()).toEqual([
      { channel: 'both', endedAt: null },
      { channel: 'again', endedAt: null },
    ])
  })
})

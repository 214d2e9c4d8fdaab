import { afterAll, beforeAll, expect, it } from 'vitest'
import { day, h, school, told } from './fold-harness.ts'
import { app, openStore, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.setTime(h(0))
})
afterAll(() => db.close())

type Loss = readonly [stream: string, series: string, reason: string, from: number, to: number]

/** Of time, with hours after the first midnight. */
const times: readonly Loss[] = [
  ['realtime-usage', 'a', 'expired', 10, 11],
  ['realtime-usage', 'a', 'expired', 12, 12.5],
  ['realtime-usage', 'b', 'expired', 10, 11],
  ['realtime-usage', 'b', 'unconfirmed', 22, 26],
  ['realtime-usage', 'a', 'unconfirmed', 23, 25],
  ['realtime-usage', 'a', 'unconfirmed', 44, 48],
  ['realtime-usage', 'b', 'unconfirmed', 47, 48.5],
  ['realtime-usage', 'a', 'unconfirmed', 48, 72],
  ['app-events', '', 'pause', 49, 51],
  ['app-events', '', 'unread_answer', 53, 53.2],
  ['app-events', '', 'unread_answer', 54, 54.2],
  ['app-events', '', 'unread_answer', 95, 97],
]

/** Of rooms: which incarnation, and sequences. */
const sequences: readonly (readonly [room: string, incarnation: number | null, ...Loss])[] = [
  ['maths', 1, 'room-events', 'lost', 'room_forgotten', 1, 4],
  ['maths', 1, 'room-events', 'lost', 'room_forgotten', 7, 7],
  ['maths', 1, 'room-events', 'lost', 'hole', 9, 12],
  ['maths', 2, 'room-events', 'lost', 'hole', 3, 3],
  ['maths', 2, 'room-events', 'lost', 'hole', 5, 6],
  ['maths', 2, 'room-events', 'lost', 'hole', 9, 9],
  ['maths', null, 'room-events', 'lost', 'room_forgotten', 20, 22],
  ['music', 1, 'room-events', 'lost', 'room_reused', 2, 3],
  ['music', 1, 'room-events', 'lost', 'room_reused', 8, 8],
  ['music', 1, 'room-events', 'open', 'hole', 2, 8],
]

async function losses(): Promise<void> {
  for (const [stream, series, reason, from, to] of times) {
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, updated_at)
       values ($1, $2, $3, 'time', $4, $5, $6, 'lost', $5)`,
      [app, stream, series, h(from), h(to), reason],
    )
  }
  for (const [room, incarnation, stream, state, reason, from, to] of sequences) {
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state, updated_at)
       values ($1, $2, $3, $4, 'sequence', $5, $6, $7, $8, $9)`,
      [app, stream, room, incarnation, from, to, reason, state, h(40)],
    )
  }
  // More than one statement takes, every second at one moment with another of another reason.
  await db.rows(
    `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, updated_at)
     select $1, 'call-sessions', 'call ' || n, 'time', t, t + interval '10 minutes', (array['expired', 'refused'])[1 + n % 2], 'lost', t
     from generate_series(1, 12000) n cross join lateral (select $2::timestamptz + n / 2 * interval '25 seconds' as t) x`,
    [app, h(0)],
  )
}

/** What the days told when they were days of late. */
async function daysThen() {
  const [now] = await db.rows('select ingest.clock() as at')
  await db.setTime(h(240))
  const days = await db.rows('select day, stream, complete, reasons from ingest.complete_day order by 1, 2')
  await db.setTime((now!.at as Date).toISOString())
  return days
}

const rows = () => db.rows(`select stream, count(*)::int as rows from ingest.gap group by 1 order by 1`)

it('what was lost long ago is told by fewer rows, and all that is told of days and rooms stays', async () => {
  await school(db)
  await losses()
  await db.advance(399 * day)
  await db.keepHouse()
  expect(await rows()).toEqual([
    { stream: 'app-events', rows: 4 },
    { stream: 'call-sessions', rows: 12_000 },
    { stream: 'realtime-usage', rows: 8 },
    { stream: 'room-events', rows: 10 },
  ])
  await db.advance(8 * day)
  const before = await told(db)
  const daysBefore = await daysThen()
  await db.keepHouse()
  expect(await told(db)).toEqual(before)
  expect(await daysThen()).toEqual(daysBefore)
  expect(before.rooms.filter(({ complete }) => complete)).toHaveLength(13)
  expect(daysBefore.filter(({ complete }) => complete)).not.toEqual([])
  expect(await rows()).toEqual([
    { stream: 'app-events', rows: 3 },
    { stream: 'call-sessions', rows: 6 },
    { stream: 'realtime-usage', rows: 5 },
    { stream: 'room-events', rows: 7 },
  ])
  const ids = `select string_agg(id || ' ' || stands_for, ',' order by id) from ingest.gap`
  const left = await db.value(ids)
  await db.keepHouse()
  expect(await db.value(ids)).toBe(left)
})

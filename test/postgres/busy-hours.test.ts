import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

/** The database's clock stands on Monday, 5 January 2026, at eight. */
async function put(app: string, begun: string, first: string | null, last: string | null): Promise<void> {
  await db.rows(
    `insert into classroom.room (app_id, room_uuid, incarnation, started_at, valid_from, last_event_at)
     select $1, 'room-' || count(*), 1, $2, $3, $4 from classroom.room`,
    [app, begun, first, last],
  )
}

it('hours of the week are busy from the first event of a room to its last, for four weeks', async () => {
  const day = (date: string, time: string) => `2025-12-${date}T${time}:00Z`
  // Tuesday, from nine to eleven; Sunday, over the end of the week; Wednesday, with one event.
  await put('a', day('30', '09:00'), day('30', '09:20'), day('30', '11:05'))
  await put('a', day('28', '23:00'), day('28', '23:10'), day('29', '00:50'))
  await put('a', day('10', '07:59'), day('10', '07:59'), day('10', '07:59'))
  // Longer ago, without an event, and for a whole month.
  await put('a', day('05', '15:00'), day('05', '15:10'), day('05', '15:40'))
  await put('a', day('31', '15:00'), null, null)
  await put('b', day('18', '12:00'), day('18', '12:00'), '2026-01-04T12:00:00Z')
  await put('c', day('30', '09:00'), day('30', '09:20'), day('30', '11:05'))
  const hours = await db.store.busyHours(['a', 'b', 'd'])
  expect([...hours.keys()].toSorted()).toEqual(['a', 'b'])
  expect([...hours.get('a')!].toSorted((x, y) => x - y)).toEqual([
    ...[0, 24 + 9, 24 + 10, 24 + 11, 48 + 7, 6 * 24 + 23],
  ])
  // Thursday, from noon to noon.
  expect([...hours.get('b')!].toSorted((x, y) => x - y)).toEqual(
    Array.from({ length: 25 }, (_, n) => 3 * 24 + 12 + n),
  )
})

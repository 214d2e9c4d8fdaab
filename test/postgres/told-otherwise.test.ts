import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  app,
  event,
  eventRows,
  hour,
  listPage,
  logPage,
  me,
  openStore,
  rowSet,
  type TestStore,
  time,
} from './harness.ts'

/** Widget logs that tell other items than are stored: in other words than before, or those of the next room of a name. */

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

/** A room whose log was read; `readLog` reads it again, of another incarnation where that is told, `read` its poll log. */
async function openRoom(room: string) {
  const of = (incarnation: number, opens = false) =>
    ({ room: { kind: 'incarnation', incarnation, opens } }) as const
  const version = async (stream: 'room-events' | 'poll') =>
    (await db.store.progress(app, stream, room))!.version
  const readLog = async (incarnation = 1) => {
    const rows = eventRows([event(room, 1, { data: { of: incarnation } })])
    await db.store.commit(
      logPage(room, await version('room-events'), { rows, ...of(incarnation, incarnation > 1) }),
    )
  }
  const read = async (items: readonly (readonly [position: number, words: string])[], incarnation = 1) => {
    const rows = rowSet({
      'classroom.widget_event': items.map(([position, words]) => ({
        ...{ room_uuid: room, widget: 'poll', position, content_hash: words, data: { told: words } },
        received_at: time(0),
      })),
      'classroom.poll_submission': items.map(([ordinal, poll_id]) => ({
        ...{ room_uuid: room, poll_id, user_uuid: 'u', ordinal, user_name: null },
        ...{ select_index: [0], at: null, extra: null },
      })),
    })
    return db.store.commit(listPage('poll', room, await version('poll'), { rows, ...of(incarnation) }))
  }
  const stored = () =>
    db.rows(`select incarnation, position::int, i.data ->> 'told' as told, s.poll_id as voted
      from classroom.widget_event i
      full join classroom.poll_submission s using (room_uuid, incarnation)
      where room_uuid = '${room}' and s.ordinal = i.position order by incarnation, position, poll_id`)
  const noted = () =>
    db.rows(
      `select key, kept, other from ingest.divergence where series = '${room}' and stream = 'poll' and resolved_at is null order by key`,
    )
  await db.store.discoverRooms(me, app, [room])
  await readLog()
  return { room, version, readLog, read, stored, noted }
}

it('are set down, and the first stay with what was made of them, once the log tells the same room', async () => {
  const { read, readLog, stored, noted } = await openRoom('maths')
  await read([
    [0, 'a'],
    [1, 'b'],
  ])
  const asFirst = [
    { incarnation: 1, position: 0, told: 'a', voted: 'a' },
    { incarnation: 1, position: 1, told: 'b', voted: 'b' },
  ]
  const others = [
    [0, 'x'],
    [1, 'y'],
    [2, 'z'],
  ] as const
  expect(await read([[0, 'a']])).toMatchObject({ outcome: 'committed', diverged: 0 })

  expect(await read(others)).toEqual({ outcome: 'unverified', diverged: 2 })
  expect(await read([[0, 'a']])).toEqual({ outcome: 'unverified' })
  expect(await stored()).toEqual(asFirst)

  await readLog()
  expect(await read(others)).toMatchObject({ outcome: 'committed' })
  expect(await stored()).toEqual([...asFirst, { incarnation: 1, position: 2, told: 'z', voted: 'z' }])
  expect(await noted()).toEqual([
    { key: '1/0', kept: { told: 'a' }, other: { told: 'x' } },
    { key: '1/1', kept: { told: 'b' }, other: { told: 'y' } },
  ])
})

it('have a reading of the log begin again that was under way', async () => {
  const { room, read, version } = await openRoom('under-way')
  await read([[0, 'a']])
  const before = await version('room-events')
  expect(await read([[0, 'x']])).toEqual({ outcome: 'unverified', diverged: 1 })
  expect(await db.store.commit(logPage(room, before))).toEqual({ outcome: 'stale' })
  expect(await read([[0, 'x']])).toEqual({ outcome: 'unverified' })
})

it('are doubted again where that is longer ago than the provider remembers a room', async () => {
  const { read, readLog } = await openRoom('told-again')
  await read([[0, 'a']])
  await read([[0, 'x']])
  await readLog()
  expect(await read([[0, 'x']])).toMatchObject({ outcome: 'committed' })
  await db.advance(2 * hour)
  await readLog()
  expect(await read([[0, 'x']])).toEqual({ outcome: 'unverified' })
  await readLog()
  expect(await read([[0, 'x']])).toMatchObject({ outcome: 'committed', diverged: 0 })
})

it('are those of the next room where its log says so', async () => {
  const { read, readLog, stored, noted } = await openRoom('used-again')
  await read([[0, 'a']])
  expect(await read([[0, 'x']])).toEqual({ outcome: 'unverified', diverged: 1 })
  await readLog(2)
  expect(await read([[0, 'x']], 2)).toMatchObject({ outcome: 'committed' })
  expect(await stored()).toEqual([
    { incarnation: 1, position: 0, told: 'a', voted: 'a' },
    { incarnation: 2, position: 0, told: 'x', voted: 'x' },
  ])
  expect(await noted()).toEqual([])
})

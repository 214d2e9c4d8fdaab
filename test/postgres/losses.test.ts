import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readStoreGauges } from '../../src/postgres/status.ts'
import { commitNext, span } from './analytics.ts'
import { callWindowsOf } from './call-windows.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  hour,
  logPage,
  me,
  openStore,
  start,
  type TestStore,
  time,
} from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.rows(
    'truncate ingest.gap, ingest.progress, ingest.divergence, classroom.room, classroom.room_event',
  )
  await db.setTime(start)
})

/** A gap of calls, last changed so many minutes before the start; it can be had until so many minutes after it. */
async function addGap(state: string, changed: number, until: number | null = null): Promise<void> {
  await db.rows(
    `insert into ingest.gap (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at,
                             updated_at, recoverable_until)
     values ($1, 'calls', '', 'time', $2::timestamptz - interval '1 minute', $2, 'expired', $3, $2, $2, $4)`,
    [app, time(-changed), state, until === null ? null : time(until)],
  )
}

const losses = async () => (await readStoreGauges(db.pool)).losses

describe('what was lost of late', () => {
  it('is what was given up within the last hour and the last day', async () => {
    for (const minutesAgo of [10, 59, 61, 23 * 60, 25 * 60]) await addGap('lost', minutesAgo)
    expect(await losses()).toEqual([{ stream: 'calls', hour: 2, day: 4 }])
    await db.advance(hour)
    expect(await losses()).toEqual([{ stream: 'calls', hour: 0, day: 3 }])
  })

  it('is nothing that is open, was repaired or never served', async () => {
    for (const [n, state] of ['open', 'repaired', 'absent'].entries()) await addGap(state, n)
    expect(await losses()).toEqual([])
  })

  it('counts from when it was found, however long nobody was there to find it', async () => {
    await addGap('open', 5, 60)
    await db.advance(50 * hour)
    expect(await losses()).toEqual([])
    await db.keepHouse()
    expect(await losses()).toEqual([{ stream: 'calls', hour: 1, day: 1 }])
  })

  it('is not what is left of an old loss of which a part was read after all', async () => {
    await callWindowsOf(db).begin('healed')
    await commitNext(db, 'calls', 'healed', { loses: [{ ...span(10, 20), reason: 'unreadable' }] })
    await db.advance(48 * hour)
    await commitNext(db, 'calls', 'healed', { covers: [span(12, 15)], sees: [span(12, 15)] })
    expect(await callWindowsOf(db).gaps('healed')).toMatchObject([
      { from: 10, to: 12, state: 'lost' },
      { from: 15, to: 20, state: 'lost' },
    ])
    expect(await losses()).toEqual([])
  })

  it('is not what was lost with a room, whatever of it is said or told again later', async () => {
    const feed = async (...sequences: number[]) => {
      const { version } = (await db.store.progress(app, 'app-events', ''))!
      const rows = eventRows(sequences.map(sequence => event('r', sequence)))
      await db.store.commit(feedPage(version, { rows }))
    }
    await db.store.follow(me, app, 'app-events', '')
    await feed(1)
    await db.store.forgetRoom(me, app, 'r')
    await feed(5, 6, 9)
    await db.store.forgetRoom(me, app, 'r')
    await db.advance(48 * hour)
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toEqual([])
    // What the feed told as 6 was of another room.
    const log = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => event('r', n, n === 6 ? { cmd: 20 } : {}))
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { rows: eventRows(log), holes: [] }))
    expect(
      await db.rows(
        'select sequence_from::int as a, sequence_to::int as b, state from ingest.gap where sequence_from is not null',
      ),
    ).toEqual([{ a: 6, b: 6, state: 'lost' }])
    expect(await losses()).toEqual([])
  })

  it('is an answer of the feed once, also where the logs are judged later', async () => {
    await db.store.follow(me, app, 'app-events', '')
    await db.store.discoverRooms(me, app, ['r'])
    await addGap('lost', 0)
    await db.rows(`update ingest.gap set stream = 'app-events', reason = 'unread_answer'`)
    await db.rows(
      `update ingest.progress set caught_up_at = ingest.clock() + interval '1 hour' where stream = 'app-events'`,
    )
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, valid_from) values ($1, 'r', 1, ingest.clock())
       on conflict do nothing`,
      [app],
    )
    await db.advance(2 * hour)
    await db.store.forgetRoom(me, app, 'r')
    await db.rows(`delete from ingest.gap where stream <> 'app-events'`)
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
    expect(await db.rows('select state, detail is not null as judged from ingest.gap')).toEqual([
      { state: 'lost', judged: true },
    ])
    expect(await losses()).toEqual([{ stream: 'app-events', hour: 0, day: 1 }])
  })
})

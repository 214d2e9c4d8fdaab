import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { iso } from './analytics.ts'
import { app, openStore, type TestStore } from './harness.ts'

/**
 * Calls of which it is told in different measure who was in them, each in the class of a day of its own. All days are those of
 * Auckland, thirteen hours ahead: what begins at 12:00 there began the day before in UTC.
 */

const day = 86_400
const calls = ['unread', 'begun', 'given up', 'nobody', 'summed up', 'read', 'emptied'] as const
type Name = (typeof calls)[number]
/** What is left of the work on the sessions of each call, by slices; and how many sessions are stored. */
const work: Readonly<Record<Name, readonly [states: readonly string[], sessions: number]>> = {
  unread: [['pending'], 0],
  begun: [['split', 'done', 'pending'], 2],
  'given up': [['lost'], 0],
  nobody: [['done'], 0],
  'summed up': [['done'], 0],
  read: [['split', 'done', 'done'], 2],
  emptied: [['done'], 0],
}
const known = { users: 2, sessions: 2, user_minutes: 20 }
const nobody = { users: 0, sessions: 0, user_minutes: 0 }
const unknown = { users: null, sessions: null, user_minutes: null }
const told: Readonly<Record<Name, object>> = {
  ...{ unread: unknown, begun: known, 'given up': unknown },
  ...{ nobody, 'summed up': nobody, read: known, emptied: unknown },
}
const unread: Readonly<Record<Name, number>> = {
  ...{ unread: 1, begun: 1, 'given up': 1 },
  ...{ nobody: 0, 'summed up': 0, read: 0, emptied: 0 },
}
const dayOf = (name: Name) => `2026-01-${String(6 + calls.indexOf(name)).padStart(2, '0')}`

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.rows(`insert into ingest.app (app_id, time_zone) values ($1, 'Pacific/Auckland')`, [app])
  await db.rows(`select ingest.keep_calendar('Pacific/Auckland')`)
  for (const [n, name] of calls.entries()) {
    // Eight o'clock in UTC is 21:00 in Auckland; 15 hours later it is the next day there.
    const from = n * day + 15 * 3_600
    const [states, sessions] = work[name]
    const emptied = name === 'emptied' ? iso(90 * day) : null
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at)
       values ($1, $2, 1, 2, $3, $4, $3, $4)`,
      [app, name, iso(from), iso(from + 600)],
    )
    await db.rows(
      `insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, stream_uuid, action, at)
       values ($1, $2, 1, 1, 0, 'ann', '2', '1', 'enter', $3), ($1, $2, 1, 2, 0, 'bob', '2', '9', 'enter', $3),
              ($1, $2, 1, 3, 0, 'eve', '2', null, 'enter', $3)`,
      [app, name, iso(from + 360)],
    )
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished, emptied_at) values ($1, $2, $2, $3, $4, true, $5)`,
      [app, name, iso(from), iso(from + 600), emptied],
    )
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid, joined_at, left_at)
       select $1, $2, $2 || n, n, $3, $4 from generate_series(1, $5::int) n`,
      [app, name, iso(from), iso(from + 600), sessions],
    )
    // Summed up is what was tried, whatever came of it.
    if (name !== 'nobody')
      await db.rows(`insert into analytics.call_summary (app_id, call_id, partial) values ($1, $2, $3)`, [
        ...[app, name, !['summed up', 'emptied'].includes(name)],
      ])
    await db.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
       select $1, 'call-sessions', $2, p.part, $3, $3, p.state from unnest($4::text[]) with ordinality p(state, part)`,
      [app, name, iso(from), states],
    )
  }
})
afterAll(() => db.close())

const numbers = 'users, sessions, user_minutes'

describe.each(calls)('of a call that is %s', name => {
  it('the view of calls says what is known, with its day', async () => {
    expect(
      await db.rows(`select ${numbers}, day::text from analytics.call_quality where call_id = $1`, [name]),
    ).toEqual([{ ...told[name], day: dayOf(name) }])
  })

  it('the view of classes does so too, with how many calls are not read', async () => {
    expect(
      await db.rows(
        `select ${numbers}, calls_unread, day::text from analytics.class_quality where room_uuid = $1`,
        [name],
      ),
    ).toEqual([{ ...told[name], calls_unread: unread[name], day: dayOf(name) }])
  })

  it('the view of days does so too', async () => {
    expect(
      await db.rows(`select calls, ${numbers}, calls_unread from analytics.usage_by_day where day = $1`, [
        dayOf(name),
      ]),
    ).toEqual([{ calls: 1, ...told[name], calls_unread: unread[name] }])
  })

  it('the view of users says whether a stay that is not found may be there', async () => {
    const missing = unread[name] > 0 ? 'unread' : 'none'
    const rows = await db.rows(
      'select user_uuid, linked_by from classroom.user_call where room_uuid = $1 order by 1',
      [name],
    )
    expect(rows.map(row => row.linked_by)).toEqual([
      work[name][1] > 0 ? 'stream' : missing,
      missing,
      // Of whom no number is known none can be found.
      'none',
    ])
  })
})

describe('of a day', () => {
  it('without a call nobody was in one', async () => {
    await db.rows(
      `insert into analytics.usage_insight (app_id, metric, granularity, at, value, fetched_at)
       values ($1, 'userCount', 'day', '2026-03-01 00:00Z', 7, $2)`,
      [app, iso(0)],
    )
    expect(
      await db.rows(
        `select calls, ${numbers}, calls_unread from analytics.usage_by_day where day = '2026-03-01'`,
      ),
    ).toEqual([{ calls: 0, ...nobody, calls_unread: 0 }])
  })

  it('with calls of both kinds those are counted that are known', async () => {
    await db.rows(`update analytics.call set created_at = $1 where call_id in ('unread', 'read')`, [
      iso(40 * day),
    ])
    expect(
      await db.rows(`select calls, ${numbers}, calls_unread from analytics.usage_by_day where calls = 2`),
    ).toEqual([{ calls: 2, ...known, user_minutes: expect.any(Number), calls_unread: 1 }])
  })
})

describe('while the calls of a class are not looked for yet', () => {
  it('a stay that is not found may come', async () => {
    const linked = async () => {
      const rows = await db.rows(
        `select linked_by from classroom.user_call where room_uuid = 'nobody' and user_uuid = 'ann'`,
      )
      return rows.map(row => row.linked_by)
    }
    const covered = (to: number) =>
      db.rows(
        `insert into ingest.progress (app_id, stream, series, backlog_from, covered)
         values ($1, 'calls', '', $2, tstzmultirange(tstzrange($2, $3)))
         on conflict (app_id, stream, series) do update set covered = excluded.covered`,
        [app, iso(0), iso(to)],
      )
    const began = calls.indexOf('nobody') * day + 15 * 3_600
    await covered(began + 300)
    expect(await linked()).toEqual(['unread'])
    await covered(began + 900)
    expect(await linked()).toEqual(['none'])
    await covered(began + 300)
    await db.rows(`update ingest.progress set closed_at = $1`, [iso(0)])
    expect(await linked()).toEqual(['none'])
  })
})

import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { rejectReasons } from '../../src/streams/stream.ts'
import { at, call, commitNext, iso, itemPage, openItems, session, span, work } from './analytics.ts'
import {
  app,
  hour,
  logPage,
  me,
  openStore,
  roomRow,
  roomStreams,
  rowSet,
  start,
  type TestStore,
  time,
} from './harness.ts'

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows(
    `truncate ingest.progress, ingest.worklist, ingest.gap, ingest.dead_letter, ingest.stream_off, analytics.call, analytics.call_session,
              classroom.room, classroom.room_event, classroom.recording, classroom.recording_file`,
  )
})
afterAll(async () => (await opened)?.close())

/** As the daemon's role asks. */
async function isComplete(stream: string, from: number, to: number): Promise<unknown> {
  const { rows } = await db.pool.query('select ingest.is_complete($1, $2, $3, $4) as answer', [
    ...[stream, app, iso(from), iso(to)],
  ])
  return rows[0].answer
}

describe('a stream whose progress is time is complete', () => {
  it('when every series that is asked for is final over the whole range', async () => {
    expect(await isComplete('realtime-quality', 0, 20)).toBe(false)
    await db.store.beginWindows(me, app, 'realtime-quality', ['a', 'b'], at(0))
    await commitNext(db, 'realtime-quality', 'a', { covers: [span(0, 100)], sees: [span(0, 100)] })
    expect(await isComplete('realtime-quality', 0, 100)).toBe(false)
    await commitNext(db, 'realtime-quality', 'b', {
      covers: [span(0, 50), span(60, 100)],
      sees: [span(0, 100)],
    })
    expect(await isComplete('realtime-quality', 0, 50)).toBe(true)
    expect(await isComplete('realtime-quality', 0, 51)).toBe(false)
    expect(await isComplete('realtime-quality', 60, 100)).toBe(true)
    expect(await isComplete('realtime-quality', 55, 60)).toBe(false)
    expect(await isComplete('realtime-quality', -1, 50)).toBe(false)
    await commitNext(db, 'realtime-quality', 'b', { covers: [span(50, 60)], sees: [] })
    expect(await isComplete('realtime-quality', 0, 100)).toBe(true)
  })

  it('by day with how many values are expected and received; what was not served makes no day complete', async () => {
    const day = 86_400
    // Midnight before yesterday, by the clock of the test.
    const begin = -32 * 3_600
    await db.store.beginWindows(me, app, 'realtime-usage', ['a'], at(begin), 20)
    await db.store.beginWindows(me, app, 'realtime-usage', ['of a user'], at(begin))
    const whole = span(begin, begin + 2 * day)
    await commitNext(db, 'realtime-usage', 'of a user', { covers: [whole], sees: [whole] })
    await commitNext(db, 'realtime-usage', 'a', {
      covers: [span(begin, begin + day), span(begin + day + 7_200, begin + 2 * day)],
      sees: [whole],
      misses: [span(begin + day, begin + day + 7_200)],
    })
    const days = () =>
      db.rows(
        `select complete, expected::int, received::int, gaps from ingest.complete_day
         where stream = 'realtime-usage' and day < $1::date order by day`,
        [iso(begin + 2 * day)],
      )
    const expected = [
      { complete: true, expected: 4_320, received: 4_320, gaps: 0 },
      { complete: false, expected: 4_320, received: 3_960, gaps: 0 },
    ]
    expect(await days()).toEqual(expected)
    await db.store.expireWindows(me, app, 'realtime-usage', 'a', at(begin + 2 * day))
    expect(await days()).toEqual(expected)
    expect(await db.rows(`select reason, state from ingest.gap`)).toEqual([
      { reason: 'not_served', state: 'absent' },
    ])
  })

  it('not where something was lost, and not only because all was seen', async () => {
    await db.store.beginWindows(me, app, 'calls', ['all'], at(0))
    await commitNext(db, 'calls', 'all', { sees: [span(0, 10)] })
    expect(await isComplete('calls', 0, 10)).toBe(false)
    await db.store.expireWindows(me, app, 'calls', 'all', at(10))
    expect(await isComplete('calls', 0, 10)).toBe(false)
  })

  it('whatever a series lacks that nobody asks for any more', async () => {
    await db.store.beginWindows(me, app, 'usage-insight', ['a', 'former'], at(0))
    await commitNext(db, 'usage-insight', 'a', { covers: [span(0, 100)], sees: [] })
    expect(await isComplete('usage-insight', 0, 100)).toBe(false)
    await db.store.closeSeries(me, app, 'usage-insight', 'former')
    expect(await isComplete('usage-insight', 0, 100)).toBe(true)
  })
})

describe('details of calls are complete', () => {
  async function found(...calls: readonly ReturnType<typeof call>[]) {
    await db.store.beginWindows(me, app, 'calls', ['all'], at(0))
    const finished = calls.filter(each => each.finished)
    await commitNext(db, 'calls', 'all', {
      ...{ covers: [span(0, 1_000)], sees: [span(0, 1_000)] },
      rows: rowSet({ 'analytics.call': calls }),
      work: finished.map(each => work(each.call_id)),
    })
  }
  async function fetchAll(stream: 'call-sessions' | 'call-metrics', sids: readonly string[] = []) {
    for (const item of await openItems(db, stream)) {
      await db.store.commitItem(
        itemPage(item, {
          rows:
            stream === 'call-metrics'
              ? {}
              : rowSet({ 'analytics.call_session': sids.map(sid => session(item.key, sid)) }),
          work: sids.length > 0 ? [work(item.key, { stream: 'call-metrics' })] : [],
        }),
      )
    }
  }

  it('when the calls are, and nothing of those that start in the range is owed', async () => {
    await found(call('a'), call('b', { created_at: iso(500) }))
    expect(await isComplete('calls', 0, 1_000)).toBe(true)
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(false)
    const [first] = await openItems(db)
    await db.store.commitItem(itemPage(first!))
    expect(await isComplete('call-sessions', 0, 500)).toBe(first!.key === 'a')
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(false)
    await fetchAll('call-sessions')
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(true)
    expect(await isComplete('call-sessions', 0, 1_001)).toBe(false)
  })

  it('as metrics only after the sessions, and where there were sessions only with their metrics', async () => {
    await found(call('a'))
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(false)
    await fetchAll('call-sessions', ['s'])
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(true)
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(false)
    await fetchAll('call-metrics')
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(true)
    await db.rows(`delete from ingest.worklist where stream = 'call-metrics'`)
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(false)
  })

  it('as metrics of a call without sessions once that is known', async () => {
    await found(call('a'))
    await fetchAll('call-sessions')
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(true)
  })

  it('when all parts of an item that was split are, and not when one is lost', async () => {
    await found(call('a'))
    const [item] = await openItems(db)
    await db.store.splitItem(me, app, item!, [work('a', { part: '0.a' }), work('a', { part: '0.b' })])
    const [half, other] = await openItems(db)
    await db.store.commitItem(itemPage(half!))
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(false)
    await db.store.loseItem(me, app, other!, 'too_large')
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(false)
    expect(await isComplete('call-sessions', 1, 1_000)).toBe(true)
  })

  it('not when a call that ended was never put on the worklist', async () => {
    await found(call('a'))
    await db.rows('delete from ingest.worklist')
    expect(await isComplete('call-sessions', 0, 1_000)).toBe(false)
  })
})

describe('a question that has no answer', () => {
  const refusal = (stream: string, from = 0, to = 1) =>
    isComplete(stream, from, to).catch(error => `${error.code} ${error.message}. ${error.hint ?? ''}`)

  it('names what to use instead', async () => {
    expect(await refusal('room-events')).toBe(
      '22023 the progress of stream room-events is not a range of time. Per room, ingest.room_complete says whether it is whole.',
    )
    expect(await refusal('app-events')).toContain('ingest.gap')
    expect(await refusal('nonsense')).toMatch(
      /^22023 there is no stream nonsense\. Streams that answer: calls,/,
    )
    expect(await refusal('calls', 5, 4)).toContain('"from" is later than "to"')
  })
})

describe('the view of rooms', () => {
  it('says of every stream that follows rooms whether the room is whole', async () => {
    await db.store.discoverRooms(me, app, ['r'])
    const complete = () =>
      db.rows(`select stream, complete from ingest.room_complete where room_uuid = 'r' order by stream`)
    const rows = rowSet({
      'classroom.room': [roomRow('r', { state: 2, stateSequence: 1, ended: 10, first: 0, last: 10 })],
    })
    await db.store.commit(logPage('r', 0, { rows }))
    expect((await complete()).map(each => each.complete)).toEqual([false, false, false, false, false])
    await db.setTime(time(11))
    await db.store.commit(logPage('r', 1))
    expect(await complete()).toContainEqual({ stream: 'room-events', complete: true })
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason)
       values ($1, 'room-events', 'r', 1, 'sequence', 3, 4, 'hole')`,
      [app],
    )
    expect(await complete()).toContainEqual({ stream: 'room-events', complete: false })
    expect(await complete()).toContainEqual({ stream: 'poll', complete: false })
    await db.setTime(time(0))
  })
})

/** Class `name` from minute 1 of a day to minute 10, of which every stream but those named was read two minutes later. */
async function held(name: string, day: number, unread: readonly string[] = []): Promise<void> {
  const begin = Date.parse(start) - 8 * hour + day * 24 * hour
  const minute = (minutes: number) => new Date(begin + minutes * 60_000).toISOString()
  await db.rows(
    `insert into classroom.room (app_id, room_uuid, incarnation, state, state_sequence, first_seen_at, started_at, ended_at,
                                 valid_from, last_event_at)
     values ($1, $2, 1, 2, 2, $3, $4, $5, $4, $5)`,
    [app, name, minute(0), minute(1), minute(10)],
  )
  await db.rows(
    `insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
     values ($1, $2, 1, 2, 1, $3, 'event', $3, 'log')`,
    [app, name, minute(10)],
  )
  for (const stream of roomStreams) {
    await db.rows(
      'insert into ingest.progress (app_id, stream, series, caught_up_at) values ($1, $2, $3, $4)',
      [...[app, stream, name, unread.includes(stream) ? null : minute(12)]],
    )
  }
}

/** What the days tell: with a question mark where they are not complete, with the reasons behind them. */
async function days(stream: string): Promise<unknown> {
  const rows = await db.rows(
    `select (day - $2::date) || case when complete then '' else '?' end || coalesce(' ' || reasons, '') as told
     from ingest.complete_day where app_id = $3 and stream = $1 order by day`,
    [stream, start, app],
  )
  return rows.map(({ told }) => told)
}

async function feedReadUntil(iso: string): Promise<void> {
  await db.rows(
    `insert into ingest.progress (app_id, stream, series, caught_up_at) values ($1, 'app-events', '', $2)
     on conflict (app_id, stream, series) do update set caught_up_at = excluded.caught_up_at`,
    [app, iso],
  )
}

const noon = (day: number) => new Date(Date.parse(start) + (4 + 24 * day) * hour).toISOString()
const others = roomStreams.filter(stream => stream !== 'recordings')
const everything = ['app-events', ...roomStreams] as const

describe('the recordings of a class', () => {
  const told = () =>
    db.rows(
      `select complete, reason from ingest.room_complete where room_uuid = 'film' and stream = 'recordings'`,
    )
  const record = (status: number | null, endedAt: string | null, url: string | null) =>
    db.rows(
      `insert into classroom.recording (app_id, room_uuid, incarnation, record_id, status, ended_at, url)
       values ($1, 'film', 1, 'r1', $2, $3, $4)
       on conflict (app_id, room_uuid, incarnation, record_id) do update
         set status = excluded.status, ended_at = excluded.ended_at, url = excluded.url`,
      [app, status, endedAt, url],
    )

  it.each([
    ['ended and have an address', 2, 'https://x/a.mp4', null],
    ['ended without one', 2, null, 'files_missing'],
    ['ended with an empty one', 2, '', 'files_missing'],
    ['say when they ended, and nothing else', null, null, 'files_missing'],
    ['were not seen ending', 1, null, 'still_recording'],
  ])('that %s', async (_, status, url, reason) => {
    await held('film', 0)
    await feedReadUntil(noon(1))
    await db.setTime(noon(1))
    await record(status, status === 1 ? null : start, url)
    expect(await told()).toEqual([{ complete: reason === null, reason }])
    expect(await days('recordings')).toEqual([reason === null ? '0' : `0? ${reason}`, '1?'])
    expect(await days('poll')).toEqual(['0', '1?'])
  })

  it('are whole once a file is there, and not while the list was not read since the end', async () => {
    await held('film', 0)
    await record(2, start, null)
    await db.rows(
      `insert into classroom.recording_file (app_id, room_uuid, incarnation, record_id, ordinal, url)
       values ($1, 'film', 1, 'r1', 0, 'https://x/a.mp4')`,
      [app],
    )
    expect(await told()).toEqual([{ complete: true, reason: null }])
    await db.rows(`update ingest.progress set caught_up_at = null where series = 'film'`)
    expect(await told()).toEqual([{ complete: false, reason: 'unread' }])
  })
})

describe('an item that could not be read', () => {
  const told = (stream: string) =>
    db.rows(`select complete, reason from ingest.room_complete where room_uuid = 'r' and stream = $1`, [
      stream,
    ])
  const setAside = (stream: string, reason: string, seenAt: string) =>
    db.rows(
      `insert into ingest.dead_letter (app_id, stream, series, reason, body, received_at, last_seen_at)
       values ($1, $2, 'r', $3, 'x', $4, $4)`,
      [app, stream, reason, seenAt],
    )
  const minute = (minutes: number) => new Date(Date.parse(start) - 8 * hour + minutes * 60_000).toISOString()
  const whole = [{ complete: true, reason: null }]
  const unreadable = [{ complete: false, reason: 'unreadable' }]

  it.each(rejectReasons)(
    'as %s keeps its log from being complete, and nothing else of the room',
    async reason => {
      await held('r', 0)
      await feedReadUntil(noon(1))
      await db.setTime(noon(1))
      expect(await told('poll')).toEqual(whole)
      await setAside('poll', reason, minute(5))
      expect(await told('poll')).toEqual(unreadable)
      expect(await told('popup-quiz')).toEqual(whole)
      expect(await days('poll')).toEqual(['0? unreadable', '1?'])
      expect(await days('popup-quiz')).toEqual(['0', '1?'])
    },
  )

  it('counts of a list only while the last reading still met it', async () => {
    await held('r', 0)
    await setAside('resources', 'missing_key', minute(5))
    expect(await told('resources')).toEqual(whole)
    await setAside('resources', 'wrong_type', minute(12))
    expect(await told('resources')).toEqual(unreadable)
  })

  it('counts neither for the next life of its room nor where a page was read after all', async () => {
    await held('r', 0)
    await setAside('poll', 'missing_key', minute(-60))
    await setAside('popup-quiz', 'malformed', minute(5))
    expect(await told('poll')).toEqual(whole)
    expect(await told('popup-quiz')).toEqual(whole)
  })
})

describe('a stream that was on and is switched off', () => {
  it('is judged up to then and not from then on, and spoils no other', async () => {
    await held('before', 0, ['recordings'])
    await held('after', 1, ['recordings'])
    await feedReadUntil(noon(3))
    await db.setTime(new Date(Date.parse(start) - 7 * hour).toISOString())
    await db.store.noteStreams(me, app, { on: [...others, 'app-events'], off: ['recordings', 'calls'] })
    await db.setTime(noon(3))
    expect(await days('recordings')).toEqual(['0?'])
    for (const stream of others) expect(await days(stream)).toEqual(['0', '1', '2', '3?'])
    const rooms = `select room_uuid, reason from ingest.room_complete where stream = 'recordings'`
    expect(await db.rows(rooms)).toEqual([{ room_uuid: 'before', reason: 'unread' }])
    await db.store.noteStreams(me, app, { on: everything, off: [] })
    await held('again', 4, ['recordings'])
    await feedReadUntil(noon(5))
    await db.setTime(noon(5))
    expect(await days('recordings')).toEqual(['0?', '3', '4?', '5?'])
  })

  it('does not spoil rooms that are found without the feed, where that is off', async () => {
    await held('first', 0)
    await held('second', 1)
    await held('third', 2, ['poll'])
    await feedReadUntil(noon(0))
    await db.setTime(noon(3))
    expect(await days('room-events')).toEqual(['0?', '1?', '2?', '3?'])
    await db.setTime(noon(0))
    await db.store.noteStreams(me, app, { on: roomStreams, off: ['app-events'] })
    await db.setTime(noon(3))
    expect(await days('app-events')).toEqual(['0'])
    expect(await days('room-events')).toEqual(['0', '1', '2', '3'])
    expect(await days('poll')).toEqual(['0', '1', '2?', '3'])
    await db.rows(`update ingest.progress set caught_up_at = $1 where stream = 'app-events'`, [start])
    expect(await days('app-events')).toEqual(['0?'])
    expect(await days('room-events')).toEqual(['0?', '1', '2', '3'])
  })

  it('of ranges of time is judged by the days before, though its series were closed with it', async () => {
    const from = Date.parse(start) / 1_000 - 8 * 3_600
    await db.store.beginWindows(me, app, 'calls', ['all'], from)
    await commitNext(db, 'calls', 'all', { covers: [{ from, to: from + 30 * 3_600 }], sees: [] })
    await db.setTime(noon(1))
    await db.store.closeSeries(me, app, 'calls', 'all')
    await db.setTime(noon(3))
    expect(await days('calls')).toEqual([])
    await db.setTime(new Date(Date.parse(noon(1)) + 5_000).toISOString())
    await db.store.noteStreams(me, app, { on: [], off: ['calls'] })
    await db.store.noteStreams(me, app, { on: [], off: ['calls'] })
    await db.setTime(noon(3))
    expect(await days('calls')).toEqual(['0', '1?'])
  })
})

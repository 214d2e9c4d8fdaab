import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { at, call, commitNext, iso, itemPage, openItems, session, span, work } from './analytics.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows(
    `truncate ingest.progress, ingest.work_item, ingest.gap, analytics.call, analytics.call_session`,
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
        `select complete, expected::int, received::int, gaps, reasons from ingest.complete_day
         where stream = 'realtime-usage' and day < $1::date order by day`,
        [iso(begin + 2 * day)],
      )
    const expected = [
      { complete: true, expected: 4_320, received: 4_320, gaps: 0, reasons: '' },
      { complete: false, expected: 4_320, received: 3_960, gaps: 0, reasons: 'not_over, not_served' },
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

  it('not of a time when the stream was off and which is beyond the reach, though nothing of it is lost', async () => {
    await db.store.beginWindows(me, app, 'calls', ['all'], at(0))
    await commitNext(db, 'calls', 'all', { covers: [span(0, 10)], sees: [span(0, 10)] })
    await db.rows(
      `insert into ingest.stream_off (app_id, stream, off_at, on_at) values ($1, 'calls', $2, $3)`,
      [app, iso(10), iso(50)],
    )
    await db.store.expireWindows(me, app, 'calls', 'all', at(40))
    await db.rows('truncate ingest.stream_off')
    expect(await db.rows('select reason from ingest.gap')).toEqual([])
    expect(await isComplete('calls', 0, 10)).toBe(true)
    expect(await isComplete('calls', 0, 20)).toBe(false)
    expect(await isComplete('calls', 20, 30)).toBe(false)
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
    await db.rows(`delete from ingest.work_item where stream = 'call-metrics'`)
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(false)
  })

  it('as metrics of a call without sessions once that is known', async () => {
    await found(call('a'))
    await fetchAll('call-sessions')
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(true)
  })

  it('as metrics of a call that the selection leaves out, and of which nothing is fetched', async () => {
    await found(call('a'))
    const leftOut = work('a', { stream: 'call-metrics', ask: { sids: ['s'] }, isLeftOut: true })
    const sessions = rowSet({ 'analytics.call_session': [session('a', 's')] })
    await db.store.commitItem(itemPage((await openItems(db))[0]!, { rows: sessions, work: [leftOut] }))
    expect(await openItems(db, 'call-metrics')).toEqual([])
    expect(await isComplete('call-metrics', 0, 1_000)).toBe(true)
    const told = () =>
      db.rows(`select q.left_out, q.partial, q.samples::int, s.partial as summed_in_part
               from analytics.call_quality q left join analytics.call_summary s using (app_id, call_id)`)
    expect(await told()).toEqual([{ left_out: true, partial: false, samples: 0, summed_in_part: false }])
    await db.rows(`update ingest.work_item set state = 'pending' where stream = 'call-metrics' and left_out`)
    const [item] = await openItems(db, 'call-metrics')
    await db.store.commitItem(itemPage(item!))
    expect(await told()).toMatchObject([{ left_out: false, partial: false }])
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
    await db.rows('delete from ingest.work_item')
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

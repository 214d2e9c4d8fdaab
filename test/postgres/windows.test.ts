import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { RefusedRows, type WindowProgress } from '../../src/engine/ports.ts'
import {
  backlogOf,
  expired,
  unread as neverRead,
  provisional,
  unserved,
  unsettled,
} from '../../src/planning/coverage.ts'
import { purposes } from '../../src/planning/shares.ts'
import { frameOf, planWindow, type WindowRules } from '../../src/planning/windows.ts'
import { at, back, call, commitNext, iso, openItems, span, windowPage, work } from './analytics.ts'
import { app, me, openStore, rowSet, session, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

async function begin(series: string, backlogFrom = 0) {
  await db.store.beginWindows(me, app, 'calls', [series], at(backlogFrom))
}

async function progress(series: string) {
  const found = (await db.store.windows(app, 'calls')).find(each => each.series === series)!
  const { covered, seen, lost, wanted } = found
  return {
    ...{ version: found.version, backlogFrom: found.backlogFrom - at(0) },
    ...{ covered: back(covered), seen: back(seen), lost: back(lost), wanted: back(wanted) },
  }
}

const gaps = (series: string) =>
  db.rows(
    `select extract(epoch from range_from)::float8 - $2 as "from", extract(epoch from range_to)::float8 - $2 as "to",
            reason, state
     from ingest.gap where stream = 'calls' and series = $1 and unit = 'time' order by range_from`,
    [series, at(0)],
  )

describe('a series whose progress is time', () => {
  it('begins with nothing read, and stays as it is when it is begun again', async () => {
    await begin('odd\u0000name', 100)
    await begin('odd\u0000name', 900)
    const found = await db.store.windows(app, 'calls')
    expect(found.map(({ series }) => series)).toEqual(['odd\u0000name'])
    const empty = { covered: [], seen: [], lost: [], wanted: [] }
    expect(await progress('odd\u0000name')).toEqual({ version: 0, backlogFrom: 100, ...empty })
  })

  it('that was closed is followed again when it is begun again', async () => {
    await begin('closed')
    await db.store.closeSeries(me, app, 'calls', 'closed')
    await begin('closed', 500)
    const found = await db.rows(`select closed_at, backlog_from from ingest.progress where series = 'closed'`)
    expect(found).toEqual([{ closed_at: null, backlog_from: new Date(iso(0)) }])
  })

  it('adds what was read, what is final and what was given up to what it has', async () => {
    await begin('adds')
    await commitNext(db, 'calls', 'adds', { covers: [span(0, 10)], sees: [span(0, 20)] })
    await commitNext(db, 'calls', 'adds', {
      covers: [span(10, 12), span(30, 40)],
      sees: [span(20, 40)],
      loses: [{ ...span(15, 16), reason: 'overflow' }],
    })
    expect(await progress('adds')).toMatchObject({
      version: 2,
      covered: [
        [0, 12],
        [30, 40],
      ],
      seen: [[0, 40]],
      lost: [[15, 16]],
    })
    expect(await gaps('adds')).toEqual([{ from: 15, to: 16, reason: 'overflow', state: 'lost' }])
  })

  it('moves with a page that is not the last of its window, and nothing of it counts as read', async () => {
    await begin('paged')
    const result = await commitNext(db, 'calls', 'paged', {
      rows: rowSet({ 'analytics.call': [call('p1')] }),
    })
    expect(result).toEqual({
      ...{ outcome: 'committed', version: 1, stored: { 'analytics.call': 1 } },
      ...{ diverged: 0, deadLetters: {} },
    })
    expect(await progress('paged')).toMatchObject({ version: 1, covered: [], seen: [] })
    expect(await db.value(`select caught_up_at from ingest.progress where series = 'paged'`)).toBeNull()
  })

  it('is no longer wanted where it was read again, and elsewhere it is', async () => {
    await begin('wanted')
    await db.rows(`select ingest.mark_wanted('calls', $1, 'wanted', $2, $3)`, [app, iso(-100), iso(-10)])
    await commitNext(db, 'calls', 'wanted', { sees: [span(-50, -20)] })
    expect(await progress('wanted')).toMatchObject({
      wanted: [
        [-100, -50],
        [-20, -10],
      ],
    })
  })

  it('that was given up and then read after all is repaired as far as it was read', async () => {
    await begin('healed')
    await commitNext(db, 'calls', 'healed', { loses: [{ ...span(10, 20), reason: 'unreadable' }] })
    await commitNext(db, 'calls', 'healed', { covers: [span(10, 15)], sees: [span(10, 15)] })
    expect(await gaps('healed')).toEqual([
      { from: 10, to: 15, reason: 'unreadable', state: 'repaired' },
      { from: 15, to: 20, reason: 'unreadable', state: 'lost' },
    ])
    expect(await progress('healed')).toMatchObject({ lost: [[15, 20]] })
    await commitNext(db, 'calls', 'healed', { covers: [span(15, 25)], sees: [span(15, 25)] })
    expect(await gaps('healed')).toMatchObject([
      { from: 10, to: 15, state: 'repaired' },
      { from: 15, to: 20, state: 'repaired' },
    ])
    expect(await progress('healed')).toMatchObject({ lost: [] })
  })

  it('whose gap was read here and there is lost in between', async () => {
    await begin('pieces')
    await commitNext(db, 'calls', 'pieces', { loses: [{ ...span(10, 20), reason: 'unreadable' }] })
    const read = [span(12, 13), span(15, 16), span(19, 20)]
    await commitNext(db, 'calls', 'pieces', { covers: read, sees: read })
    expect(await gaps('pieces')).toMatchObject([
      { from: 10, to: 12, state: 'lost' },
      { from: 13, to: 15, state: 'lost' },
      { from: 16, to: 19, state: 'lost' },
    ])
  })
})

describe('a page of a window', () => {
  it('writes rows, dead letters, work, progress and the settlement, or nothing of it', async () => {
    await begin('whole')
    await db.rows(`
      insert into ingest.budget (scope, limit_group, last_n, last_sent_at) values ('school', 'call-search', 1, ingest.clock());
      insert into ingest.debit (scope, limit_group, n, app_id, operation, epoch, sent_at, dead_at)
        values ('school', 'call-search', 1, 'school', 'callList', 1, ingest.clock(), ingest.clock() + interval '1 minute')`)
    const clockBounds = { floor: at(0) * 1_000, ceiling: at(0) * 1_000 }
    const page = {
      covers: [span(0, 60)],
      sees: [span(0, 60)],
      rows: rowSet({ 'analytics.call': [call('w1')] }),
      rejects: [{ reason: 'missing_key', detail: 'call_id is missing', item: {} }],
      work: [work('w1'), work('w1', { part: '1' }), work('w1')],
      settles: { scope: 'school', group: 'call-search', n: 1, clockBounds },
    } as const
    const bad = { ...page, rows: rowSet({ 'analytics.call': [call('w1', { created_at: 'noon' })] }) }
    const before = await progress('whole')
    await expect(commitNext(db, 'calls', 'whole', bad)).rejects.toEqual(
      new RefusedRows('22007', 'commit_calls'),
    )
    expect(await db.store.dryRun(windowPage('whole', 0, bad))).toBe(false)
    expect(await db.store.dryRun(windowPage('whole', 0, page))).toBe(true)
    const traces = `select (select count(*) from analytics.call where call_id = 'w1')::int as calls,
      (select count(*) from ingest.work_item where item = 'w1')::int as items,
      (select count(*) from ingest.dead_letter where series = 'whole')::int as letters,
      (select outcome from ingest.debit where limit_group = 'call-search')`
    expect(await db.rows(traces)).toEqual([{ calls: 0, items: 0, letters: 0, outcome: null }])
    expect(await progress('whole')).toEqual(before)
    const result = await commitNext(db, 'calls', 'whole', page)
    expect(result).toMatchObject({ outcome: 'committed', deadLetters: { missing_key: 1 } })
    expect(await db.rows(traces)).toEqual([{ calls: 1, items: 2, letters: 1, outcome: 'committed' }])
  })

  it('of another version is stale, of another owner fenced, and neither writes a row', async () => {
    await begin('guarded')
    const rows = rowSet({ 'analytics.call': [call('g1')] })
    const page = windowPage('guarded', 0, {
      rows,
      covers: [span(0, 9)],
      sees: [span(0, 9)],
      work: [work('g1')],
    })
    expect(await db.store.commitWindow({ ...page, version: 3 })).toEqual({ outcome: 'stale' })
    expect(await db.store.commitWindow({ ...page, fence: { ...me, epoch: 2 } })).toEqual({
      outcome: 'fenced',
    })
    expect(await db.store.commitWindow({ ...page, series: 'nobody' })).toEqual({ outcome: 'stale' })
    expect(await progress('guarded')).toMatchObject({ version: 0, covered: [], seen: [] })
    expect(await db.value(`select count(*)::int from analytics.call where call_id = 'g1'`)).toBe(0)
    expect((await openItems(db)).filter(({ key }) => key === 'g1')).toEqual([])
  })

  it('that is committed twice at once counts once', async () => {
    await begin('twice')
    const page = windowPage('twice', 0, { covers: [span(0, 9)], sees: [span(0, 9)] })
    const results = await Promise.all([1, 2, 3, 4].map(() => db.store.commitWindow(page)))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['committed', 'stale', 'stale', 'stale'])
    expect(await progress('twice')).toMatchObject({ version: 1 })
  })

  it('brings no rows of another stream, and no other kind of stream is committed like it', async () => {
    const rows = rowSet({ 'analytics.usage_insight': [] })
    await expect(async () => db.store.commitWindow(windowPage('x', 0, { rows }))).rejects.toThrow(
      'this page cannot bring rows of analytics.usage_insight',
    )
    await expect(async () => db.store.commitWindow(windowPage('x', 0, { stream: 'poll' }))).rejects.toThrow(
      'pages of stream poll are not committed as a range of time',
    )
  })
})

describe('what expires', () => {
  it('is lost exactly where it was owed: as expired, or as unconfirmed where it had been read', async () => {
    await begin('expires')
    await commitNext(db, 'calls', 'expires', {
      covers: [span(10, 20)],
      sees: [span(5, 30)],
      loses: [{ ...span(40, 41), reason: 'overflow' }],
    })
    const { version } = await progress('expires')
    expect(await db.store.expireWindows(me, app, 'calls', 'expires', at(50))).toEqual({ lost: 5, absent: 0 })
    expect(await gaps('expires')).toEqual([
      { from: 0, to: 5, reason: 'expired', state: 'lost' },
      { from: 5, to: 10, reason: 'unconfirmed', state: 'lost' },
      { from: 20, to: 30, reason: 'unconfirmed', state: 'lost' },
      { from: 30, to: 40, reason: 'expired', state: 'lost' },
      { from: 40, to: 41, reason: 'overflow', state: 'lost' },
      { from: 41, to: 50, reason: 'expired', state: 'lost' },
    ])
    expect(await progress('expires')).toMatchObject({
      version: version + 1,
      lost: [
        [0, 10],
        [20, 50],
      ],
      covered: [[10, 20]],
    })
  })

  it('makes the last row longer where it goes on, and nothing when nothing more is owed', async () => {
    expect(await db.store.expireWindows(me, app, 'calls', 'expires', at(50))).toEqual({ lost: 0, absent: 0 })
    const before = await progress('expires')
    expect(await db.store.expireWindows(me, app, 'calls', 'expires', at(70))).toEqual({ lost: 1, absent: 0 })
    expect((await gaps('expires')).at(-1)).toEqual({ from: 41, to: 70, reason: 'expired', state: 'lost' })
    expect(await db.store.expireWindows(me, app, 'calls', 'expires', at(60))).toEqual({ lost: 0, absent: 0 })
    expect(await progress('expires')).toMatchObject({ version: before.version + 1 })
  })

  it('is not lost before it was owed, nor by one who does not own the shard, nor in another series', async () => {
    await begin('later', 100)
    await begin('other', 0)
    expect(await db.store.expireWindows(me, app, 'calls', 'later', at(90))).toEqual({ lost: 0, absent: 0 })
    expect(await db.store.expireWindows({ ...me, epoch: 0 }, app, 'calls', 'other', at(90))).toEqual({
      lost: 0,
      absent: 0,
    })
    expect([await progress('later'), await progress('other')]).toMatchObject([
      { version: 0, lost: [] },
      { version: 0, lost: [] },
    ])
  })

  it('is absent where the provider was asked and did not serve it, unless it did later', async () => {
    await begin('thin')
    await commitNext(db, 'calls', 'thin', { sees: [span(0, 30)], misses: [span(0, 30)] })
    await commitNext(db, 'calls', 'thin', {
      covers: [span(0, 10)],
      sees: [span(0, 20)],
      misses: [span(10, 20)],
    })
    expect(await db.store.expireWindows(me, app, 'calls', 'thin', at(15))).toEqual({ lost: 0, absent: 1 })
    expect(await db.store.expireWindows(me, app, 'calls', 'thin', at(40))).toEqual({ lost: 1, absent: 1 })
    expect(await gaps('thin')).toEqual([
      { from: 10, to: 30, reason: 'not_served', state: 'absent' },
      { from: 30, to: 40, reason: 'expired', state: 'lost' },
    ])
    const [known] = (await db.store.windows(app, 'calls')).filter(({ series }) => series === 'thin')
    expect(known!.missing).toEqual([])
  })

  it('is no loss where it is of a time when the stream was off', async () => {
    await begin('off')
    await commitNext(db, 'calls', 'off', { covers: [span(0, 20)], sees: [span(0, 35)] })
    await db.rows(
      `insert into ingest.stream_off (app_id, stream, off_at, on_at) values ($1, 'calls', $2, $3)`,
      [app, iso(30), iso(60)],
    )
    onTestFinished(async () => void (await db.rows('truncate ingest.stream_off')))
    expect(await db.store.expireWindows(me, app, 'calls', 'off', at(80))).toEqual({ lost: 2, absent: 0 })
    expect(await gaps('off')).toEqual([
      { from: 20, to: 30, reason: 'unconfirmed', state: 'lost' },
      { from: 60, to: 80, reason: 'expired', state: 'lost' },
    ])
    expect(await progress('off')).toMatchObject({ covered: [[0, 20]], lost: [[20, 80]] })
    expect(await db.store.expireWindows(me, app, 'calls', 'off', at(80))).toEqual({ lost: 0, absent: 0 })
    await db.setTime(iso(100))
    onTestFinished(() => db.setTime(iso(0)))
    const told = await db.rows(
      `select seconds::int, oldest, lost_seconds::int as lost from ingest.backlog where series = 'off'`,
    )
    expect(told).toEqual([{ seconds: 20, oldest: new Date(iso(80)), lost: 30 }])
  })

  it('takes what was wanted there with it', async () => {
    await begin('late-wish')
    await commitNext(db, 'calls', 'late-wish', { covers: [span(-50, 50)], sees: [span(-50, 50)] })
    await db.rows(`select ingest.mark_wanted('calls', $1, 'late-wish', $2, $3)`, [app, iso(-40), iso(-10)])
    expect(await db.store.expireWindows(me, app, 'calls', 'late-wish', at(-20))).toEqual({
      lost: 0,
      absent: 0,
    })
    expect(await progress('late-wish')).toMatchObject({ wanted: [[-20, -10]], lost: [] })
  })

  it('that someone wanted is lost only where it was never had', async () => {
    await begin('wish')
    await commitNext(db, 'calls', 'wish', { covers: [span(-50, 50)], sees: [span(-50, 50)] })
    await db.rows(`select ingest.mark_wanted('calls', $1, 'wish', $2, $3)`, [app, iso(-60), iso(-30)])
    expect(await db.store.expireWindows(me, app, 'calls', 'wish', at(-20))).toEqual({ lost: 1, absent: 0 })
    expect(await gaps('wish')).toEqual([{ from: -60, to: -50, reason: 'expired', state: 'lost' }])
    expect(await progress('wish')).toMatchObject({ wanted: [], lost: [[-60, -50]] })
  })

  it('is counted anew when a page was committed while it waited for the series', async () => {
    await begin('waited')
    const other = await session(db.url)
    await other.query('begin')
    await other.query(
      `update ingest.progress set version = 1, covered = tstzmultirange(tstzrange($1, $2)) where series = 'waited'`,
      [iso(0), iso(20)],
    )
    const expiring = db.store.expireWindows(me, app, 'calls', 'waited', at(30))
    while ((await db.value('select count(*)::int from pg_locks where not granted')) === 0)
      await Promise.resolve()
    await other.query('commit')
    expect(await expiring).toEqual({ lost: 1, absent: 0 })
    expect(await gaps('waited')).toEqual([{ from: 20, to: 30, reason: 'expired', state: 'lost' }])
    expect(await progress('waited')).toMatchObject({ version: 2, covered: [[0, 20]], lost: [[20, 30]] })
  })

  it('of a page that is committed at the same moment is either read or lost, never both', async () => {
    for (let round = 0; round < 20; round++) {
      const series = `race ${round}`
      await begin(series)
      const page = windowPage(series, 0, { covers: [span(0, 30)], sees: [span(0, 30)] })
      const [committed] = await Promise.all([
        db.store.commitWindow(page),
        db.store.expireWindows(me, app, 'calls', series, at(30)),
      ])
      const isRead = committed.outcome === 'committed'
      expect(await progress(series)).toMatchObject({
        covered: isRead ? [[0, 30]] : [],
        lost: isRead ? [] : [[0, 30]],
      })
      expect(await gaps(series)).toHaveLength(isRead ? 0 : 1)
    }
  })
})

describe('a series of which more is known than can be asked for', () => {
  const day = 86_400
  const rules: WindowRules = {
    ...{ availableData: 14 * day, timeFrame: 3 * day, dataDelay: 43_200, step: 3_600, frame: 'needed' },
    ...{ allowedLateness: 48 * 3_600, margin: { start: 5, end: 5 } },
  }
  const now = at(0)
  const frame = frameOf(rules, now)
  const since = frame.lowerBound - 60

  /** A year of hours: of ten one was lost, one never served, and the last ten days are not final; one was never read. */
  async function years(series: string, unread: readonly number[]): Promise<void> {
    await begin(series, -365 * day)
    const hours = `select h, $2::timestamptz - h * interval '1 hour' as at from generate_series(0, 365 * 24) h`
    const part = (which: string) =>
      `(select coalesce(range_agg(tstzrange(at, at + interval '1 hour')), '{}') from (${hours}) x
        where h <> all ($3::int[]) and ${which})`
    await db.rows(
      `update ingest.progress set seen = ${part('h > 12 and h % 10 <> 5')}, covered = ${part('h > 240 and h % 10 not in (3, 5)')},
              lost = ${part('h > 240 and h % 10 = 5')} + ${part('h > 336 and h % 10 = 3')}, missing = ${part('h between 20 and 330 and h % 10 = 3')},
              wanted = ${part('h in (100, 300, 340, 5000)')}
       where series = $1`,
      [series, iso(0), unread],
    )
  }

  const known = async (series: string, from?: number) =>
    (await db.store.windows(app, 'calls', from)).find(each => each.series === series)!

  it.each([
    ['all of which was given up that is past', []],
    ['of which something has just passed unread', [345, 1_000, 1_001]],
  ] as const)(
    '%s: tells what lies in reach alone, and is planned as with all of it',
    async (name, unread) => {
      await years(name, unread)
      const [all, near] = [await known(name), await known(name, since)]
      const count = ({ covered, seen, lost, missing, wanted }: WindowProgress) =>
        [covered, seen, lost, missing, wanted].flat().length
      expect(count(all)).toBeGreaterThan(2_000)
      expect(count(near)).toBeLessThan(150)
      const facts = (told: WindowProgress) => ({
        version: told.version,
        backlogFrom: told.backlogFrom,
        expired: expired(told, frame.lowerBound),
        sets: [backlogOf, unsettled, neverRead, provisional, unserved].map(of => of(told, frame)),
        plans: purposes.map(purpose => planWindow(rules, told, now, purpose)),
      })
      expect(facts(all).expired).toHaveLength(unread.length === 0 ? 0 : 2)
      expect(facts(all).plans.filter(Boolean).length).toBeGreaterThan(2)
      expect(facts(near)).toEqual(facts(all))
      expect(await known(name)).toEqual(all)
    },
  )
})

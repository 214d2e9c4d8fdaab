import { afterAll, describe, expect, it } from 'vitest'
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
import { at, call, commitNext, iso, openItems, span, windowPage, work } from './analytics.ts'
import { callWindowsOf } from './call-windows.ts'
import { app, me, openStore, rowSet, type TestStore } from './harness.ts'

const db: TestStore = await openStore()
afterAll(() => db.close())
const { begin, progress, gaps } = callWindowsOf(db)

describe('a series whose progress is time', () => {
  it('begins with nothing read, and stays as it is when it is begun again', async () => {
    await begin('odd\u0000name', 100)
    await begin('odd\u0000name', 900)
    const found = await db.store.windows(app, 'calls')
    expect(await db.store.windows(app, 'calls', Number.NEGATIVE_INFINITY)).toEqual(found)
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

import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { anyTime, debit, granted } from './debits.ts'
import { feedOf, minutes } from './feed.ts'
import { app, hour, me, openStore, session, start, type TestStore } from './harness.ts'

const db: TestStore = await openStore()
beforeEach(async () => {
  await db.setTime(start)
  await db.rows('truncate ingest.debit, ingest.budget, ingest.gap, ingest.progress')
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())

const { ask, commitFeed, gaps, unread } = feedOf(db)

describe('the housekeeping of debits', () => {
  it('forgets debits two days before the last one of their group, and no sooner', async () => {
    for (let n = 0; n < 3; n++) {
      if (n > 0) await db.advance(24 * hour)
      await commitFeed(await ask())
    }
    await db.advance(24 * hour)
    await db.keepHouse()
    expect(await db.value('select count(*)::int from ingest.debit')).toBe(3)
    await commitFeed(await ask())
    await db.keepHouse()
    expect(await db.value('select min(n)::int from ingest.debit')).toBe(2)
    expect((await ask()).n).toBe(5)
  })

  it('keeps an answer that was read by hand until it is a gap, which tells from when on, however long that takes', async () => {
    await commitFeed(await ask())
    await db.advance(24 * hour)
    await db.ledger.settle(await ask(), 'unread', anyTime)
    for (let n = 0; n < 3; n++) {
      await db.advance(24 * hour)
      await commitFeed(await ask())
    }
    await db.keepHouse()
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([{ reason: 'unread_answer', from: minutes(0), to: minutes(24 * 60) }])
    await db.keepHouse()
    expect(await db.value('select min(n)::int from ingest.debit')).toBe(3)
  })

  it('keeps none of a group whose unread answers lose nothing', async () => {
    for (let n = 0; n < 3; n++) {
      await db.ledger.settle(await granted(db.ledger, debit('call-search', 9, 1)), 'unread', anyTime)
      await db.advance(30 * hour)
    }
    await db.keepHouse()
    expect(await db.value('select min(n)::int from ingest.debit')).toBe(2)
  })

  it('keeps none of a group that nobody asks for any more, as of an app that is gone or of a channel', async () => {
    const asked = () => granted(db.ledger, debit('call-search', 9, 1))
    await asked()
    await db.advance(29 * 24 * hour)
    await db.keepHouse()
    expect(await db.value('select count(*)::int from ingest.debit')).toBe(1)
    await db.advance(2 * 24 * hour)
    await db.keepHouse()
    expect(await db.value('select count(*)::int from ingest.debit')).toBe(0)
    expect(await asked()).toMatchObject({ n: 2 })
  })

  it('takes away what days have left a bounded number at a time, and waits for nobody', async () => {
    await db.rows(
      `insert into ingest.debit (scope, limit_group, n, app_id, operation, epoch, sent_at, dead_at)
       select s, 'call-search', n, 'a', 'search', 1, ingest.clock() - interval '5 days', ingest.clock() - interval '5 days'
       from unnest(array['a', 'b']) s, generate_series(1, 12000) n`,
    )
    await db.rows(
      `insert into ingest.budget (scope, limit_group, last_n, last_sent_at) select s, 'call-search', 12000, ingest.clock()
       from unnest(array['a', 'b']) s`,
    )
    await db.rows(
      `create table ingest.test_gone (debits int);
       grant insert on ingest.test_gone to public;
       create function ingest.test_note() returns trigger language plpgsql as
         'begin insert into ingest.test_gone select count(*) from went; return null; end';
       create trigger test_note after delete on ingest.debit referencing old table as went
         for each statement execute function ingest.test_note()`,
    )
    const other = await session(db.url)
    await other.query(`begin; select from ingest.debit where scope = 'a' and n = 12000 for update`)
    await db.keepHouse()
    expect(await db.rows('select debits from ingest.test_gone')).toEqual(
      [10_000, 10_000, 3_999].map(debits => ({ debits })),
    )
    await other.query('commit')
    await db.rows('drop trigger test_note on ingest.debit')
    await db.keepHouse()
    expect(await db.value('select count(*)::int from ingest.debit')).toBe(0)
  })
})

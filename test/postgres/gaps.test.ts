import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { PageCommit } from '../../src/engine/ports.ts'
import { anyTime, debit, granted, reach } from './debits.ts'
import { feedGroup, feedOf, minutes } from './feed.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  hour,
  me,
  openStore,
  start,
  type TestStore,
  time,
} from './harness.ts'

const minute = 60_000
const db: TestStore = await openStore()
beforeEach(async () => {
  await db.setTime(start)
  await db.rows(
    `truncate ingest.debit, ingest.budget, ingest.gap, ingest.progress, classroom.room, classroom.room_event, ingest.dead_letter, ingest.divergence, ingest.stream_off`,
  )
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())

const { ask, commitFeed, readRoom, gaps, unread } = feedOf(db)

describe('answers of the feed that nobody stored', () => {
  it('are none while every answer was committed or refused, or may still be committed', async () => {
    await commitFeed(await ask())
    await db.ledger.settle(await ask(), 'refused', anyTime)
    await ask()
    expect(await unread()).toBe(0)
    const outcomes = await db.rows('select outcome from ingest.debit order by n')
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['committed', 'refused', null])
  })

  it('leave a gap from the last committed question to their answer', async () => {
    await commitFeed(await ask())
    await db.advance(minute)
    const lost = await ask()
    await db.advance(10_000)
    await db.ledger.settle(lost, 'unread', anyTime)
    expect(await unread()).toBe(1)
    expect(await gaps()).toEqual([
      {
        reason: 'unread_answer',
        state: 'open',
        unit: 'time',
        from: minutes(0),
        to: new Date(Date.parse(time(1)) + 10_000),
      },
    ])
  })

  it('leave a gap from the last question before them that was committed, however many came before or after', async () => {
    const seconds = (n: number) => new Date(Date.parse(start) + n * 1_000)
    /** Asks at one second after the start, and is answered at another. */
    const asked = async (at: number) => {
      await db.setTime(seconds(at).toISOString())
      return ask()
    }
    const answered = async (at: number) => db.setTime(seconds(at).toISOString())
    const first = await asked(0)
    await answered(5)
    await commitFeed(first)
    const second = await asked(10)
    await answered(16)
    await commitFeed(second)
    // A refused question handed nothing out, and so moves no beginning.
    await db.ledger.settle(await asked(20), 'refused', anyTime)
    const lost = await asked(30)
    await answered(37)
    await db.ledger.settle(lost, 'unread', anyTime)
    const next = await asked(40)
    await answered(44)
    await commitFeed(next)
    const last = await asked(50)
    await answered(58)
    await db.ledger.settle(last, 'unread', anyTime)
    expect(await unread()).toBe(2)
    expect(await gaps()).toMatchObject([
      { from: seconds(10), to: seconds(37) },
      { from: seconds(40), to: seconds(58) },
    ])
  })

  it('of the feed of one region reach back to what that feed told, whatever others told since', async () => {
    const inRegion = (region: string) =>
      granted(db.ledger, debit(feedGroup, 1, 1, { rates: [], scope: `${app}/${region}` }))
    const commitIn = async (region: string) => {
      const settles = await inRegion(region)
      const { version } = (await db.store.progress(app, 'app-events', region))!
      await db.store.commit(feedPage(version, { settles, series: region, region }))
    }
    for (const region of ['ap', 'eu']) await db.store.follow(me, app, 'app-events', region)
    await commitIn('ap')
    await commitIn('eu')
    await db.advance(minute)
    await commitIn('eu')
    await db.ledger.settle(await inRegion('ap'), 'unread', anyTime)
    expect(await db.store.recordUnread(me, app, 'eu')).toBe(0)
    expect(await db.store.recordUnread(me, app, 'ap')).toBe(1)
    expect(await gaps()).toMatchObject([{ state: 'open', from: minutes(0), to: minutes(1) }])
    await db.advance(minute)
    await commitIn('ap')
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
  })

  it('of a feed that is followed no more wait for the others to tell all', async () => {
    await db.store.follow(me, app, 'app-events', 'eu')
    await commitFeed(await ask())
    await db.advance(minute)
    await db.ledger.settle(await ask(), 'unread', anyTime)
    expect(await unread()).toBe(1)
    await db.store.closeSeries(me, app, 'app-events', '')
    expect(await db.store.settleFeedGaps(me, app)).toBe(1)
    await db.advance(minute)
    await db.rows(`update ingest.progress set caught_up_at = ingest.clock() where series = 'eu'`)
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
  })

  it('are none of the time in which its region was no part of the configuration', async () => {
    await commitFeed(await ask())
    await db.store.closeSeries(me, app, 'app-events', '')
    await db.advance(24 * hour)
    await db.store.follow(me, app, 'app-events', '')
    expect(await unread()).toBe(0)
    await db.advance(24 * hour)
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([{ reason: 'pause', from: new Date(Date.parse(start) + 24 * hour) }])
  })

  it('of a feed that has more to tell reach back to the last answer that told all', async () => {
    await commitFeed(await ask())
    await db.advance(minute)
    await commitFeed(await ask(), { caughtUp: false })
    await db.advance(minute)
    await db.ledger.settle(await ask(), 'unread', anyTime)
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([{ from: minutes(0), to: minutes(2) }])
  })

  it('are those of a process that died, as soon as the shard has another owner', async () => {
    await commitFeed(await ask())
    await ask()
    await db.rows('update ingest.ownership set epoch = 2')
    expect(await unread({ ...me, epoch: 2 })).toBe(1)
    await db.rows('update ingest.ownership set epoch = 1')
    expect(await gaps()).toMatchObject([{ from: minutes(0), to: new Date(Date.parse(start) + reach) }])
  })

  it('are those that can no longer arrive', async () => {
    await commitFeed(await ask())
    await ask()
    await db.advance(reach + 1)
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([{ from: minutes(0), to: new Date(Date.parse(start) + reach) }])
  })

  it('before anything was committed may have held all that the provider remembers', async () => {
    for (const expected of [1, 1]) {
      await db.ledger.settle(await ask(), 'unread', anyTime)
      expect(await unread()).toBe(expected)
      await db.advance(minute)
    }
    expect(await gaps()).toMatchObject([{ from: minutes(-60), to: minutes(1) }])
  })

  it('in a row are one gap, which grows, and none is counted twice', async () => {
    await commitFeed(await ask())
    for (const expected of [1, 1, 0]) {
      await db.advance(minute)
      if (expected) await db.ledger.settle(await ask(), 'unread', anyTime)
      expect(await unread()).toBe(expected)
    }
    expect(await gaps()).toMatchObject([{ from: minutes(0), to: minutes(2) }])
  })

  it('are nobody’s to record but the owner’s', async () => {
    await db.ledger.settle(await ask(), 'unread', anyTime)
    expect(await unread({ ...me, owner: 'other' })).toBe(0)
    expect(await gaps()).toEqual([])
  })
})

describe('a feed that is switched off', () => {
  const facts = { timeZone: 'UTC', userLink: 'stream' }
  const off = () => db.store.noteApp(me, app, { ...facts, on: [], off: ['app-events'] })
  const on = () => db.store.noteApp(me, app, { ...facts, on: ['app-events'], off: [] })

  it('has missed nothing meanwhile, nor in the minutes that a restart takes', async () => {
    await commitFeed(await ask())
    await db.advance(9 * minute)
    await off()
    await db.advance(240 * hour)
    await on()
    await db.advance(minute)
    expect(await unread()).toBe(0)
    expect(await gaps()).toEqual([])
  })

  it('has missed a pause before it was, and one since it is on again', async () => {
    await commitFeed(await ask())
    await db.advance(5 * hour)
    await off()
    await db.advance(240 * hour)
    await on()
    expect(await unread()).toBe(1)
    await db.advance(hour + 1)
    expect(await unread()).toBe(1)
    expect(await gaps()).toEqual([
      { reason: 'pause', state: 'open', unit: 'time', from: minutes(0), to: minutes(300) },
      {
        ...{ reason: 'pause', state: 'open', unit: 'time', from: minutes(245 * 60) },
        to: new Date(Date.parse(time(246 * 60)) + 1),
      },
    ])
  })

  it('lost with an answer since then nothing of the time before', async () => {
    await commitFeed(await ask())
    await db.advance(minute)
    await off()
    await db.advance(240 * hour)
    await on()
    await db.advance(minute)
    await db.ledger.settle(await ask(), 'unread', anyTime)
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([
      { reason: 'unread_answer', from: minutes(240 * 60 + 1), to: minutes(240 * 60 + 2) },
    ])
  })
})

describe('a pause', () => {
  it('is a gap once it is longer than the provider remembers', async () => {
    await commitFeed(await ask())
    await db.advance(hour)
    expect(await unread()).toBe(0)
    await db.advance(1)
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([{ reason: 'pause', state: 'open', from: minutes(0) }])
    expect(await unread()).toBe(0)
  })

  it('is also one in which the feed always had more to tell', async () => {
    await commitFeed(await ask())
    for (let n = 0; n < 2; n++) {
      await db.advance(hour / 2)
      await commitFeed(await ask(), { caughtUp: false })
    }
    expect(await unread()).toBe(0)
    await db.advance(1)
    expect(await unread()).toBe(1)
    expect(await gaps()).toMatchObject([{ reason: 'pause', state: 'open', from: minutes(0) }])
  })
})

describe('a gap of the feed', () => {
  async function openGap(since: Partial<PageCommit> = {}): Promise<void> {
    await db.store.discoverRooms(me, app, ['a', 'b'])
    await readRoom('a')
    await readRoom('b')
    await commitFeed(await ask())
    await db.advance(minute)
    await db.ledger.settle(await ask(), 'unread', anyTime)
    await unread()
    await db.advance(minute)
    await commitFeed(await ask(), since)
  }

  it('is repaired once every followed room was read to its end since', async () => {
    await openGap()
    expect(await db.store.settleFeedGaps(me, app)).toBe(1)
    await readRoom('a')
    expect(await db.store.settleFeedGaps(me, app)).toBe(1)
    await readRoom('b')
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
    expect(await gaps()).toMatchObject([{ state: 'repaired' }])
  })

  it('does not wait for a room that is closed', async () => {
    await openGap()
    await db.store.closeSeries(me, app, 'room-events', 'b')
    await readRoom('a')
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
    expect(await gaps()).toMatchObject([{ state: 'repaired' }])
  })

  it('is lost when the provider forgot a room before it was read again', async () => {
    await openGap()
    await db.store.forgetRoom(me, app, 'b')
    await readRoom('a')
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
    expect(await gaps()).toMatchObject([{ state: 'lost' }])
  })

  it('waits until the feed has told all, and is lost with a room that it names only then', async () => {
    await openGap({ caughtUp: false, rows: eventRows([event('c', 1)]) })
    await readRoom('a')
    await readRoom('b')
    await db.store.forgetRoom(me, app, 'c')
    expect(await db.store.settleFeedGaps(me, app)).toBe(1)
    await commitFeed(await ask())
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
    expect(await gaps()).toMatchObject([{ state: 'lost' }])
  })

  it('stays open for one who does not own the shard', async () => {
    await openGap()
    await readRoom('a')
    await readRoom('b')
    await db.store.settleFeedGaps({ ...me, epoch: 9 }, app)
    expect(await gaps()).toMatchObject([{ state: 'open' }])
  })

  it('is repaired by rooms that were served for longer than a room that ends is remembered', async () => {
    await openGap()
    await db.advance(2 * hour)
    await db.keepHouse()
    expect(await gaps()).toMatchObject([{ state: 'lost' }])
    await readRoom('a')
    expect(await db.store.settleFeedGaps(me, app)).toBe(1)
    await readRoom('b')
    await commitFeed(await ask())
    expect(await db.store.settleFeedGaps(me, app)).toBe(0)
    expect(await gaps()).toMatchObject([{ state: 'repaired' }])
  })

  it('is lost when nobody could repair it while the provider remembered', async () => {
    await openGap()
    await db.keepHouse()
    expect(await gaps()).toMatchObject([{ state: 'open' }])
    await db.advance(hour)
    await db.keepHouse()
    expect(await gaps()).toMatchObject([{ state: 'lost' }])
  })
})

import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { at, commitNext, iso, span, windowPage } from './analytics.ts'
import { callWindowsOf } from './call-windows.ts'
import { app, me, openStore, session, type TestStore, waitingFor } from './harness.ts'

const db: TestStore = await openStore()
afterAll(() => db.close())
const { begin, progress, gaps } = callWindowsOf(db)

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

  it('is lost by whole values, where a stream was switched off or on in the middle of one', async () => {
    await db.store.beginWindows(me, app, 'realtime-usage', ['a'], at(0), 20)
    await db.rows(
      `insert into ingest.stream_off (app_id, stream, off_at, on_at) values
         ($1, 'realtime-usage', $2, $3), ($1, 'realtime-usage', $4, $5)`,
      [app, iso(27.3), iso(73), iso(82), iso(97)],
    )
    onTestFinished(async () => void (await db.rows('truncate ingest.stream_off')))
    await db.store.expireWindows(me, app, 'realtime-usage', 'a', at(120))
    const gaps = await db.rows(
      `select extract(epoch from range_from - $1)::float8 as from, extract(epoch from range_to - $1)::float8 as to
       from ingest.gap where stream = 'realtime-usage' order by 1`,
      [iso(0)],
    )
    expect(gaps).toEqual([
      { from: 0, to: 40 },
      { from: 60, to: 120 },
    ])
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
    await waitingFor(other)
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

import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { OpenItem } from '../../src/engine/ports.ts'
import { at, commitNext, expire, iso, itemPage, openItems, work } from './analytics.ts'
import { app, me, openStore, type TestStore } from './harness.ts'

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows('truncate ingest.work_item, analytics.call')
  await db.store.beginWindows(me, app, 'calls', ['all'], at(0))
})
afterAll(async () => (await opened)?.close())

const add = (...items: ReturnType<typeof work>[]) => commitNext(db, 'calls', 'all', { work: items })
async function only(): Promise<OpenItem> {
  const [item, ...rest] = await openItems(db)
  expect(rest).toEqual([])
  return item!
}

describe('an item that a selection leaves out', () => {
  const leftOut = (more: object = {}) => work('a', { ask: { sids: ['1'] }, isLeftOut: true, ...more })
  const told = () => db.rows('select state, left_out from ingest.work_item')
  const backfill = (call: string | null) =>
    db.value(`select ingest.mark_wanted('call-sessions', $1, $2, $3, $4)`, [app, call, iso(-1), iso(1)])

  it('waits for nobody, and stays left out until another selection wants it', async () => {
    await add(leftOut())
    await add(leftOut({ to: 90 }))
    expect(await told()).toEqual([{ state: 'done', left_out: true }])
    expect(await openItems(db)).toEqual([])
    await add(work('a', { to: 90, ask: { sids: ['1'] } }))
    expect(await only()).toMatchObject({ ask: { sids: ['1'] }, to: at(90) })
    expect(await told()).toEqual([{ state: 'pending', left_out: false }])
  })

  it('is not the one that was asked for before', async () => {
    await add(work('a', { ask: { sids: ['1'] } }))
    await add(leftOut())
    expect(await told()).toEqual([{ state: 'pending', left_out: false }])
    await db.store.commitItem(itemPage(await only()))
    await add(leftOut({ to: 90 }))
    expect(await told()).toEqual([{ state: 'pending', left_out: false }])
  })

  it('is asked for by the name of its call, and is left out again where it cannot be had any more', async () => {
    await db.advance(60_000)
    await db.rows(
      `insert into analytics.call (app_id, call_id, created_at, finished) values ($1, 'a', $2, true)`,
      [app, iso(0)],
    )
    await add(leftOut())
    expect([await backfill(null), await backfill('a')]).toEqual([0, 1])
    expect(await told()).toEqual([{ state: 'pending', left_out: true }])
    expect(await expire(db, 'call-sessions', at(50))).toBe(0)
    expect(await told()).toEqual([{ state: 'done', left_out: true }])
    await backfill('a')
    await db.store.commitItem(itemPage(await only(), { nextPage: 2 }))
    expect(await told()).toEqual([{ state: 'pending', left_out: true }])
    await db.store.commitItem(itemPage(await only()))
    expect(await told()).toEqual([{ state: 'done', left_out: false }])
  })
})

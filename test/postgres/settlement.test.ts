import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CommitResult, Fence, Grant } from '../../src/engine/ports.ts'
import { itemPage, openItems, windowPage, work } from './analytics.ts'
import { debit, freshGroup, granted } from './debits.ts'
import { app, feedPage, listPage, logPage, me, openStore, type TestStore } from './harness.ts'
import { freshRoom } from './rooms.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  for (const stream of ['app-events', 'cloud-players'] as const) await db.store.follow(me, app, stream, '')
  await db.store.beginWindows(me, app, 'calls', ['all'], 0)
})
afterAll(() => db?.close())

interface Parts {
  readonly settles: Grant
  readonly fence: Fence
  /** How far the version of the page is from what is stored. */
  readonly off: number
}
type Commit = (parts: Parts) => Promise<CommitResult>

const versionOf = async (stream: 'app-events' | 'cloud-players') =>
  (await db.store.progress(app, stream, ''))!.version

/** One page for each statement that commits. */
const commits: Readonly<Record<string, Commit>> = {
  feed: async ({ off, ...rest }) => {
    return db.store.commit(feedPage((await versionOf('app-events')) + off, rest))
  },
  log: async ({ off, ...rest }) => db.store.commit(logPage(await freshRoom(db), off, rest)),
  list: async ({ off, ...rest }) => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0))
    return db.store.commit(listPage('recordings', room, off, rest))
  },
  players: async ({ off, ...rest }) => {
    return db.store.commit({
      ...feedPage((await versionOf('cloud-players')) + off, rest),
      ...{ stream: 'cloud-players', source: 'list' },
    })
  },
  window: async ({ off, ...rest }) => {
    const [known] = await db.store.windows(app, 'calls')
    return db.store.commitWindow(windowPage('all', known!.version + off, rest))
  },
  item: async ({ off, ...rest }) => {
    const [known] = await db.store.windows(app, 'calls')
    const call = work(freshGroup())
    await db.store.commitWindow(windowPage('all', known!.version, { work: [call] }))
    const item = (await openItems(db)).find(({ key }) => key === call.key)!
    return db.store.commitItem(itemPage({ ...item, version: item.version + off }, rest))
  },
}

describe.each(Object.entries(commits))('the debit of a page of a %s', (_, commit) => {
  const settle = async (fence: Fence, off: number) => {
    const settles = await granted(db.ledger, debit(freshGroup(), 1, 1))
    const { outcome } = await commit({ settles, fence, off })
    const [row] = await db.rows(
      'select outcome, settled_at is not null as settled from ingest.debit where limit_group = $1',
      [settles.group],
    )
    return { outcome, debit: row }
  }

  it('is settled with the page', async () => {
    expect(await settle(me, 0)).toEqual({
      outcome: 'committed',
      debit: { outcome: 'committed', settled: true },
    })
  })

  it('is not touched by one that was read from another version', async () => {
    expect(await settle(me, 7)).toEqual({ outcome: 'stale', debit: { outcome: null, settled: false } })
  })

  it.each([
    ['owner', { ...me, owner: 'other' }],
    ['epoch', { ...me, epoch: 0 }],
  ])('is not touched by one of a former %s', async (_, fence) => {
    expect(await settle(fence, 0)).toEqual({ outcome: 'fenced', debit: { outcome: null, settled: false } })
  })
})

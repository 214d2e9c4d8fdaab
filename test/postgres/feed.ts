import type { Grant, PageCommit } from '../../src/engine/ports.ts'
import { debit, granted } from './debits.ts'
import { app, feedPage, logPage, me, type TestStore, time } from './harness.ts'

/** As `gaps` tells the bounds of a gap. */
export const minutes = (n: number) => new Date(time(n))

/** The limit group of the feed. */
export const feedGroup = 'classroom-feed'

/** Questions to the feed of an app, what becomes of their answers, and the gaps that these leave. */
export function feedOf(db: TestStore) {
  return {
    ask: () => granted(db.ledger, debit(feedGroup, 1, 1, { rates: [] })),
    commitFeed: async (settles: Grant, more: Partial<PageCommit> = {}) => {
      const { version } = (await db.store.progress(app, 'app-events', ''))!
      await db.store.commit(feedPage(version, { settles, ...more }))
    },
    readRoom: async (room: string) => {
      const progress = await db.store.progress(app, 'room-events', room)
      await db.store.commit(logPage(room, progress!.version))
    },
    gaps: () =>
      db.rows(
        `select reason, state, unit, range_from as "from", range_to as "to" from ingest.gap where stream = 'app-events' order by range_from`,
      ),
    unread: (fence = me) => db.store.recordUnread(fence, app, ''),
  }
}

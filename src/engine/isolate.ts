import { redact } from '../streams/redact.ts'
import type { Page, Reject } from '../streams/stream.ts'
import type { Place, PollContext } from './context.ts'
import { type CommitResult, type PageCommit, RefusedRows } from './ports.ts'

/**
 * Commits a page. When Postgres refuses a value of it, the items are tried one by one without storing them, the
 * bad ones are set aside as dead letters, and the rest is committed: one bad item never blocks its page.
 */
export async function isolate(
  context: PollContext,
  place: Place,
  page: Page,
  commit: PageCommit,
): Promise<CommitResult> {
  const began = context.clock.monotonic()
  try {
    return await context.store.commit(commit)
  } catch (error) {
    if (!(error instanceof RefusedRows)) throw error
    context.log.warn('the database refused a row; looking for the item', {
      app: commit.app,
      stream: commit.stream,
      code: error.code,
    })
    return await context.store.commit(await withoutRefused(context, place, page, commit))
  } finally {
    context.meter.commit(context.clock.monotonic() - began)
  }
}

/**
 * The same commit without the rows of items that Postgres refuses. What the whole page says of the series (carry,
 * holes, room) stands: a refused item was served, and its place is taken.
 */
async function withoutRefused(
  { store, stream }: PollContext,
  { progress }: Place,
  page: Page,
  commit: PageCommit,
): Promise<PageCommit> {
  const harvest = (items: readonly unknown[]) => stream.harvest({ ...page, items }, progress.carry)
  const kept: unknown[] = []
  const refused: Reject[] = []
  for (const item of page.items) {
    const alone = harvest([item])
    const isTaken = await store.rehearse({ ...commit, rows: alone.rows, rejects: alone.rejects })
    kept.push(isTaken ? item : blank)
    if (!isTaken) {
      refused.push({
        reason: 'store_refused',
        detail: 'the database refused a value of it',
        item: redact(item),
      })
    }
  }
  return { ...commit, rows: harvest(kept).rows, rejects: [...commit.rejects, ...refused] }
}

/** Stands where a refused item was, so that the others keep their places: no stream makes rows of it. */
const blank = null

import type { Reject } from '../streams/page.ts'
import { redact } from '../streams/parts/items.ts'
import type { PageContext, PageItems, Task, TaskResult } from './context.ts'
import { type CommitResult, type Grant, RefusedRows } from './ports.ts'

/** A page that may lack its items, and the same one with them. */
export interface Readable<P> {
  readonly page: P
  readonly whole: () => Promise<P>
}

/**
 * Commits a page. When Postgres refuses a value of it, its items are tried without storing them, half by half down to
 * the bad ones; those are set aside as dead letters, and the rest is committed: one bad item never blocks its page.
 */
export async function commitPage<P extends PageItems, H extends TaskResult>(
  { app, clock, meter, log }: PageContext,
  task: Task<P, H>,
  { page, whole }: Readable<P>,
  pageResult: H,
  grant: Grant | undefined,
): Promise<CommitResult> {
  const began = clock.monotonic()
  try {
    return await task.commit(page, pageResult, grant)
  } catch (error) {
    if (!(error instanceof RefusedRows)) throw error
    log.warn('the database refused a row; looking for the item', {
      app: app.id,
      stream: task.stream,
      code: error.code,
      statement: error.statement,
    })
    return await task.commit(page, await withoutRefused(task, await whole(), pageResult, grant), grant)
  } finally {
    meter.commit(clock.monotonic() - began)
  }
}

/**
 * The same result without the rows of items that Postgres refuses. What the whole page says of the series stands:
 * a refused item was served, and its place is taken.
 */
async function withoutRefused<P extends PageItems, H extends TaskResult>(
  task: Task<P, H>,
  page: P,
  pageResult: H,
  grant: Grant | undefined,
): Promise<H> {
  const kept: unknown[] = []
  const refused: Reject[] = []
  const isTaken = (items: readonly unknown[]) => {
    const { rows, rejects, work } = task.toRows({ ...page, items })
    return task.dryRun(page, { ...pageResult, rows, rejects, ...(work && { work }) }, grant)
  }
  // Beside those that are kept: some are refused only together, as two values are whose sum is no number any more.
  const take = async (items: readonly unknown[]): Promise<void> => {
    if (await isTaken([...kept, ...items])) {
      kept.push(...items)
    } else if (items.length > 1) {
      const middle = items.length >> 1
      await take(items.slice(0, middle))
      await take(items.slice(middle))
    } else {
      kept.push(blank)
      refused.push({
        reason: 'store_refused',
        detail: 'the database refused a value of it',
        item: redact(items[0]),
      })
    }
  }
  if (page.items.length > 0) await take(page.items)
  const { rows, work } = task.toRows({ ...page, items: kept })
  return { ...pageResult, rows, ...(work && { work }), rejects: [...pageResult.rejects, ...refused] }
}

/** Stands where a refused item was, so that the others keep their places: no stream makes rows of it. */
const blank = null

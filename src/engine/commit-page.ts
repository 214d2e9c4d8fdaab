import { type Backoff, retryDelay } from '../planning/retry.ts'
import type { Reject } from '../streams/page.ts'
import { redact } from '../streams/parts/items.ts'
import type { StreamName } from '../streams/stream.ts'
import type { PageContext, PageItems, Task, TaskResult } from './context.ts'
import { hasMet } from './failures.ts'
import { type CommitResult, type Grant, RefusedRows, StoreUnavailable } from './ports.ts'

/** A page that may lack its items, and the same one with them. */
export interface Readable<P> {
  readonly page: P
  readonly whole: () => Promise<P>
}

/** For how long, ms, a page in hand is tried again that cannot be stored at the moment: it may have been dear. */
const PATIENCE_MS = 60_000
const betweenTries: Backoff = { first: 250, cap: 8_000 }

/**
 * Commits a page, and answers what was stored and of what. While other statements stand in its way, or the database is
 * away, it is tried again: what was stored without our hearing of it is refused as stale then. Its place in the load
 * stays taken, so that no more pages wait than there is room for. When Postgres refuses a value of it, its items are
 * tried without storing them, half by half down to the bad ones; those are set aside as dead letters, and the rest is
 * committed: one bad item never blocks its page.
 */
export async function commitPage<P extends PageItems, H extends TaskResult>(
  context: PageContext,
  task: Task<P, H>,
  { page, whole }: Readable<P>,
  pageResult: H,
  grant: Grant | undefined,
): Promise<{ readonly stored: CommitResult; readonly pageResult: H }> {
  const { app, clock, meter, log } = context
  const began = clock.monotonic()
  const patiently = createPatience(context, task.stream)
  try {
    return { stored: await patiently(() => task.commit(page, pageResult, grant)), pageResult }
  } catch (error) {
    if (!(error instanceof RefusedRows)) throw error
    log.warn('the database refused a row; looking for the item', {
      app: app.id,
      stream: task.stream,
      code: error.code,
      statement: error.statement,
    })
    const patient = {
      ...task,
      dryRun: (...page) => patiently(() => task.dryRun(...page)),
    } satisfies typeof task
    const kept = await withoutRefused(patient, await whole(), pageResult, grant)
    return { stored: await patiently(() => task.commit(page, kept, grant)), pageResult: kept }
  } finally {
    meter.commit(clock.monotonic() - began)
  }
}

/**
 * Has what stores a page done again, with growing waits, until its time is up or the engine stops; once more then. Who
 * lost the shard meanwhile is told so by the next try.
 */
function createPatience(context: PageContext, stream: StreamName) {
  const { clock, random, signal } = context
  const until = clock.monotonic() + PATIENCE_MS
  let failures = 0
  return async <T>(act: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await act()
      } catch (error) {
        const wait = retryDelay(betweenTries, ++failures, random.next())
        const isOver = signal.aborted || clock.monotonic() + wait >= until
        if (isOver || !(hasMet(context, error, { stream }) || isAway(context, error))) throw error
        await clock.sleep(wait, signal)
      }
    }
  }
}

/** Whether the database could not be reached, which everybody has to know. */
function isAway({ health }: PageContext, error: unknown): boolean {
  if (!(error instanceof StoreUnavailable)) return false
  health.failed(error.fault)
  return true
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
      kept.push(task.standIn?.(items[0]) ?? null)
      refused.push({
        reason: 'store_refused',
        detail: 'the database refused a value of it',
        item: redact(items[0]),
      })
    }
  }
  if (page.items.length > 0) await take(page.items)
  const stored = task.toRows({ ...page, items: kept })
  const { rows, work } = stored
  const rejects = [...pageResult.rejects, ...refused]
  return { ...pageResult, ...task.toldByStored?.(stored), rows, ...(work && { work }), rejects }
}

import type { Page, Reject } from '../streams/stream.ts'
import type { PollContext } from './poll.ts'
import { type CommitResult, type PageCommit, RefusedRows } from './ports.ts'

/**
 * Commits a page. When Postgres refuses a value of it, the items are tried one by one without storing them, the
 * bad ones are set aside as dead letters, and the rest is committed: one bad item never blocks its page.
 */
export async function isolate(context: PollContext, page: Page, commit: PageCommit): Promise<CommitResult> {
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
    return await context.store.commit(await withoutRefused(context, page, commit))
  } finally {
    context.meter.commit(context.clock.monotonic() - began)
  }
}

async function withoutRefused(context: PollContext, page: Page, commit: PageCommit): Promise<PageCommit> {
  const { store, stream } = context
  const before = await store.progress(commit.app, commit.stream, commit.series)
  const carry = before?.carry ?? null
  const good: unknown[] = []
  const refused: Reject[] = []
  for (const item of page.items) {
    const alone = stream.harvest({ ...page, items: [item] }, carry)
    const taken = await store.rehearse({ ...commit, rows: alone.rows, rejects: alone.rejects })
    if (taken) good.push(item)
    else refused.push({ reason: 'store_refused', detail: 'the database refused a value of it', item })
  }
  const { rows, rejects, carry: after, holes: _, ...rest } = stream.harvest({ ...page, items: good }, carry)
  return { ...commit, room: rest.room, rows, carry: after, rejects: [...rejects, ...refused] }
}

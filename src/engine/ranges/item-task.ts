import { requestLine } from '../../provider/operation.ts'
import type { Substream, SubstreamPage, SubstreamResult } from '../../streams/stream.ts'
import { LARGE_ANSWER } from '../admission/load.ts'
import type { PageContext } from '../context.ts'
import { type Grant, type ItemCommit, type OpenItem, StoreUnavailable } from '../ports.ts'
import type { Task } from '../task.ts'

/** For how many ms an item may still be asked for, and when it is asked for again if not all of it can be read. */
export interface ItemTimes {
  readonly life: number
  readonly again: number
}

/** A page of an item of the work queue. */
export function itemTask(
  context: PageContext,
  stream: Substream,
  item: OpenItem,
  { life, again }: ItemTimes,
): Task<SubstreamPage, SubstreamResult> {
  const { app, store } = context
  const asked = stream.request(app.id, item, item.page)
  return {
    stream: stream.name,
    plan: () => ({
      request: requestLine(stream.operation, asked),
      series: item.key,
      life,
      arrived: bytes => takeInHand(context, item, bytes),
    }),
    parse: ({ body }, { receivedAt }) => {
      return { ...stream.read(body), item, number: item.page, asked, receivedAt }
    },
    toRows: page => stream.toRows(page, item.streamState),
    commit: (_, pageResult, grant) =>
      store.commitItem({ ...itemCommit(context, item, pageResult, grant), again }),
    dryRun: (_, pageResult, grant) =>
      store.dryRunItem({ ...itemCommit(context, item, pageResult, grant), again }),
  }
}

/** Without a database there is nothing to be known later, and the page will not be stored either. */
async function takeInHand({ app, fence, store }: PageContext, item: OpenItem, bytes: number): Promise<void> {
  if (bytes < LARGE_ANSWER) return
  await store.takeItemInHand(fence, app.id, item).catch(error => {
    if (!(error instanceof StoreUnavailable)) throw error
  })
}

function itemCommit(
  { app, fence }: PageContext,
  item: OpenItem,
  pageResult: SubstreamResult,
  grant: Grant | undefined,
): Omit<ItemCommit, 'again'> {
  const { rows, rejects, streamState, reading } = pageResult
  const work = pageResult.work.filter(made => app.details[made.stream])
  return {
    ...{ app: app.id, fence, item, rows, rejects, streamState, work },
    nextPage: reading === 'next' ? item.page + 1 : null,
    ...(grant ? { settles: grant } : {}),
  }
}

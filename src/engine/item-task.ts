import { requestLine } from '../provider/operation.ts'
import type { DetailHarvest, DetailPage, DetailStream } from '../streams/stream.ts'
import type { PageContext } from './context.ts'
import { LARGE_ANSWER } from './load.ts'
import { type Grant, type ItemCommit, type OpenItem, StoreUnavailable } from './ports.ts'
import type { Task } from './task.ts'

/** For how many ms an item may still be asked for, and when it is asked for again if not all of it can be read. */
export interface ItemTimes {
  readonly life: number
  readonly again: number
}

/** A page of an item of the worklist. */
export function itemTask(
  context: PageContext,
  stream: DetailStream,
  item: OpenItem,
  { life, again }: ItemTimes,
): Task<DetailPage, DetailHarvest> {
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
    harvest: page => stream.harvest(page, item.carry),
    commit: (_, harvest, grant) => store.commitItem({ ...itemCommit(context, item, harvest, grant), again }),
    rehearse: (_, harvest, grant) =>
      store.rehearseItem({ ...itemCommit(context, item, harvest, grant), again }),
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
  harvest: DetailHarvest,
  grant: Grant | undefined,
): Omit<ItemCommit, 'again'> {
  const { rows, rejects, carry, reading } = harvest
  const work = harvest.work.filter(made => app.details[made.stream])
  return {
    ...{ app: app.id, fence, item, rows, rejects, carry, work },
    nextPage: reading === 'next' ? item.page + 1 : null,
    ...(grant ? { settles: grant } : {}),
  }
}

import type { StreamName } from '../streams/stream.ts'
import { seriesPause } from './admission/retry-rules.ts'
import type { AppContext } from './context.ts'
import { StoreUnavailable } from './ports.ts'

/** Visits that stood in each other's way are tried again within this many ms. */
export const SOON_MS = 1_000

/** SQLSTATEs of a statement that stood in another's way: serialization, deadlock, lock time-out, cancelled. */
const contention: ReadonlySet<string | undefined> = new Set(['40001', '40P01', '55P03', '57014'])

/** What it means when a sync throws; answers in how many ms the series is synced again. */
export function afterFault(
  { app, random, meter, log, health }: AppContext,
  stream: StreamName,
  error: unknown,
  failures: () => number,
): number {
  const labels = { app: app.id, stream }
  if (error instanceof StoreUnavailable && contention.has(error.code)) {
    log.info('two statements met in the database; one of them is tried again', {
      ...labels,
      ...error.fault,
    })
    return random.next() * SOON_MS
  }
  if (error instanceof StoreUnavailable) {
    meter.page(labels, 'store_unavailable')
    health.failed(error.fault)
    return 0
  }
  log.error('a sync failed by a fault of this program; it is tried again', { ...labels, error })
  return seriesPause(undefined, failures(), random.next())
}

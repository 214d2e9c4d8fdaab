import { retryDelay } from '../planning/retry.ts'
import { classroomCodes } from '../provider/classroom/index.ts'
import type { Failure } from '../provider/errors.ts'
import { redactBytes } from '../provider/redaction.ts'
import type { Stream, StreamName } from '../streams/stream.ts'
import { contentionBackoff, retryRules, seriesPause } from './admission/retry-rules.ts'
import type { AppContext, PageContext } from './context.ts'
import { type DeadLetter, StoreUnavailable, type StreamLabels } from './ports.ts'

/** Syncs that stood in each other's way are tried again within this many ms. */
export const SOON_MS = 1_000

/** Whether one statement alone could not be done, as it stood in another's way or had too little room; says so. */
export function hasMet(
  { app, log }: Pick<AppContext, 'app' | 'log'>,
  error: unknown,
  where: Partial<StreamLabels> = {},
): boolean {
  if (!(error instanceof StoreUnavailable && error.isContention)) return false
  const told = { app: app.id, ...where, ...error.fault }
  if (error.isWithoutRoom)
    log.warn('the database has too little room for a statement, which is tried again', told)
  else log.info('two statements met in the database; one of them is tried again', told)
  return true
}

/** As `hasMet`, of what stores a page: it is given up for now, which is told of the stream. */
export function isBlocked(
  context: Pick<AppContext, 'app' | 'log' | 'meter'>,
  error: unknown,
  labels: StreamLabels,
): boolean {
  if (!hasMet(context, error, labels)) return false
  context.meter.page(labels, 'store_blocked')
  return true
}

/** What it means when a sync throws; answers in how many ms the series is synced again. */
export function afterFault(
  context: AppContext,
  stream: StreamName,
  error: unknown,
  failures: () => number,
): number {
  const { app, random, meter, log, health } = context
  const labels = { app: app.id, stream }
  if (isBlocked(context, error, labels)) return retryDelay(contentionBackoff, failures(), random.next())
  if (error instanceof StoreUnavailable) {
    meter.page(labels, 'store_unavailable')
    health.failed(error.fault)
    return 0
  }
  log.error('a sync failed by a fault of this program; it is tried again', { ...labels, error })
  return seriesPause(undefined, failures(), random.next())
}

/** Whether the room that was asked about is not there; of what is asked about the whole app no room can be gone. */
export function isGone({ scope }: Reported['stream'], failure: Failure): boolean {
  return scope === 'room' && failure.kind === 'not_found' && failure.code === classroomCodes.noRoom
}

/** Where a failure happened. */
export interface Reported extends Pick<PageContext, 'app' | 'store' | 'meter' | 'log'> {
  readonly stream: Pick<Stream, 'name' | 'operation'> & { readonly scope?: 'app' | 'room' }
  readonly series: string
}

/** Counts a failure, says it, and keeps the bytes of a page that could not be used. */
export async function reportFailure(context: Reported, failure: Failure): Promise<void> {
  const { app, stream, series, meter, log } = context
  const labels = { app: app.id, stream: stream.name }
  if (isGone(stream, failure)) {
    meter.page(labels, 'gone')
    return
  }
  const { kind, text, status, code, body, trace } = failure
  meter.page(labels, kind)
  log[retryRules[kind].level]('a page could not be read', {
    ...{ ...labels, kind, reason: text, status, code },
    ...trace,
  })
  if (!body || body.length === 0) return
  const alike = kind === 'malformed' || kind === 'too_large' ? 'by body' : 'by detail'
  // What a player plays may have a password or a token in its address.
  const where = stream.operation.family === 'players' ? 'in addresses too' : 'by name'
  const kept = redactBytes(body, where)
  await keepLetter(context, { ...labels, series, reason: kind, detail: text, body: kept, alike })
}

/** Answers whether it is new; then it is counted. */
export async function keepLetter(
  { store, meter }: Pick<PageContext, 'store' | 'meter'>,
  letter: DeadLetter,
): Promise<boolean> {
  const isNew = (await store.deadLetter(letter)) === 'new'
  if (isNew) meter.deadLetters({ app: letter.app, stream: letter.stream }, letter.reason, 1)
  return isNew
}

import type { Failure } from '../provider/errors.ts'
import { redactBytes } from '../provider/redaction.ts'
import type { Stream } from '../streams/stream.ts'
import { retryRules } from './admission/retry-rules.ts'
import type { PageContext, Place, PollContext } from './context.ts'

/** Business code of a classroom that does not exist. */
const NO_SUCH_ROOM = 20404100

/** Whether the room that was asked about is not there; of what is asked about the whole app no room can be gone. */
export function isGone({ scope }: Reported['stream'], failure: Failure): boolean {
  return scope === 'room' && failure.kind === 'not_found' && failure.code === NO_SUCH_ROOM
}

/** The nextId that ended a log may be refused when it is asked again: then the log is read from its beginning. */
export function isTailRefused({ stream }: PollContext, { cursor }: Place, failure: Failure): boolean {
  const isLimitViolation = failure.kind === 'bad_request' || failure.kind === 'not_found'
  return stream.kind === 'log' && cursor !== null && isLimitViolation && !isGone(stream, failure)
}

/** Where a failure happened. */
export interface Reported extends Pick<PageContext, 'app' | 'store' | 'meter' | 'log'> {
  readonly stream: Pick<Stream, 'name' | 'operation'> & { readonly scope?: 'app' | 'room' }
  readonly series: string
}

/** Counts a failure, says it, and keeps the bytes of a page that could not be used. */
export async function reportFailure(context: Reported, failure: Failure): Promise<void> {
  const { app, stream, series, store, meter, log } = context
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
  const letter = { ...labels, series, reason: kind, detail: text, body: kept, alike } as const
  if ((await store.deadLetter(letter)) === 'new') meter.deadLetters(labels, kind, 1)
}

/** Keeps the name that cannot be sent, once. */
export async function reportUnaskable({ app, stream, series, ...ports }: PollContext, why: string) {
  const { store, meter, log } = ports
  const labels = { app: app.id, stream: stream.name }
  const body = new TextEncoder().encode(JSON.stringify(series))
  const letter = { ...labels, series, reason: 'bad_request', detail: why, body, alike: 'by body' } as const
  if ((await store.deadLetter(letter)) !== 'new') return
  meter.deadLetters(labels, letter.reason, 1)
  log.error('a room cannot be asked about; what the feed tells of it is stored', { ...labels, reason: why })
}

/** Counts and says that a reading leads in a circle or has no end; answers how the sync ends. */
export function reportLoop({ app, stream, meter, log }: PollContext): 'looped' {
  const labels = { app: app.id, stream: stream.name }
  meter.page(labels, 'looped')
  log.error('nextId leads to no end; the reading stops here and is tried again later', labels)
  return 'looped'
}

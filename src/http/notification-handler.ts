import {
  type Log,
  type Meter,
  type NotificationStore,
  type PlayerNotice,
  RefusedRows,
  type Store,
} from '../engine/ports.ts'
import { redactBytes } from '../provider/redaction.ts'
import { parseNotice, type Signatures, type Signer, signersOf } from './notifications.ts'

/** What became of a notification whose body arrived whole. */
export const noticeOutcomes = [
  'stored',
  'repeated',
  'unsigned',
  'ambiguous', // apps share the secret, and the address does not say which is meant
  'malformed',
  'unavailable',
] as const
export type NotificationOutcome = (typeof noticeOutcomes)[number]

export interface NotificationHandlerOptions {
  readonly signers: readonly Signer[]
  /** Names of the headers that hold the signatures. */
  readonly headers: Readonly<Record<keyof Signatures, string>>
  readonly notifications: NotificationStore
  readonly store: Pick<Store, 'deadLetter'>
  /** Lets the players of an app be listed at once. */
  readonly want: (app: string) => void
  readonly meter: Pick<Meter, 'deadLetters'> & {
    /** The app is undefined where none signed it. */
    readonly notification: (app: string | undefined, outcome: NotificationOutcome) => void
  }
  readonly log: Log
}

/** A notification as it arrived. */
export interface Delivery {
  /** App that the address names. */
  readonly app: string | undefined
  readonly header: (name: string) => string | undefined
  readonly body: Uint8Array
}

/** Takes a notification and answers the HTTP status and a word for whoever sent it. Never throws. */
export type NotificationHandler = (
  delivery: Delivery,
) => Promise<{ readonly status: 200 | 400 | 401 | 503; readonly text: string }>

/**
 * Checks, keeps and counts what the provider tells of players. What is new makes a list due, and so does what is signed
 * and in no shape that is known: the document shows none. It is set aside, and need not be sent again.
 */
export function createNotificationHandler(options: NotificationHandlerOptions): NotificationHandler {
  const { signers, headers, want, meter, log } = options
  return async ({ app: named, header, body }) => {
    const signatures = { sha1: header(headers.sha1), sha256: header(headers.sha256) }
    const signing = signersOf(signers, signatures, body)
    const candidates = named === undefined ? signing : signing.filter(app => app === named)
    const [app] = candidates
    if (app === undefined) {
      meter.notification(undefined, 'unsigned')
      return { status: 401, text: 'the signature is missing or wrong' }
    }
    if (candidates.length > 1) {
      meter.notification(undefined, 'ambiguous')
      log.warn('apps share a secret for notifications; give each its own, or its address ?app=ID')
      return { status: 400, text: 'say by ?app=ID which app is meant' }
    }
    try {
      const outcome = await take(options, app, body)
      meter.notification(app, outcome)
      if (outcome !== 'repeated') want(app)
      return { status: 200, text: outcome === 'malformed' ? 'set aside' : outcome }
    } catch (error) {
      meter.notification(app, 'unavailable')
      log.warn('a notification could not be kept', { app, error })
      return { status: 503, text: 'not available now' }
    }
  }
}

async function take(
  options: NotificationHandlerOptions,
  app: string,
  body: Uint8Array,
): Promise<'stored' | 'repeated' | 'malformed'> {
  const parsed = parseNotice(body)
  if (!parsed.ok) return deadLetter(options, app, parsed.detail, body)
  const kept = await keep(options.notifications, { app, ...parsed.notice })
  return kept ?? deadLetter(options, app, 'the database refuses a value of a notification', body)
}

/** Undefined where Postgres refuses a value. */
async function keep(
  notifications: NotificationStore,
  notice: PlayerNotice,
): Promise<'stored' | 'repeated' | undefined> {
  try {
    return await notifications.keep(notice)
  } catch (error) {
    if (error instanceof RefusedRows) return undefined
    throw error
  }
}

async function deadLetter(
  { store, meter, log }: NotificationHandlerOptions,
  app: string,
  detail: string,
  body: Uint8Array,
): Promise<'malformed'> {
  const labels = { app, stream: 'cloud-players' } as const
  const reason = 'malformed'
  const kept = redactBytes(body, 'in addresses too')
  const letter = { ...labels, series: '', reason, detail, body: kept, alike: 'by body' } as const
  if ((await store.deadLetter(letter)) === 'new') meter.deadLetters(labels, reason, 1)
  log.warn('a notification could not be read', { app, reason: detail })
  return reason
}

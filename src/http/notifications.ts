import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  type Delivery,
  type Log,
  type Meter,
  type NotificationStore,
  type PlayerNotice,
  RefusedRows,
  type Store,
  type StreamLabels,
} from '../engine/ports.ts'
import { isObject } from '../provider/fits.ts'
import { Notification } from '../provider/players/index.ts'
import { maskSecrets, redactBytes } from '../provider/redaction.ts'
import type { Json } from '../tables/json.ts'
import type { TokenSource } from './authentication.ts'
import { decodeJson, JsonError } from './json.ts'

/** What became of a notification whose body arrived whole. */
export const noticeOutcomes = [
  'stored',
  'repeated',
  'unsigned',
  'ambiguous', // apps share the secret, and the address does not say which is meant
  'malformed',
  'unavailable',
] as const
type NotificationOutcome = (typeof noticeOutcomes)[number]

export interface NotificationHandlerOptions {
  readonly signers: readonly AppSigner[]
  /** Names of the headers that hold the signatures. */
  readonly headers: Readonly<Record<keyof Signatures, string>>
  readonly notifications: NotificationStore
  readonly store: Pick<Store, 'deadLetter'>
  /** Name of the stream that lists the players. */
  readonly stream: StreamLabels['stream']
  /** Lets the players of an app be listed at once. */
  readonly want: (app: string) => void
  readonly meter: Pick<Meter, 'deadLetters'> & {
    /** The app is undefined where none signed it. */
    readonly notification: (app: string | undefined, outcome: NotificationOutcome) => void
  }
  readonly log: Log
}

/** Takes a notification and answers the HTTP status and a word for whoever sent it. Never throws. */
type NotificationHandler = (
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
    const candidatesNow = async () => {
      const signing = signersOf(await secretsNow(signers), signatures, body)
      return named === undefined ? signing : signing.filter(app => app === named)
    }
    const known = await candidatesNow()
    const isRotated = known.length === 0 && claimIn(signatures) && (await anyRotated(signers, log))
    const candidates = isRotated ? await candidatesNow() : known
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
      // It may be kept all the same: then the next try is a repetition, for which nothing is listed.
      want(app)
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
  try {
    return await options.notifications.keep({ app, ...parsed.notice })
  } catch (error) {
    if (!(error instanceof RefusedRows)) throw error
    return deadLetter(options, app, 'the database refuses a value of a notification', body)
  }
}

async function deadLetter(
  { stream, store, meter, log }: NotificationHandlerOptions,
  app: string,
  detail: string,
  body: Uint8Array,
): Promise<'malformed'> {
  const labels = { app, stream }
  const reason = 'malformed'
  const kept = redactBytes(body, 'in addresses too')
  const letter = { ...labels, series: '', reason, detail, body: kept, alike: 'by body' } as const
  if ((await store.deadLetter(letter)) === 'new') meter.deadLetters(labels, reason, 1)
  log.warn('a notification could not be read', { app, reason: detail })
  return reason
}

/** An app and where the secret comes from with which the provider signs what it tells of that app. */
export interface AppSigner {
  readonly app: string
  readonly secret: TokenSource
}

function secretsNow(signers: readonly AppSigner[]): Promise<readonly Signer[]> {
  return Promise.all(signers.map(async ({ app, secret }) => ({ app, secret: await secret.current() })))
}

/** Reads the secrets again that a signature was not made with; whether one is another than before. */
async function anyRotated(signers: readonly AppSigner[], log: Log): Promise<boolean> {
  const each = signers.map(async ({ app, secret }) => {
    try {
      return await secret.refresh()
    } catch (error) {
      log.warn('the secret of notifications could not be read again', { app, error })
      return false
    }
  })
  return (await Promise.all(each)).includes(true)
}

/** An app and the secret with which the provider signs what it tells of that app. */
export interface Signer {
  readonly app: string
  readonly secret: string
}

/** What the two headers say; undefined where a header is not there. */
interface Signatures {
  /** HMAC-SHA1 of the body, in hex. */
  readonly sha1: string | undefined
  /** HMAC-SHA256 of the body, in hex. Where it is given, it decides. */
  readonly sha256: string | undefined
}

/**
 * Apps whose secret signed these bytes: none for a wrong or missing signature, several where apps share a secret.
 * Every secret is tried and compared in constant time, so that the time taken tells nothing of them.
 */
export function signersOf(
  signers: readonly Signer[],
  signatures: Signatures,
  body: Uint8Array,
): readonly string[] {
  const claim = claimIn(signatures)
  if (!claim) return []
  const { algorithm, claimed } = claim
  const matching = signers.filter(({ secret }) => {
    const signature = createHmac(algorithm, secret).update(body).digest()
    // Anyone can sign with an empty secret.
    return timingSafeEqual(signature, claimed) && secret !== ''
  })
  return matching.map(({ app }) => app)
}

/** What the headers say, if it can be a signature. */
function claimIn({ sha1, sha256 }: Signatures) {
  const algorithm = sha256 === undefined ? 'sha1' : 'sha256'
  const claimed = readHex(sha256 ?? sha1, algorithm)
  return claimed && { algorithm, claimed }
}

const digits = { sha1: /^[0-9a-f]{40}$/i, sha256: /^[0-9a-f]{64}$/i } as const

/** A signature of the wrong length or with anything but hex digits is none. */
function readHex(text: string | undefined, algorithm: keyof typeof digits): Buffer | undefined {
  const written = text?.trim()
  return written !== undefined && digits[algorithm].test(written) ? Buffer.from(written, 'hex') : undefined
}

type ParsedNotice =
  | { readonly ok: true; readonly notice: Omit<PlayerNotice, 'app'> }
  /** `detail` is a sentence of ours without any value. */
  | { readonly ok: false; readonly detail: string }

/** Nothing that is told of one player is deeper or has more parts. */
const noticeCaps = { depth: 32, nodes: 4_096, scalars: 4_096, members: 4_096, precious: 64 }

/** Reads the body of a notification; what is kept of it holds no secret. */
export function parseNotice(body: Uint8Array): ParsedNotice {
  const json = readJson(body)
  if (json instanceof JsonError) return { ok: false, detail: json.message }
  const parsed = Notification.safeParse(json)
  if (!parsed.success) {
    const [first] = parsed.error.issues
    const where = first?.path.map(String).join('.') || 'the body'
    return { ok: false, detail: `${where} of a notification is missing or has the wrong type` }
  }
  const { noticeId, eventType, notifyMs } = parsed.data
  const { payload = null } = json as { readonly payload?: unknown }
  return {
    ok: true,
    notice: {
      noticeId,
      eventType,
      playerId: playerIdIn(payload),
      notifiedAt: notifyMs ?? null,
      payload: maskSecrets(payload, 'in addresses too') as Json,
    },
  }
}

function readJson(body: Uint8Array): unknown {
  try {
    return decodeJson(body, noticeCaps)
  } catch (error) {
    if (error instanceof JsonError) return error
    throw error
  }
}

/** IDs of players are UUIDs; what is much longer is none. */
const longestPlayerId = 200

function playerIdIn(payload: unknown): string | null {
  if (!isObject(payload) || !isObject(payload.player)) return null
  const { id } = payload.player
  return typeof id === 'string' && id !== '' && id.length <= longestPlayerId ? id : null
}

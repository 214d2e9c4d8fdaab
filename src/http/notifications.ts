import { createHmac, timingSafeEqual } from 'node:crypto'
import type { PlayerNotice } from '../engine/ports.ts'
import { Notification } from '../provider/players/index.ts'
import { maskSecrets } from '../provider/redaction.ts'
import type { Json } from '../rows/json.ts'
import { decodeJson, JsonError } from './json.ts'

/** An app and the secret with which the provider signs what it tells of that app. */
export interface Signer {
  readonly app: string
  readonly secret: string
}

/** What the two headers say; undefined where a header is not there. */
export interface Signatures {
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
  { sha1, sha256 }: Signatures,
  body: Uint8Array,
): readonly string[] {
  const algorithm = sha256 === undefined ? 'sha1' : 'sha256'
  const claimed = readHex(sha256 ?? sha1, algorithm)
  if (!claimed) return []
  const matching = signers.filter(({ secret }) => {
    const signature = createHmac(algorithm, secret).update(body).digest()
    // Anyone can sign with an empty secret.
    return timingSafeEqual(signature, claimed) && secret !== ''
  })
  return matching.map(({ app }) => app)
}

const digits = { sha1: /^[0-9a-f]{40}$/i, sha256: /^[0-9a-f]{64}$/i } as const

/** A signature of the wrong length or with anything but hex digits is none. */
function readHex(text: string | undefined, algorithm: keyof typeof digits): Buffer | undefined {
  const written = text?.trim()
  return written !== undefined && digits[algorithm].test(written) ? Buffer.from(written, 'hex') : undefined
}

export type ParsedNotice =
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
  if (!isRecord(payload) || !isRecord(payload.player)) return null
  const { id } = payload.player
  return typeof id === 'string' && id !== '' && id.length <= longestPlayerId ? id : null
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

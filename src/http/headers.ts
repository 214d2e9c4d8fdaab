import type { Trace } from '../provider/errors.ts'
import type { Arrival } from './exchange.ts'

const fixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Reads an HTTP date (RFC 9110, IMF-fixdate) as ms since the epoch; undefined for anything else. The form is
 * checked first because Date.parse makes a date of nearly any word that is followed by a number.
 */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined || !fixdate.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** The longest wait that an answer may impose, in seconds: after it, one more try costs little. */
export const longestRetryAfter = 3_600

const wholeSeconds = /^\d{1,20}$/

/**
 * How long an answer asks us to wait, in seconds from 0 to `longestRetryAfter`; undefined where it says
 * nothing readable (a word, a negative number). `now` is the provider's clock in ms, which a date is relative to.
 */
export function retryAfterSeconds(header: string | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (wholeSeconds.test(text)) return Math.min(Number(text), longestRetryAfter)
  const at = parseHttpDate(text)
  if (at === undefined) return undefined
  return Math.min(Math.max(0, Math.ceil((at - now) / 1_000)), longestRetryAfter)
}

/** IDs are for logs and for support, so only what is printable and short is kept of them. */
const printable = /^[\x21-\x7e]{1,128}$/

/** By which IDs a request can be found again at the provider. */
export function traceOf(sent: string, { header }: Arrival, body: unknown): Trace {
  const answered = kept(header('x-request-id')) ?? kept(requestIdIn(body))
  const resource = kept(header('x-resource-id'))
  return {
    requestId: sent,
    ...(answered !== undefined && answered !== sent ? { answeredId: answered } : {}),
    ...(resource !== undefined && resource !== 'null' ? { resourceId: resource } : {}),
  }
}

function kept(text: unknown): string | undefined {
  return typeof text === 'string' && printable.test(text) ? text : undefined
}

/** Call analytics give theirs in the body. */
function requestIdIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'requestId' in body ? body.requestId : undefined
}

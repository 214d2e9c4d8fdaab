import type { Trace } from '../provider/errors.ts'
import type { Arrival } from './exchange.ts'

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

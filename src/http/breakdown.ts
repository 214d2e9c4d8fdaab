import { errors } from 'undici'
import type { Failure } from '../provider/errors.ts'
import { CredentialError } from './authentication.ts'
import type { GivenUp } from './deadline.ts'

const timeouts: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'no connection within the time allowed',
  UND_ERR_HEADERS_TIMEOUT: 'no headers within the time allowed',
  UND_ERR_BODY_TIMEOUT: 'the body stood still for too long',
}

/** Nothing else of undici ends a request that nobody has given up. */
const proxyRefused = 'UND_ERR_ABORTED'

const givenUpTexts: Readonly<Record<GivenUp, string>> = {
  deadline: 'no whole answer within the total deadline',
  cancelled: 'the request was cancelled',
}

/**
 * The failure that an exception while connecting, sending or reading stands for. The text holds at most the
 * error's code: messages may quote addresses, headers or what was received.
 */
export function breakdown(error: unknown, givenUp: GivenUp | undefined): Failure {
  if (givenUp) return { kind: 'timeout', text: givenUpTexts[givenUp] }
  if (error instanceof CredentialError) {
    return { kind: 'unauthorized', text: `nothing was sent: ${error.message}` }
  }
  const code = codeOf(error)
  const timeout = timeouts[code]
  if (timeout) return { kind: 'timeout', text: timeout }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'too_large', text: 'the headers passed their cap' }
  if (error instanceof errors.HTTPParserError) return { kind: 'malformed', text: 'the answer is not HTTP' }
  if (code === 'UND_ERR_INVALID_ARG') {
    return { kind: 'bad_request', text: 'the request cannot be written as HTTP' }
  }
  if (code === proxyRefused) return { kind: 'network', text: 'the proxy refused to connect' }
  return { kind: 'network', text: `the connection failed (${code})` }
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'no code'
}

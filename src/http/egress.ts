/** Where requests of one family go: an origin, and a path that precedes every target. */
export interface BaseUrl {
  readonly origin: string
  /** Empty, or a path without a slash at its end. */
  readonly prefix: string
  /** It is on this machine. */
  readonly isNear: boolean
}

/** A base URL that would let requests go where they must not. */
export class EgressError extends Error {
  override readonly name = 'EgressError'
}

/**
 * Checks a base URL from the config. Plain http is allowed on a loopback host, or where the config says
 * `insecure`. Throws EgressError; the text never holds the URL, which may carry a password.
 */
export function parseBaseUrl(text: string, options: { readonly insecure?: boolean } = {}): BaseUrl {
  if (!URL.canParse(text)) throw new EgressError('the base URL is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new EgressError('the base URL must begin with https://')
  }
  if (url.username || url.password) throw new EgressError('the base URL must not hold a user or a password')
  if (url.search || url.hash) throw new EgressError('the base URL must not hold a query or a fragment')
  if (url.protocol === 'http:' && !options.insecure && !isLoopback(url.hostname)) {
    throw new EgressError('the base URL must begin with https:// (http:// only on a loopback address)')
  }
  return {
    origin: url.origin,
    prefix: url.pathname.replace(/\/+$/, ''),
    isNear: isLoopback(url.hostname),
  }
}

/** URL has already written every spelling of an IPv4 address as four decimal numbers. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

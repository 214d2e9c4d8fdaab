import { Agent, type Dispatcher, errors, Pool, ProxyAgent } from 'undici'
import type { Clock } from '../clock/clock.ts'
import type { Failure } from '../provider/errors.ts'
import { fieldOf } from '../provider/fits.ts'
import type { Method } from '../provider/operation.ts'
import { CredentialError } from './authentication.ts'

export interface ConnectionLimits {
  /** Until the connection stands, TLS included, ms. */
  readonly connect: number
  /** From the request to the last header, ms. */
  readonly headers: number
  /** Between two pieces of the body, ms. */
  readonly idle: number
  /** Most bytes of status line and headers. */
  readonly headerBytes: number
}

interface Outgoing {
  readonly origin: string
  readonly path: string
  readonly method: Method
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  /** Called as the request is about to be written; what it aborts is not. */
  readonly beforeWrite: () => void
  /** Most bytes that a usable body may have. */
  readonly bodyBytes: number
  /** How long it may take to begin, and to go on, ms; as the connections have it unless told. */
  readonly patience?: number | undefined
}

/** What came over the wire, before anyone has tried to understand it. */
export interface Arrival {
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** Let go of once they were read: what waited for them is old by then, and what that refers to stays until V8 marks. */
  bytes: Uint8Array
  /** `whole`; `cut` by the cap; or broken off by `error`. */
  readonly end: 'whole' | 'cut' | 'broken'
  readonly error?: unknown
}

/** How much of a body is kept that will only ever be looked at by a person. */
export const keptBytes = 65_536

/**
 * Connections to the providers. HTTP/1.1 over TLS 1.2 or newer; follows no redirect, decompresses nothing, sends nothing
 * twice and heeds no proxy of the environment. Through `proxy` they are tunnels: it sees where to, and no more.
 */
export function createAgent(limits: ConnectionLimits, proxy?: string): Dispatcher {
  const tls = { timeout: limits.connect, minVersion: 'TLSv1.2', rejectUnauthorized: true } as const
  const options = {
    allowH2: false,
    pipelining: 1,
    headersTimeout: limits.headers,
    bodyTimeout: limits.idle,
    maxHeaderSize: limits.headerBytes,
  }
  if (proxy === undefined) return new Agent({ ...options, connect: tls })
  return new ProxyAgent({
    ...options,
    ...{ uri: proxy, proxyTunnel: true, connectTimeout: limits.connect },
    ...{ requestTls: tls, proxyTls: tls },
    // A tunnel is a part of the connection: a proxy that says nothing would be waited for five minutes.
    clientFactory: ({ origin }, own) => new Pool(origin, { ...own, headersTimeout: limits.connect }),
  })
}

/** Sends requests, and may be closed when those under way have ended. */
export type Agency = Pick<Dispatcher, 'dispatch' | 'close'>

/** Sends one request and reads its answer up to the cap. Rejects when no answer began. */
export function exchange(agent: Agency, outgoing: Outgoing): Promise<Arrival> {
  const { origin, path, method, headers, body = null, signal, patience } = outgoing
  const told = patience !== undefined && { headersTimeout: patience, bodyTimeout: patience }
  return new Promise((resolve, reject) => {
    if (signal.aborted) throw signal.reason
    agent.dispatch({ origin, path, method, headers, body, ...told }, new Reading(outgoing, resolve, reject))
  })
}

type Controller = Dispatcher.DispatchController
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/**
 * Reads an answer until the end, the cap or an error. Past the cap the connection is destroyed and only a beginning kept; of
 * a body whose length is told to pass it no more is read. Bytes go to their place as they come, so that such a body is never
 * held twice, and there is no stream to make for a page.
 */
class Reading implements Dispatcher.DispatchHandler {
  readonly #outgoing: Outgoing
  readonly #resolve: (arrival: Arrival) => void
  readonly #reject: (error: unknown) => void
  /** Who waits for a connection is not waited for. */
  readonly #giveUp = () => {
    const { reason } = this.#outgoing.signal
    if (this.#controller) this.#controller.abort(reason)
    else this.#reject(reason)
  }
  #controller: Controller | undefined
  #head: Pick<Arrival, 'status' | 'header'> | undefined
  #cap = 0
  #bytes: Buffer = nothing
  #size = 0

  constructor(outgoing: Outgoing, resolve: (arrival: Arrival) => void, reject: (error: unknown) => void) {
    this.#outgoing = outgoing
    this.#resolve = resolve
    this.#reject = reject
    outgoing.signal.addEventListener('abort', this.#giveUp, { once: true })
  }

  /**
   * A process that stood still while it connected goes on with the connection, and only then with the timer of the deadline:
   * by then the request would be on its way, later than its debit reaches.
   */
  onRequestStart(controller: Controller): void {
    const { signal, beforeWrite } = this.#outgoing
    this.#controller = controller
    if (signal.aborted) this.#giveUp()
    else beforeWrite()
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    const header = (name: string) => [headers[name]].flat()[0]
    const most = isUsable(status, header('content-encoding')) ? this.#outgoing.bodyBytes : keptBytes
    const told = Number(header('content-length') ?? 0)
    this.#head = { status, header }
    // They are read, and are views of all that came: their list waited as long as the request did.
    if (Array.isArray(controller.rawHeaders)) controller.rawHeaders.length = 0
    this.#cap = told > most ? Math.min(most, keptBytes) : most
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(firstBytes, Math.min(told, this.#cap)))
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const [bytes, size, cap] = [this.#bytes, this.#size, this.#cap]
    const needed = size + chunk.length
    if (needed > cap) {
      this.#settle({
        bytes: Buffer.concat([bytes.subarray(0, size), chunk], Math.min(cap, keptBytes)),
        end: 'cut',
      })
      controller.abort(new Error('the body passed its cap'))
      return
    }
    if (needed > bytes.length) this.#bytes = larger(bytes, size, { needed, cap })
    this.#bytes.set(chunk, size)
    this.#size = needed
  }

  onResponseEnd(): void {
    this.#settle({ bytes: this.#bytes.subarray(0, this.#size), end: 'whole' })
  }

  /** Also of a body that was cut: who waits for it has been told by then. */
  onResponseError(_: Controller, error: Error): void {
    this.#settle({ bytes: this.#bytes.subarray(0, this.#size), end: 'broken', error })
  }

  /** An answer of which not even the head came is none. */
  #settle(read: Pick<Arrival, 'bytes' | 'end' | 'error'>): void {
    this.#outgoing.signal.removeEventListener('abort', this.#giveUp)
    this.#bytes = nothing
    if (this.#head) this.#resolve({ ...this.#head, ...read })
    else this.#reject(read.error)
  }
}

export const nothing = Buffer.alloc(0)

/** An answer of another status or encoding is never parsed as a page, so a look at its beginning is enough. */
function isUsable(status: number, encoding: string | undefined): boolean {
  return status >= 200 && status < 300 && isIdentity(encoding)
}

export function isIdentity(encoding: string | undefined): boolean {
  return encoding === undefined || encoding.trim().toLowerCase() === 'identity' || encoding.trim() === ''
}

/** Most bodies are smaller. */
const firstBytes = 4_096

/** Room for at least `needed` bytes, of which `size` are there. */
function larger(
  bytes: Buffer,
  size: number,
  { needed, cap }: { readonly needed: number; readonly cap: number },
): Buffer {
  const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(cap, 2 * bytes.length)))
  grown.set(bytes.subarray(0, size))
  return grown
}

/** Why a request was given up before its answer was complete. */
type GivenUp = 'deadline' | 'cancelled'

export interface Deadline {
  readonly signal: AbortSignal
  /** Undefined as long as the request may go on. */
  readonly givenUp: () => GivenUp | undefined
  /** Gives the request up now where its time is over, whether or not a timer has said so yet. */
  readonly check: () => void
  /** Must be called when the request is over. */
  readonly clear: () => void
}

interface Running {
  /** On the monotonic clock, ms. */
  readonly end: number
  readonly giveUp: (reason: GivenUp) => void
}

/**
 * One signal for the total deadline of a request and for the caller's own signal. Unlike AbortSignal.any and
 * AbortSignal.timeout it leaves nothing behind on a signal that outlives the request. All requests to a service have as long,
 * so that the first of them is over first: one timer serves them all.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  readonly #running = new Set<Running>()
  #napping: AbortController | undefined

  /** Each is over after `ms`. */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  start(outer: AbortSignal | undefined): Deadline {
    const end = this.#clock.monotonic() + this.#ms
    const controller = new AbortController()
    let givenUp: GivenUp | undefined
    const giveUp = (reason: GivenUp) => {
      givenUp ??= reason
      controller.abort()
    }
    const cancel = () => giveUp('cancelled')
    const running = { end, giveUp }
    this.#running.add(running)
    if (!this.#napping) void this.#watch()
    if (outer?.aborted) cancel()
    outer?.addEventListener('abort', cancel, { once: true })
    return {
      signal: controller.signal,
      givenUp: () => givenUp,
      check: () => {
        if (this.#clock.monotonic() >= end) giveUp('deadline')
      },
      clear: () => {
        this.#running.delete(running)
        // Where nothing is under way no timer keeps the process alive. A reason of its own spares an error with its stack.
        if (this.#running.size === 0) this.#rest()
        outer?.removeEventListener('abort', cancel)
      },
    }
  }

  /** Nobody waits any more for what is under way. */
  cancelAll(): void {
    for (const { giveUp } of this.#running) giveUp('cancelled')
  }

  #rest(): void {
    this.#napping?.abort('over')
    this.#napping = undefined
  }

  async #watch(): Promise<void> {
    const napping = new AbortController()
    this.#napping = napping
    for (let [first] = this.#running; first && !napping.signal.aborted; [first] = this.#running) {
      await this.#clock.sleep(first.end - this.#clock.monotonic(), napping.signal)
      for (const running of this.#running) {
        if (running.end > this.#clock.monotonic()) break
        this.#running.delete(running)
        running.giveUp('deadline')
      }
    }
    if (this.#napping === napping) this.#napping = undefined
  }
}

/** Settles as `work` does, or rejects as soon as `signal` aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const abort = () => reject(new DOMException('given up', 'AbortError'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return promise
}

const timeouts: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'no connection within the time allowed',
  UND_ERR_HEADERS_TIMEOUT: 'no headers within the time allowed',
  UND_ERR_BODY_TIMEOUT: 'the body stood still for too long',
}

/**
 * What undici's parser says of an answer in chunks that ends before its last one, where the server had said that it would close
 * the connection; otherwise it tells of a socket. Either way the answer was HTTP and is not whole.
 */
const cutOff = 'Invalid EOF state'

/** Nothing else of undici ends a request that nobody has given up. */
const proxyRefused = 'UND_ERR_ABORTED'

const givenUpTexts: Readonly<Record<GivenUp, string>> = {
  deadline: 'no whole answer within the total deadline',
  cancelled: 'the request was cancelled',
}

/**
 * The failure that an exception while connecting, sending or reading stands for; `place` is host and port. Of the error
 * the text holds at most the code: messages may quote headers or what was received.
 */
export function breakdown(error: unknown, givenUp: GivenUp | undefined, place: string): Failure {
  if (givenUp) return { kind: 'timeout', text: givenUpTexts[givenUp] }
  if (error instanceof CredentialError) {
    return { kind: 'unauthorized', text: `nothing was sent: ${error.message}` }
  }
  const code = codeOf(error)
  const timeout = timeouts[code]
  if (timeout) return { kind: 'timeout', text: `${timeout} (${place})` }
  // To ask for less makes no headers shorter.
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'malformed', text: 'the headers passed their cap' }
  if (error instanceof errors.HTTPParserError) {
    return error.message.includes(cutOff)
      ? { kind: 'network', text: `the connection to ${place} ended before the answer did` }
      : { kind: 'malformed', text: 'the answer is not HTTP' }
  }
  if (code === 'UND_ERR_INVALID_ARG') {
    return { kind: 'bad_request', text: 'the request cannot be written as HTTP' }
  }
  if (code === proxyRefused) return { kind: 'network', text: 'the proxy refused to connect' }
  return { kind: 'network', text: `the connection to ${place} failed (${code})` }
}

function codeOf(error: unknown): string {
  const code = fieldOf(error, 'code')
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'no code'
}

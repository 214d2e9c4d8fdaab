import type { Clock, Random } from '../clock/clock.ts'
import {
  type Arrived,
  type ClockOffset,
  LARGE_ANSWER,
  type Reply,
  type Timing,
  type Transport,
} from '../engine/ports.ts'
import type { Failure, Trace } from '../provider/errors.ts'
import { fieldOf } from '../provider/fits.ts'
import { type Family, isLoopback, type Operation, type RequestLine } from '../provider/operation.ts'
import { CredentialError, type Credentials } from './authentication.ts'
import { classify, errorBody } from './classify.ts'
import {
  type Agency,
  type Arrival,
  breakdown,
  type ConnectionLimits,
  createAgent,
  type Deadline,
  Deadlines,
  exchange,
  nothing,
  unlessAborted,
} from './exchange.ts'
import { inTurns } from './json.ts'
import { createServerClock, type ServerClock } from './server-clock.ts'

export interface ProviderSettings {
  readonly url: string
  /** Most bytes of a body; 8 MiB unless told. */
  readonly bodyBytes?: number
  /** From the call to the last byte, ms; what `limits` says unless told. */
  readonly deadline?: number
}

interface TransportLimits extends ConnectionLimits {
  /** From the call to the last byte, ms: the only limit that stops a server that drips. */
  readonly total: number
}

export interface TransportOptions {
  readonly clock: Clock
  readonly random: Random
  readonly providers: Readonly<Partial<Record<Family, ProviderSettings>>>
  readonly credentials: Credentials
  readonly limits?: Partial<TransportLimits>
  readonly userAgent?: string
  /** Address of an HTTP proxy that requests to other machines go through; it may hold a user and a password. */
  readonly proxy?: string | undefined
  /** Takes the place of connections over the network. */
  readonly agent?: Agency | undefined
  /** Called for each answer whose end is only the end of its connection: it may have been cut unseen. */
  readonly onUnframed?: (operation: Operation) => void
}

const defaultLimits: TransportLimits = {
  connect: 5_000,
  headers: 10_000,
  idle: 10_000,
  total: 30_000,
  headerBytes: 16_384,
}

const defaultBodyBytes = 8 * 1_048_576

/** One attempt, and the ID under which it is sent. */
interface Sending {
  readonly request: RequestLine
  readonly id: string
  /** Monotonic ms. */
  readonly startedAt: number
}

interface Provider {
  readonly origin: string
  /** Host and port, and the proxy before them, for people. */
  readonly place: string
  /** Precedes every target: empty, or a path without a slash at its end. */
  readonly prefix: string
  /** It is on this machine. */
  readonly isNear: boolean
  readonly bodyBytes: number
  /** In the place of the usual limits on how long an answer may stand still, ms, where it has longer than the usual time. */
  readonly patience: number | undefined
  readonly deadlines: Deadlines
  readonly clock: ServerClock
}

/** The transport over real connections. */
export class HttpTransport implements Transport {
  readonly #options: TransportOptions
  readonly #providers: ReadonlyMap<string, Provider>
  /** Connections to this machine. */
  readonly #direct: Agency
  /** Connections to others, which may go through a proxy. */
  readonly #outward: Agency

  constructor(options: TransportOptions) {
    this.#options = options
    const limits = { ...defaultLimits, ...options.limits }
    this.#providers = openProviders(options, limits.total)
    const { agent, proxy } = options
    this.#direct = agent ?? createAgent(limits)
    this.#outward = agent ?? (proxy === undefined ? this.#direct : createAgent(limits, proxy))
  }

  async send(app: string, request: RequestLine, signal?: AbortSignal, arrived?: Arrived): Promise<Reply> {
    const { clock, random } = this.#options
    const { operation } = request
    const provider = this.#providers.get(operation.family)
    if (!provider) throw new Error(`no base URL is configured for ${operation.family}`)
    const startedAt = clock.monotonic()
    const deadline = provider.deadlines.start(signal)
    const id = request.requestId ?? random.uuid()
    const trace: Trace = { requestId: id }
    try {
      const sending = { request, id, startedAt }
      const arrival = await this.#perform(provider, app, sending, deadline)
      const timing = timingSince(clock, startedAt)
      if (isBroken(arrival))
        return { ok: false, failure: { ...brokenOff(arrival, deadline, provider), trace }, timing }
      await arrived?.(arrival.bytes.length)
      const reply = await this.#understand(provider, sending, arrival, timing)
      if (reply.ok || reply.failure.kind !== 'unauthorized') return reply
      return { ...reply, failure: await this.#afterUnauthorized(reply.failure, app, operation, deadline) }
    } catch (error) {
      return {
        ok: false,
        failure: { ...breakdown(error, deadline.givenUp(), provider.place), trace },
        timing: timingSince(clock, startedAt),
      }
    } finally {
      deadline.clear()
    }
  }

  clockOffset(family: Family): ClockOffset | undefined {
    return this.#providers.get(family)?.clock.offset()
  }

  /** Waits for no answer any more that is still to come. */
  giveUp(): void {
    for (const { deadlines } of this.#providers.values()) deadlines.cancelAll()
  }

  /** Lets running requests end (each has its total deadline) and closes all connections. */
  async close(): Promise<void> {
    await Promise.all([...new Set([this.#direct, this.#outward])].map(agent => agent.close()))
  }

  async #perform(
    provider: Provider,
    app: string,
    { request, id }: Sending,
    deadline: Deadline,
  ): Promise<Arrival> {
    const { credentials, userAgent = 'penstock' } = this.#options
    const { origin, prefix, isNear } = provider
    const headers = await unlessAborted(readHeaders(credentials, app, request), deadline.signal)
    return exchange(isNear ? this.#direct : this.#outward, {
      origin,
      path: `${prefix}${request.target}`,
      method: request.method,
      headers: {
        ...headers,
        accept: 'application/json',
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'user-agent': userAgent,
        'x-request-id': id,
      },
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      signal: deadline.signal,
      beforeWrite: deadline.check,
      bodyBytes: provider.bodyBytes,
      patience: provider.patience,
    })
  }

  async #understand(
    provider: Provider,
    { request, id, startedAt }: Sending,
    arrival: Arrival,
    timing: Timing,
  ): Promise<Reply> {
    const { operation, answer } = request
    const verdict = await inTurns(classify(operation, arrival, timing.receivedAt, answer))
    const { answeredAt } = verdict
    if (answeredAt !== undefined) provider.clock.observe(answeredAt, startedAt, startedAt + timing.elapsed)
    if (!verdict.ok) {
      const trace = traceOf(id, arrival, errorBody(arrival))
      return { ok: false, failure: { ...verdict.failure, trace }, timing }
    }
    if (isUnframed(arrival)) this.#options.onUnframed?.(operation)
    const size = arrival.bytes.length
    // Whoever reads a large answer again has its bytes for himself.
    const again = size >= LARGE_ANSWER && readAgain(operation, { ...arrival }, timing)
    arrival.bytes = nothing
    return {
      ...{ ok: true, timing },
      answer: {
        body: verdict.body,
        answeredAt,
        size,
        fill: size / provider.bodyBytes,
        ...(again && { again }),
      },
    }
  }

  /** Reads the credentials again, so that the engine's next try has the new ones; sends nothing. */
  async #afterUnauthorized(
    failure: Failure,
    app: string,
    { family }: Operation,
    { signal }: Deadline,
  ): Promise<Failure> {
    const outcome = await unlessAborted(this.#options.credentials.refresh(app, family), signal).then(
      changed => (changed ? 'new credentials were read' : 'the credentials are the same as before'),
      () => 'the credentials could not be read again',
    )
    return { ...failure, text: `${failure.text}; ${outcome}` }
  }
}

function openProviders(
  { providers, clock, proxy }: TransportOptions,
  total: number,
): ReadonlyMap<string, Provider> {
  const open = ({ url, bodyBytes = defaultBodyBytes, deadline = total }: ProviderSettings): Provider => {
    const { origin, pathname, hostname, port, protocol } = new URL(url)
    const isNear = isLoopback(hostname)
    const through = proxy === undefined || isNear ? '' : ` through the proxy ${new URL(proxy).host}`
    const place = `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}${through}`
    const prefix = pathname.replace(/\/+$/, '')
    return {
      origin,
      place,
      prefix,
      isNear,
      bodyBytes,
      patience: deadline > total ? deadline : undefined,
      deadlines: new Deadlines(clock, deadline),
      clock: createServerClock(clock),
    }
  }
  return new Map(Object.entries(providers).map(([family, one]) => [family, open(one)]))
}

async function readHeaders(credentials: Credentials, app: string, request: RequestLine) {
  try {
    return await credentials.headers(app, request.operation.family)
  } catch (error) {
    if (error instanceof CredentialError) throw error
    throw new CredentialError('the credentials cannot be read')
  }
}

function readAgain(operation: Operation, arrival: Arrival, { receivedAt }: Timing): () => Promise<unknown> {
  return async () => {
    const verdict = await inTurns(classify(operation, arrival, receivedAt))
    if (!verdict.ok) throw new Error('an answer that was read once can be read again')
    return verdict.body
  }
}

function timingSince(clock: Clock, startedAt: number): Timing {
  return { receivedAt: clock.now(), elapsed: clock.monotonic() - startedAt }
}

/** A refusal whose body broke off is still that refusal; a page that broke off is none. */
function isBroken(arrival: Arrival): boolean {
  return arrival.end === 'broken' && arrival.status >= 200 && arrival.status < 300
}

function brokenOff(arrival: Arrival, deadline: Deadline, { place }: Provider): Failure {
  return { ...breakdown(arrival.error, deadline.givenUp(), place), status: arrival.status }
}

function isUnframed(arrival: Arrival): boolean {
  const chunked = arrival.header('transfer-encoding')?.toLowerCase().includes('chunked') ?? false
  return !chunked && arrival.header('content-length') === undefined
}

/** IDs are for logs and for support, so only what is printable and short is kept of them. */
const printable = /^[\x21-\x7e]{1,128}$/

/** By which IDs a request can be found again at the provider. */
export function traceOf(sent: string, { header }: Arrival, body: unknown): Trace {
  // Call analytics give theirs in the body.
  const answered = kept(header('x-request-id')) ?? kept(fieldOf(body, 'requestId'))
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

import { Agent, type Dispatcher } from 'undici'
import type { Method } from '../provider/operation.ts'

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

export interface Outgoing {
  readonly origin: string
  readonly path: string
  readonly method: Method
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  /** Most bytes that a usable body may have. */
  readonly bodyBytes: number
}

/** What came over the wire, before anyone has tried to understand it. */
export interface Arrival {
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly bytes: Uint8Array
  /** `whole`; `cut` by the cap; or broken off by `error`. */
  readonly end: 'whole' | 'cut' | 'broken'
  readonly error?: unknown
}

/** How much of a body is kept that will only ever be looked at by a person. */
export const keptBytes = 65_536

/**
 * Connections to the providers. HTTP/1.1 over TLS 1.2 or newer; follows no redirect, decompresses nothing,
 * sends nothing twice and heeds no proxy of the environment.
 */
export function createAgent(limits: ConnectionLimits): Dispatcher {
  return new Agent({
    allowH2: false,
    pipelining: 1,
    headersTimeout: limits.headers,
    bodyTimeout: limits.idle,
    maxHeaderSize: limits.headerBytes,
    connect: { timeout: limits.connect, minVersion: 'TLSv1.2', rejectUnauthorized: true },
  })
}

/** Sends one request and reads its answer up to the cap. Rejects when no answer began. */
export async function exchange(agent: Dispatcher, outgoing: Outgoing): Promise<Arrival> {
  const { origin, path, method, headers, body = null, signal } = outgoing
  const response = await agent.request({ origin, path, method, headers, body, signal })
  const header = (name: string) => firstValue(response.headers[name])
  const usable = isUsable(response.statusCode, header('content-encoding'))
  const read = await readBody(response.body, usable ? outgoing.bodyBytes : keptBytes)
  return { status: response.statusCode, header, ...read }
}

/** An answer of another status or encoding is never parsed as a page, so a look at its beginning is enough. */
function isUsable(status: number, encoding: string | undefined): boolean {
  return status >= 200 && status < 300 && isIdentity(encoding)
}

export function isIdentity(encoding: string | undefined): boolean {
  return encoding === undefined || encoding.trim().toLowerCase() === 'identity' || encoding.trim() === ''
}

type Body = Dispatcher.ResponseData['body']

/** Reads until the end, the cap or an error. Past the cap the connection is destroyed and only a beginning kept. */
async function readBody(body: Body, cap: number): Promise<Pick<Arrival, 'bytes' | 'end' | 'error'>> {
  const chunks: Uint8Array[] = []
  let size = 0
  /* Destroying a body that has not ended makes it emit an error, which nobody else listens for. */
  body.on('error', () => {})
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > cap) return { bytes: Buffer.concat(chunks, Math.min(cap, keptBytes)), end: 'cut' }
    }
    return { bytes: Buffer.concat(chunks), end: 'whole' }
  } catch (error) {
    return { bytes: Buffer.concat(chunks), end: 'broken', error }
  }
}

function firstValue(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

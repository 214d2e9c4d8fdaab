import { Agent, type Dispatcher, ProxyAgent } from 'undici'
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
  })
}

/** Sends one request and reads its answer up to the cap. Rejects when no answer began. */
export async function exchange(agent: Dispatcher, outgoing: Outgoing): Promise<Arrival> {
  const { origin, path, method, headers, body = null, signal } = outgoing
  const response = await agent.request({ origin, path, method, headers, body, signal })
  const header = (name: string) => firstValue(response.headers[name])
  const usable = isUsable(response.statusCode, header('content-encoding'))
  const told = Number(header('content-length') ?? 0)
  const read = await readBody(response.body, usable ? outgoing.bodyBytes : keptBytes, told)
  return { status: response.statusCode, header, ...read }
}

/** An answer of another status or encoding is never parsed as a page, so a look at its beginning is enough. */
function isUsable(status: number, encoding: string | undefined): boolean {
  return status >= 200 && status < 300 && isIdentity(encoding)
}

export function isIdentity(encoding: string | undefined): boolean {
  return encoding === undefined || encoding.trim().toLowerCase() === 'identity' || encoding.trim() === ''
}

/** Most bodies are smaller. */
const firstBytes = 4_096

type Body = Dispatcher.ResponseData['body']

/**
 * Reads until the end, the cap or an error. Past the cap the connection is destroyed and only a beginning kept; of a body
 * whose length is `told` to pass it no more is read. Bytes go to their place as they come, so that such a body is never
 * held twice.
 */
async function readBody(
  body: Body,
  most: number,
  told: number,
): Promise<Pick<Arrival, 'bytes' | 'end' | 'error'>> {
  const cap = told > most ? Math.min(most, keptBytes) : most
  let bytes: Buffer = Buffer.allocUnsafeSlow(Math.max(firstBytes, Math.min(told, cap)))
  let size = 0
  /* Destroying a body that has not ended makes it emit an error, which nobody else listens for. */
  body.on('error', () => {})
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (size + chunk.length > cap) {
        const kept = Math.min(cap, keptBytes)
        return { bytes: Buffer.concat([bytes.subarray(0, size), chunk], kept), end: 'cut' }
      }
      if (size + chunk.length > bytes.length)
        bytes = larger(bytes, size, { needed: size + chunk.length, cap })
      bytes.set(chunk, size)
      size += chunk.length
    }
    return { bytes: bytes.subarray(0, size), end: 'whole' }
  } catch (error) {
    return { bytes: bytes.subarray(0, size), end: 'broken', error }
  }
}

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

function firstValue(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}

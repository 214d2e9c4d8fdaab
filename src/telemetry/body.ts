import type { IncomingMessage } from 'node:http'
import type { Clock } from '../clock/clock.ts'

export interface BodyLimits {
  /** Bytes at most. */
  readonly most: number
  /** ms from now in which all of it must have arrived. */
  readonly timeout: number
}

/** How much beyond its cap is read and thrown away, so that whoever sends it hears the answer. */
const discarded = 1_048_576

/**
 * Reads a body within a cap and a total deadline. `incomplete`: it did not arrive whole in time, or its sender went
 * away. Never rejects.
 */
export async function readBody(
  request: IncomingMessage,
  { most, timeout }: BodyLimits,
  clock: Clock,
): Promise<Uint8Array | 'too_large' | 'incomplete'> {
  const enough = new AbortController()
  const late = clock.sleep(timeout, enough.signal).then(() => 'incomplete' as const)
  try {
    return await Promise.race([collect(request, most), late])
  } finally {
    enough.abort()
    request.removeAllListeners('data')
    request.resume()
  }
}

function collect(request: IncomingMessage, most: number): Promise<Uint8Array | 'too_large' | 'incomplete'> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= most) chunks.push(chunk)
      else chunks.length = 0
      if (size > most + discarded) resolve('too_large')
    })
    request.on('end', () => resolve(size > most ? 'too_large' : Buffer.concat(chunks)))
    request.on('error', () => resolve('incomplete'))
    request.on('close', () => resolve('incomplete'))
  })
}

import type { IncomingMessage } from 'node:http'
import { type Clock, within } from '../clock/clock.ts'
import type { Delivery } from '../engine/ports.ts'
import { type ListenerOptions, type RunningServer, say, startListener } from './listener.ts'

/** Takes what the provider posts to /notifications. */
export interface Notifications {
  /** Judges one body that arrived whole. */
  readonly take: (delivery: Delivery) => Promise<{ readonly status: number; readonly text: string }>
  /** Counts a body that was not read. */
  readonly turnAway: (why: TurnedAway) => void
}

/** Why a body never was judged: above its cap, not whole in time, or too many others in hand. */
export const turnedAway = ['too_large', 'incomplete', 'busy'] as const
type TurnedAway = (typeof turnedAway)[number]

/** A notification is some hundred bytes. */
const mostBytes = 65_536
/** The provider waits ten seconds for its answer. */
const timeout = 5_000
/** Bodies in hand at a time. */
const mostInHand = 16

/** Serves POST /notifications and nothing else, apart from the endpoints, so that strangers may reach it. */
export function startNotifications(
  notifications: Notifications,
  options: ListenerOptions,
): Promise<RunningServer> {
  const receive = createNotificationRoute(notifications, options.clock)
  const answer = async (request: IncomingMessage) => {
    const { status, text } = await receive(request)
    return say(status, text)
  }
  return startListener(new Map([['/notifications', { methods: 'POST', answer }]]), options)
}

/** A few at a time, each within a cap and a deadline. */
function createNotificationRoute(
  { take, turnAway }: Notifications,
  clock: Clock,
): (request: IncomingMessage) => Promise<{ readonly status: number; readonly text: string }> {
  let inHand = 0
  const refuse = (why: TurnedAway, status: number, text: string) => {
    turnAway(why)
    return { status, text }
  }
  return async request => {
    if (inHand >= mostInHand) return refuse('busy', 503, 'too many at a time')
    inHand += 1
    try {
      const body = await readBody(request, clock)
      if (body === 'too_large') return refuse(body, 413, `more than ${mostBytes} bytes`)
      if (body === 'incomplete') return refuse(body, 408, 'not whole in time')
      const header = (name: string) => request.headersDistinct[name.toLowerCase()]?.join(', ')
      return await take({ app: appNamed(request.url ?? ''), header, body })
    } finally {
      inHand -= 1
    }
  }
}

function appNamed(url: string): string | undefined {
  const [, query = ''] = url.split('?', 2)
  return new URLSearchParams(query).get('app') ?? undefined
}

/** How much beyond its cap is read and thrown away, so that whoever sends it hears the answer. */
const discarded = 1_048_576

/**
 * Reads a body within a cap and a total deadline. `incomplete`: it did not arrive whole in time, or its sender went
 * away. Never rejects.
 */
async function readBody(
  request: IncomingMessage,
  clock: Clock,
): Promise<Uint8Array | 'too_large' | 'incomplete'> {
  try {
    return await within(clock, timeout, collect(request), 'incomplete')
  } finally {
    request.removeAllListeners('data')
    request.resume()
  }
}

function collect(request: IncomingMessage): Promise<Uint8Array | 'too_large' | 'incomplete'> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= mostBytes) chunks.push(chunk)
      else chunks.length = 0
      if (size > mostBytes + discarded) resolve('too_large')
    })
    request.on('end', () => resolve(size > mostBytes ? 'too_large' : Buffer.concat(chunks)))
    request.on('error', () => resolve('incomplete'))
    request.on('close', () => resolve('incomplete'))
  })
}

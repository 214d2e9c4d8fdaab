import type { Clock } from '../../src/clock/clock.ts'
import type { FaultRule } from './faults.ts'

/** The connection ended without an answer. Over a socket the client sees a reset; in-process, this error. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  readonly code = 'ECONNRESET'

  constructor() {
    super('the connection was lost')
  }
}

/** The line to the client. */
export interface Line {
  readonly clock: Clock
  /** Ends the connection under way. In-process there is none: the body fails instead. */
  readonly hangUp: (() => void) | undefined
}

/** How the world is to answer: `loops` asks for a nextId that leads nowhere, `slips` for a page that begins one item too early. */
export interface How {
  readonly loops: boolean
  readonly slips?: boolean
}

/** Bytes of an answer that is a large one. */
const weighty = 1_200_000

/** What the world answers. */
export type Act = (how: How) => Response

/** Lets the world act and brings its answer to the client, or whatever the fault makes of it. */
export async function transmit(fault: FaultRule | undefined, act: Act, line: Line): Promise<Response> {
  const { clock } = line
  if (!fault) return act({ loops: false })
  switch (fault.kind) {
    case 'reset':
      throw new ConnectionLost()
    case 'lost-response':
      act({ loops: false })
      throw new ConnectionLost()
    case 'latency': {
      const answer = act({ loops: false })
      await clock.sleep(fault.ms ?? 1_000)
      return answer
    }
    case 'drip':
      return drip(await bytesOf(act), fault.ms ?? 100, clock)
    case 'truncated':
      return truncated(await bytesOf(act), line)
    case 'status':
      return failure(fault, clock.now())
    case 'status-after-acting':
      act({ loops: false })
      return failure({ status: 504, ...fault }, clock.now())
    case 'redirect': {
      const location = fault.location ?? 'http://127.0.0.1:9/elsewhere'
      return new Response(null, { status: fault.status ?? 302, headers: { location } })
    }
    case 'html':
      return html('<!doctype html><title>Gateway</title><h1>Something went wrong</h1>', fault.status ?? 200)
    case 'malformed': {
      const text = await act({ loops: false }).text()
      return json(text.slice(0, Math.ceil(text.length / 2)))
    }
    case 'empty': {
      const answer = act({ loops: false })
      const body = (await answer.json()) as object
      return json(JSON.stringify('data' in body ? { ...body, data: [] } : body), answer.status, {
        date: answer.headers.get('date') ?? '',
      })
    }
    case 'no-data': {
      const { data: _, ...body } = (await act({ loops: false }).json()) as { readonly data?: unknown }
      return json(JSON.stringify(body))
    }
    case 'unknown-code': {
      const body = (await act({ loops: false }).json()) as object
      return json(JSON.stringify(withoutLists({ ...body, code: fault.code ?? 1, message: null })))
    }
    case 'wrong-types':
      return json('{"code":"zero","msg":[],"ts":"today","data":7}')
    case 'unlisted':
    case 'miscounted':
      return json(JSON.stringify(withoutFirst((await act({ loops: false }).json()) as List, fault.kind)))
    case 'unfiled': {
      const answer = act({ loops: false })
      const headers = { date: answer.headers.get('date') ?? '' }
      return json(JSON.stringify(await answer.json(), withoutFirstFile), answer.status, headers)
    }
    case 'strange': {
      const { data: _, ...body } = (await act({ loops: false }).json()) as { readonly data?: unknown }
      return json(JSON.stringify({ ...body, data: { news: { of: { tomorrow: [1] } } } }))
    }
    case 'weighty': {
      const answer = act({ loops: false })
      const text = await answer.text()
      return json(text.padEnd(weighty), answer.status, { date: answer.headers.get('date') ?? '' })
    }
    case 'endless':
      return endless()
    case 'slipped':
      return act({ loops: false, slips: true })
    case 'looping-next-id':
      return act({ loops: true })
  }
}

export function json(text: string, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } })
}

function html(text: string, status: number): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/html' } })
}

interface List {
  readonly players?: readonly unknown[]
  readonly totalSize?: number
}

function withoutFirst({ players, totalSize, ...body }: List, kind: 'unlisted' | 'miscounted'): List {
  if (!players || totalSize === undefined || players.length === 0)
    return { ...body, players, totalSize } as List
  return {
    ...body,
    players: players.slice(1),
    totalSize: kind === 'unlisted' ? totalSize - 1 : totalSize,
  } as List
}

function withoutFirstFile(name: string, value: unknown): unknown {
  return name === 'recordDetails' && Array.isArray(value) ? value.slice(1) : value
}

function withoutLists(body: object): object {
  const lists = ['data', 'call_lists', 'call_info', 'metrics'].filter(name => name in body)
  return { ...body, ...Object.fromEntries(lists.map(name => [name, null])) }
}

function failure(rule: FaultRule, ts: number): Response {
  const { status = 500, code, message = 'injected', retryIn } = rule
  const retryAfter = retryIn === undefined ? rule.retryAfter : dateOf(ts + retryIn * 1_000)
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  return json(JSON.stringify({ code, msg: message, message, ts }), status, headers)
}

/** A date has no milliseconds: it is that of the second which has begun by then. */
function dateOf(ms: number): string {
  return new Date(Math.ceil(ms / 1_000) * 1_000).toUTCString()
}

async function bytesOf(act: Act): Promise<Uint8Array> {
  return new Uint8Array(await act({ loops: false }).arrayBuffer())
}

/** One byte at a time. */
function drip(bytes: Uint8Array, ms: number, clock: Clock): Response {
  let sent = 0
  return stream({
    async pull(controller) {
      await clock.sleep(ms)
      if (sent < bytes.length) controller.enqueue(bytes.subarray(sent, ++sent))
      else controller.close()
    },
  })
}

/** Half of the body, then the connection ends. */
function truncated(bytes: Uint8Array, { hangUp }: Line): Response {
  let isSent = false
  return stream({
    pull(controller) {
      if (!isSent) controller.enqueue(bytes.subarray(0, Math.ceil(bytes.length / 2)))
      else if (hangUp) hangUp()
      else controller.error(new ConnectionLost())
      isSent = true
    },
  })
}

/** A list that never closes. */
function endless(): Response {
  const chunk = new TextEncoder().encode('{"cmd":3},'.repeat(4_096))
  let isBegun = false
  return stream({
    pull(controller) {
      controller.enqueue(isBegun ? chunk : new TextEncoder().encode('{"code":0,"msg":"","data":['))
      isBegun = true
    },
  })
}

type Source = ConstructorParameters<typeof ReadableStream<Uint8Array>>[0]

function stream(source: Source): Response {
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), {
    headers: { 'content-type': 'application/json' },
  })
}

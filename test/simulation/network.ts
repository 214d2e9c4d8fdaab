import { type Arrival, ConnectionLost, type Sandbox } from '../../sandbox/src/index.ts'
import { type Agency, unlessAborted } from '../../src/http/exchange.ts'
import type { Kernel, Process } from './kernel.ts'

/** What came over the wire. */
interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  /** The connection ended before the body did. */
  readonly isBroken: boolean
}

/** More of a body is never read by anyone. */
const mostBytes = 20 * 1_048_576
/** No answer comes later than this, ms; and the longest wait for one that comes. */
const never = 3_600_000
const slowest = 10_000

/**
 * Connections of one process to the sandbox: each request waits for its turn, and may meet a fault on the way. `sending`
 * is told what is sent, and what it answers hears of which app it was.
 */
export function networkThrough(
  kernel: Kernel,
  process: Process,
  sandbox: () => Sandbox,
  sending: (request: Outgoing) => (app: string | undefined) => void = () => () => {},
): Agency {
  const answerTo = async (request: Outgoing, signal: AbortSignal) => {
    const { method, path } = request
    const sent = sending(request)
    let arrival: Arrival | undefined
    let isLost = false
    /** Who asked will never have the answer: it is as if the provider's line had broken. */
    const lose = () => {
      isLost = true
      if (arrival) arrival.fault ??= 'lost-response'
    }
    const answered = kernel.perform<Answer>(process, {
      kind: 'provider',
      name: `${method} ${path}`,
      work: async () => {
        const { arrivals } = sandbox()
        const before = arrivals.count
        const answer = await ask(sandbox(), request)
        arrival = arrivals.list(before, 1)[0]
        if (arrival) process.arrived?.push(arrival.n)
        sent(arrival?.app)
        if (isLost) lose()
        return answer
      },
      meets: {
        'broken body': async (work, park) => {
          const answer = await work(park)
          lose()
          const half = answer.bytes.subarray(0, Math.floor(answer.bytes.length / 2))
          return { ...answer, bytes: half, isBroken: true }
        },
        'no answer': async (work, park) => {
          const answer = await work(park)
          park()
          await kernel.clockOf(process).sleep(never)
          return answer
        },
        'slow answer': async (work, park) => {
          const answer = await work(park)
          park()
          await kernel.clockOf(process).sleep(slowest)
          return answer
        },
      },
      broken: async () => connectionLost(),
    })
    return unlessAborted(answered, signal)
      .catch((error: unknown) => {
        lose()
        throw error
      })
      .finally(() => {
        process.requests = (process.requests ?? 0) + 1
      })
  }
  const dispatch: Agency['dispatch'] = (outgoing, handler) => {
    const givenUp = new AbortController()
    const controller = { abort: () => givenUp.abort() } as unknown as Controller
    handler.onRequestStart?.(controller, undefined)
    answerTo(outgoing, givenUp.signal).then(
      answer => tell(handler, controller, answer),
      error => handler.onResponseError?.(controller, error),
    )
    return true
  }
  return { dispatch, close: (async () => {}) as Agency['close'] }
}

type Handler = Parameters<Agency['dispatch']>[1]
type Controller = Parameters<NonNullable<Handler['onRequestStart']>>[0]

function tell(handler: Handler, controller: Controller, { status, headers, bytes, isBroken }: Answer): void {
  handler.onResponseStart?.(controller, status, headers)
  if (bytes.length > 0) handler.onResponseData?.(controller, Buffer.from(bytes))
  if (isBroken) handler.onResponseError?.(controller, connectionLost())
  else handler.onResponseEnd?.(controller, {})
}

function connectionLost(): Error {
  return Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
}

interface Outgoing {
  readonly method: unknown
  readonly path: string
  readonly headers?: unknown
  readonly body?: unknown
}

async function ask(sandbox: Sandbox, { method, path, headers, body }: Outgoing): Promise<Answer> {
  const sent = new Request(`http://provider.test${path}`, {
    method: method as string,
    headers: headers as Record<string, string>,
    ...(body != null && { body: body as string }),
  })
  const response = await sandbox.fetch(sent).catch((error: unknown) => {
    if (!(error instanceof ConnectionLost)) throw error
    throw connectionLost()
  })
  const { bytes, isBroken } = await readBody(response)
  return {
    status: response.status,
    headers: { ...Object.fromEntries(response.headers), 'content-length': String(bytes.length) },
    ...{ bytes, isBroken },
  }
}

async function readBody(response: Response): Promise<Pick<Answer, 'bytes' | 'isBroken'>> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      size += chunk.length
      if (size > mostBytes) break
    }
  } catch {
    return { bytes: Buffer.concat(chunks), isBroken: true }
  }
  return { bytes: Buffer.concat(chunks), isBroken: false }
}

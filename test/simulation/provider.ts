import { ConnectionLost, type Sandbox } from '../../sandbox/src/index.ts'
import type { Clock } from '../../src/clock/clock.ts'
import type { Reply, Timing, Transport } from '../../src/engine/ports.ts'
import { classify } from '../../src/http/classify.ts'
import { type Arrival, breakdown } from '../../src/http/exchange.ts'
import { parseHttpDate } from '../../src/http/headers.ts'
import { atOnce } from '../../src/http/json.ts'
import { createServerClock, type ServerClock } from '../../src/http/server-clock.ts'
import type { Family, RequestLine } from '../../src/provider/operation.ts'
import type { Kernel, Process } from './kernel.ts'

export interface InProcessOptions {
  readonly kernel: Kernel
  readonly process: Process
  readonly clock: Clock
  readonly sandbox: Sandbox
  /** Total deadline of a request, ms. */
  readonly deadline: number
}

/** A transport without sockets. What an answer means is decided by the production code. */
export function createInProcessTransport(options: InProcessOptions): Transport {
  const { kernel, process, clock, sandbox, deadline } = options
  const clocks = new Map<Family, ServerClock>()
  return {
    clockOffset: family => clocks.get(family)?.offset(),
    send: async (app, request, signal) => {
      const startedAt = clock.monotonic()
      const timing = (): Timing => ({ receivedAt: clock.now(), elapsed: clock.monotonic() - startedAt })
      const answered = kernel.perform(process, {
        kind: 'provider',
        name: request.target,
        work: () => exchange(sandbox, app, request),
        broken: async () => new ConnectionLost(),
      })
      const over = new AbortController()
      try {
        const arrival = await Promise.race([answered, patience(clock, deadline, signal, over.signal)])
        if (typeof arrival === 'string') {
          return { ok: false, failure: breakdown(undefined, arrival), timing: timing() }
        }
        const reply = timing()
        const dated = parseHttpDate(arrival.header('date'))
        const { family } = request.operation
        const known = clocks.get(family) ?? createServerClock({ clock })
        clocks.set(family, known)
        if (dated !== undefined) known.observe(dated, startedAt, startedAt + reply.elapsed)
        return understand(request, arrival, reply)
      } catch (error) {
        return { ok: false, failure: breakdown(error, undefined), timing: timing() }
      } finally {
        over.abort()
      }
    },
  }
}

async function patience(
  clock: Clock,
  deadline: number,
  signal: AbortSignal | undefined,
  over: AbortSignal,
): Promise<'deadline' | 'cancelled'> {
  await clock.sleep(deadline, signal ? AbortSignal.any([signal, over]) : over)
  return signal?.aborted ? 'cancelled' : 'deadline'
}

function understand({ operation }: RequestLine, arrival: Arrival, timing: Timing): Reply {
  const verdict = atOnce(classify(operation, arrival, timing.receivedAt))
  if (!verdict.ok) return { ok: false, failure: verdict.failure, timing }
  const { status, bytes } = arrival
  return {
    ok: true,
    answer: { body: verdict.body, status, answeredAt: verdict.answeredAt, size: bytes.length },
    timing,
  }
}

async function exchange(sandbox: Sandbox, id: string, { method, target }: RequestLine): Promise<Arrival> {
  const { apps, uidHeader, tokenHeader } = sandbox.settings
  const app = apps.find(one => one.id === id)!
  const headers: Record<string, string> = { [uidHeader]: app.uid, [tokenHeader]: app.token }
  if (app.rest) headers.authorization = `Basic ${btoa(`${app.rest.key}:${app.rest.secret}`)}`
  const response = await sandbox.fetch(new Request(`http://provider.test${target}`, { method, headers }))
  const bytes = new Uint8Array(await response.arrayBuffer())
  return {
    status: response.status,
    header: name => response.headers.get(name) ?? undefined,
    bytes,
    end: 'whole',
  }
}

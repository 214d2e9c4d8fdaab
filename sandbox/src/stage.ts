import type { Context, Hono } from 'hono'
import type { Operation } from '../../src/provider/operation.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import type { FaultRule, Faults } from './faults.ts'
import type { Settings } from './options.ts'
import type { Universe } from './universe.ts'
import type { ViolationKind, Violations } from './violations.ts'
import { type How, json, transmit } from './wire.ts'

export interface Bindings {
  readonly Bindings: { readonly hangUp: (() => void) | undefined }
}

export type SandboxApp = Hono<Bindings>
export type Asking = Context<Bindings>

/** What every operation of the provider is played with. */
export interface Stage {
  readonly settings: Settings
  readonly universe: Universe
  readonly arrivals: Arrivals
  readonly faults: Faults
  readonly violations: Violations
}

/** What the world answers. */
type Answer = (how: How & { readonly arrival: Arrival }) => Response

/** Writes the request down, then lets the world answer it, or lets it meet its fault. */
export async function serve(
  context: Asking,
  stage: Stage,
  request: {
    readonly operation: Operation
    readonly app: string | undefined
    /** Rules that it breaks by having come. */
    readonly broken?: readonly ViolationKind[]
    /** What befalls it for what it asks, where no rule strikes. */
    readonly fault?: FaultRule | undefined
    readonly act: Answer
  },
): Promise<Response> {
  const { operation, app, broken, act } = request
  const arrival = arrive(context, stage, { operation: operation.name, app })
  if (broken) breaks(stage, arrival, broken)
  const struck = stage.faults.strike({ operation: operation.name, app: app ?? '', target: arrival.target })
  const fault = struck ?? request.fault
  arrival.fault = fault?.kind
  const { clock } = stage.settings
  const response = await transmit(fault, how => act({ ...how, arrival }), {
    clock,
    hangUp: context.env.hangUp,
  })
  arrival.status = response.status
  return response
}

/** Writes down that a request came. */
export function arrive(
  { req }: Asking,
  { arrivals, settings }: Stage,
  about: { readonly operation: string | undefined; readonly app: string | undefined },
): Arrival {
  const { host, pathname, search } = new URL(req.url)
  const time = settings.clock.now()
  return arrivals.add({ time, ...about, method: req.method, target: pathname + search, host })
}

/** Counts the rules that a request broke, and leaves them with it. */
export function breaks({ violations }: Stage, arrival: Arrival, broken: readonly ViolationKind[]): void {
  arrival.broken = broken
  violations.count(broken)
}

/** An answer with the provider's time in its Date. */
export function reply({ universe }: Stage, status: number, body: object): Response {
  const date = new Date(universe.now()).toUTCString()
  return json(JSON.stringify(body), status, { date })
}

import type { Context, Hono } from 'hono'
import { successCode } from '../provider/classroom/index.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import type { Faults } from './faults.ts'
import type { Settings } from './options.ts'
import { Pager } from './paging.ts'
import { type Play, readingPlays } from './reading.ts'
import { notAuthenticated, notFound, Refusal } from './refusal.ts'
import type { Universe } from './universe.ts'
import { json, transmit } from './wire.ts'
import type { AppWorld } from './world.ts'

export interface Bindings {
  readonly Bindings: { readonly hangUp: (() => void) | undefined }
}

interface Stage {
  readonly settings: Settings
  readonly universe: Universe
  readonly arrivals: Arrivals
  readonly faults: Faults
}

/**
 * Puts the operations of the provider on their paths. An operation that is not played is answered like an
 * unknown path. Returns how to read the number of violations so far.
 */
export function addProvider(app: Hono<Bindings>, stage: Stage): () => number {
  let violations = 0
  const refuse = (refusal: Refusal): Response => {
    if (refusal.isViolation) violations++
    return envelope(stage, refusal.status, { code: refusal.code, msg: refusal.message })
  }
  const answer = (act: () => unknown): Response => {
    try {
      return envelope(stage, 200, { code: successCode, msg: 'Success', data: act() })
    } catch (error) {
      if (error instanceof Refusal) return refuse(error)
      throw error
    }
  }

  const { clock } = stage.settings
  const serve = async (context: Context<Bindings>, { operation, act }: Play): Promise<Response> => {
    const params = context.req.param()
    const arrival = arrive(context, stage, operation.name, params.appId)
    const fault = stage.faults.strike(operation.name, params.appId ?? '')
    arrival.fault = fault?.kind
    const query = new URL(context.req.url).searchParams
    const visit = ({ loops }: { readonly loops: boolean }) =>
      answer(() => {
        const world = authenticate(context, stage, params.appId)
        return act({ world, params, query, loops, now: stage.universe.advance() })
      })
    const response = await transmit(fault, visit, { clock, hangUp: context.env.hangUp })
    arrival.status = response.status
    return response
  }

  for (const play of readingPlays(stage.settings.switches, new Pager(stage.settings.switches))) {
    const path = play.operation.path.replace(/\{(\w+)\}/g, ':$1')
    app.on(play.operation.method, path, context => serve(context, play))
  }
  app.notFound(context => {
    const response = refuse(notFound())
    arrive(context, stage, undefined, undefined).status = response.status
    return response
  })
  app.onError(error => {
    throw error
  })
  return () => violations
}

function arrive(
  { req }: Context,
  { arrivals, settings }: Stage,
  operation: string | undefined,
  app: string | undefined,
): Arrival {
  const { pathname, search } = new URL(req.url)
  return arrivals.add({
    time: settings.clock.now(),
    operation,
    app,
    method: req.method,
    target: pathname + search,
  })
}

function authenticate({ req }: Context, { settings, universe }: Stage, id: string | undefined): AppWorld {
  const app = settings.apps.find(one => one.id === id)
  const isKnown =
    app && req.header(settings.uidHeader) === app.uid && req.header(settings.tokenHeader) === app.token
  const world = isKnown && universe.app(app.id)
  if (!world) throw notAuthenticated()
  return world
}

function envelope({ universe }: Stage, status: number, body: object): Response {
  const ts = universe.now()
  return json(JSON.stringify({ ...body, ts }), status, { date: new Date(ts).toUTCString() })
}

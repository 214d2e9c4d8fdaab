import { successCode } from '../../src/provider/classroom/index.ts'
import { addAnalytics, isAnalyticsPath } from './analytics/provider.ts'
import { wrongApi } from './analytics/refusals.ts'
import type { Arrival } from './arrivals.ts'
import { changingPlays } from './changing/plays.ts'
import { Pager } from './paging.ts'
import { addPlayers } from './players/provider.ts'
import { readingPlays } from './reading.ts'
import { notAuthenticated, notFound, Refusal } from './refusal.ts'
import { Beside, type Play, type Sent } from './request-context.ts'
import { type Asking, arrive, breaks, reply, type SandboxApp, type Stage, serve } from './stage.ts'
import { ConnectionLost } from './wire.ts'
import type { AppWorld } from './world.ts'

/** Puts the operations of the provider on their paths. */
export function addProvider(app: SandboxApp, stage: Stage): void {
  addClassrooms(app, stage)
  addAnalytics(app, stage)
  addPlayers(app, stage)
  app.notFound(context => {
    const arrival = arrive(context, stage, { operation: undefined, app: undefined })
    const response = isAnalyticsPath(context.req.path)
      ? lost(stage, arrival)
      : refuse(stage, notFound(), arrival)
    arrival.status = response.status
    return response
  })
  app.onError(error => {
    throw error
  })
}

function addClassrooms(app: SandboxApp, stage: Stage): void {
  const { switches } = stage.settings
  const handlers = [
    ...readingPlays(switches, new Pager(switches)),
    ...changingPlays(stage.universe.classrooms, switches),
  ]
  for (const play of handlers) {
    const { operation, isMeant } = play
    const path = operation.path.replace(/\{(\w+)\}/g, ':$1')
    app.on(operation.method, path, async (context, next) => {
      const sent = operation.method === 'GET' ? nothing : await receive(context)
      if (isMeant && !isMeant({ params: context.req.param(), sent })) return next()
      return perform(context, stage, play, sent)
    })
  }
}

const nothing: Sent = { contentType: undefined, text: '' }

/** A request whose body does not come whole has not arrived. */
async function receive({ req }: Asking): Promise<Sent> {
  try {
    return { contentType: req.header('content-type'), text: await req.text() }
  } catch {
    throw new ConnectionLost()
  }
}

function perform(context: Asking, stage: Stage, { operation, act }: Play, sent: Sent): Promise<Response> {
  const params = context.req.param()
  const query = new URL(context.req.url).searchParams
  const answer = ({ loops, arrival }: { readonly loops: boolean; readonly arrival: Arrival }): Response => {
    try {
      const world = authenticate(context, stage, params.appId)
      const data = act({ world, params, query, sent, loops, now: stage.universe.advance() })
      const fields = data instanceof Beside ? data.fields : { data }
      return envelope(stage, 200, { code: successCode, msg: 'Success', ...fields })
    } catch (error) {
      if (error instanceof Refusal) return refuse(stage, error, arrival)
      throw error
    }
  }
  return serve(context, stage, { operation, app: params.appId, act: answer })
}

function authenticate({ req }: Asking, { settings, universe }: Stage, id: string | undefined): AppWorld {
  const app = settings.apps.find(one => one.id === id)
  const isKnown =
    app && req.header(settings.uidHeader) === app.uid && req.header(settings.tokenHeader) === app.token
  const world = isKnown && universe.app(app.id)
  if (!world) throw notAuthenticated()
  return world
}

function refuse(stage: Stage, { status, code, message, broken }: Refusal, arrival: Arrival): Response {
  breaks(stage, arrival, broken)
  return envelope(stage, status, { code, msg: message })
}

function lost(stage: Stage, arrival: Arrival): Response {
  const { status, code, message, broken } = wrongApi()
  breaks(stage, arrival, broken)
  return reply(stage, status, { code, message })
}

function envelope(stage: Stage, status: number, body: object): Response {
  return reply(stage, status, { ...body, ts: stage.universe.now() })
}

import type { Arrival } from '../arrivals.ts'
import { seededRandom } from '../seeded.ts'
import { type Asking, reply, type SandboxApp, type Stage, serve } from '../stage.ts'
import { type How, json } from '../wire.ts'
import { PlayerJudge } from './judge.ts'
import { type Play, playerPlays } from './plays.ts'
import { messages, PlayerRefusal } from './refusals.ts'
import type { PlayerAnswer } from './visit.ts'

const idHeader = 'x-request-id'
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Puts the three operations of the cloud players on their paths. */
export function addPlayers(app: SandboxApp, stage: Stage): void {
  const judge = new PlayerJudge(stage)
  const random = seededRandom(`${stage.settings.seed}/players/requests`)
  for (const play of playerPlays) {
    const { method, path } = play.operation
    app.on(method, path.replace(/\{(\w+)\}/g, ':$1'), context => {
      const sent = context.req.header(idHeader) ?? ''
      const requestId = uuid.test(sent) ? sent : random.uuid()
      return perform(context, stage, { play, judge, requestId })
    })
  }
}

/** A request is judged when it arrives; it acts on the world unless it meets a fault on its way there. */
async function perform(
  context: Asking,
  stage: Stage,
  {
    play,
    judge,
    requestId,
  }: { readonly play: Play; readonly judge: PlayerJudge; readonly requestId: string },
): Promise<Response> {
  const { req } = context
  const body = parse(await req.text())
  const params = req.param()
  const { action, broken } = judge.hear(play, {
    ...{ params, body, query: new URL(req.url).searchParams },
    authorization: req.header('authorization'),
    contentType: req.header('content-type'),
  })
  const act = ({ arrival, ...how }: How & { readonly arrival: Arrival }): Response => {
    try {
      return answer(stage, requestId, action(how))
    } catch (refusal) {
      if (!(refusal instanceof PlayerRefusal)) throw refusal
      arrival.refusal = refusal.message
      return refuse(stage, requestId, refusal)
    }
  }
  const response = await serve(context, stage, { operation: play.operation, app: params.appId, broken, act })
  return response.headers.has(idHeader) ? response : dress(response, requestId)
}

function answer(stage: Stage, requestId: string, { body, resourceId }: PlayerAnswer): Response {
  const full = reply(stage, 200, body ?? {})
  const response = body ? full : new Response(null, { headers: { date: full.headers.get('date')! } })
  return marked(response, requestId, resourceId)
}

function refuse(stage: Stage, requestId: string, { status, message, resourceId }: PlayerRefusal): Response {
  return marked(reply(stage, status, { message }), requestId, resourceId)
}

/** An answer that did not come from the world, as the document tells of it. */
function dress(response: Response, requestId: string): Response {
  const { status, headers } = response
  const message = messages[status]
  const isJson = headers.get('content-type') === 'application/json'
  if (!message || !isJson) return marked(response, requestId, undefined)
  return marked(json(JSON.stringify({ message }), status, Object.fromEntries(headers)), requestId, undefined)
}

/** Whoever is not known is not told the ID of the request. */
function marked(response: Response, requestId: string, resourceId: string | undefined): Response {
  if (response.status !== 401) response.headers.set(idHeader, requestId)
  if (resourceId !== undefined) response.headers.set('x-resource-id', resourceId)
  return response
}

/** Undefined where it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

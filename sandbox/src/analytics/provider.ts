import type { Arrival } from '../arrivals.ts'
import { seededRandom } from '../seeded.ts'
import { type Asking, reply, type SandboxApp, type Stage, serve } from '../stage.ts'
import type { Switches } from '../switches.ts'
import { Judge } from './judge.ts'
import { analyticsPlays, type Play } from './plays.ts'

/** Puts the seven endpoints of the call analytics on their paths. */
export function addAnalytics(app: SandboxApp, stage: Stage): void {
  const judge = new Judge(stage)
  const random = seededRandom(`${stage.settings.seed}/requests`)
  for (const play of analyticsPlays) {
    const { method, path } = play.operation
    app.on(method, path, context => perform(context, stage, { play, judge, requestId: random.uuid() }))
  }
}

export function isAnalyticsPath(path: string): boolean {
  return path.startsWith('/beta/')
}

/** A request is judged when it arrives, whatever becomes of its answer on the way. */
function perform(
  context: Asking,
  stage: Stage,
  { play, judge, requestId }: { readonly play: Play; readonly judge: Judge; readonly requestId: string },
): Promise<Response> {
  const params = new URL(context.req.url).searchParams
  const app = params.get('appid') ?? undefined
  const { verdict, broken } = judge.hear(play, { params, authorization: context.req.header('authorization') })
  // The document shows it with the call records alone.
  const id = play.range[0] === 'start_ts' ? { requestId } : {}
  const act = ({ arrival }: { readonly arrival: Arrival }): Response => {
    if (verdict.kind === 'refused') {
      const { status, code, message } = verdict.refusal
      arrival.refusal = message
      return reply(stage, status, { code, message, ...id })
    }
    const { successCode, successMessage, emptyLists } = stage.settings.switches
    const code = Number(successCode)
    const message = successMessage === 'null' ? null : 'success'
    return reply(stage, 200, { code, message, ...id, ...sayEmpty(verdict.answer, emptyLists) })
  }
  const fault = verdict.kind === 'answered' ? verdict.weight : undefined
  return serve(context, stage, { operation: play.operation, app, broken, fault, act })
}

/** The answer with its empty lists as the deployment says them. */
function sayEmpty(answer: object, way: Switches['emptyLists']): object {
  // Of an answer that counts something nobody could tell a list that is left out from one that was lost.
  const countsNothing = 'total_size' in answer && answer.total_size === 0
  if (way === 'array' || (way === 'absent' && !countsNothing)) return answer
  const members = Object.entries(answer).flatMap(([name, value]) => {
    if (!Array.isArray(value) || value.length > 0) return [[name, value]]
    return way === 'null' ? [[name, null]] : []
  })
  return Object.fromEntries(members)
}

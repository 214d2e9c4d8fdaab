import type { Failure } from '../provider/errors.ts'
import { ParameterError } from '../provider/operation.ts'
import type { Sent } from './admission.ts'
import type { PageContext } from './context.ts'
import { isolate } from './isolate.ts'
import { LARGE_ANSWER } from './load.ts'
import { measure } from './measure.ts'
import type { CommitResult, Grant, Reply } from './ports.ts'
import type { Items, Plan, Task, Yield } from './task.ts'

/**
 * The way of one page: plan, admit, send, parse, rows, commit, measure. A page walks it once and never goes back.
 */
export async function poll<P extends Items, H extends Yield>(
  context: PageContext,
  task: Task<P, H>,
): Promise<PollResult<P, H>> {
  const plan = task.plan()
  const sent = await admitAndSend(context, plan)
  if (sent.outcome !== 'replied') return { outcome: sent.outcome }
  if (!sent.reply.ok) return { outcome: 'failed', failure: sent.reply.failure }
  try {
    return await take(context, task, sent.reply, sent.grant)
  } finally {
    sent.release()
  }
}

/** The second half of the way, for an answer that came. */
async function take<P extends Items, H extends Yield>(
  context: PageContext,
  task: Task<P, H>,
  { answer, timing }: Reply & { readonly ok: true },
  grant: Grant | undefined,
): Promise<PollResult<P, H>> {
  // What a large page takes long for is done in turns, with others between them.
  const pause = answer.size < LARGE_ANSWER ? undefined : () => context.clock.sleep(0)
  await pause?.()
  const page = task.parse(answer, timing)
  const harvest = task.harvest(page)
  await pause?.()
  const stored = await isolate(context, task, page, harvest, grant)
  // Left open it would keep its place in the budget until it could no longer arrive.
  if (stored.outcome !== 'committed' && grant) await context.admission.discard(grant)
  measure(context, task.stream, page, harvest, stored)
  return { outcome: 'read', page, harvest, stored }
}

export type PollResult<P, H> =
  | { readonly outcome: 'stopped' | 'fenced' | 'late' }
  | { readonly outcome: 'failed'; readonly failure: Failure }
  | {
      readonly outcome: 'read'
      readonly page: P
      readonly harvest: H
      readonly stored: CommitResult
    }

function admitAndSend(
  { app, fence, purpose, signal, admission }: PageContext,
  { request, life, arrived }: Plan,
): Promise<Sent> {
  const limit = app.limits[request.operation.limitGroup]
  if (!limit) throw new ParameterError(`no limit is set for group ${request.operation.limitGroup}`)
  return admission.send({
    app: app.id,
    fence,
    request,
    life,
    limit,
    purpose,
    signal,
    ...(arrived && { arrived }),
  })
}

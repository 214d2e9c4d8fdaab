import type { Failure } from '../provider/errors.ts'
import { ParameterError } from '../provider/operation.ts'
import type { StreamName } from '../streams/stream.ts'
import type { Sent } from './admission/admission.ts'
import { commitPage } from './commit-page.ts'
import type { PageContext, PageItems, Plan, Task, TaskResult } from './context.ts'
import { type Answer, type CommitResult, type Grant, LARGE_ANSWER, type Timing } from './ports.ts'

/**
 * The way of one page: plan, admit, send, parse, rows, commit, measure. A page walks it once and never goes back.
 */
export async function poll<P extends PageItems, H extends TaskResult>(
  context: PageContext,
  task: Task<P, H>,
): Promise<PollResult<P, H>> {
  const plan = task.plan()
  const reading = await read(context, task, plan)
  if (reading.outcome !== 'read') return reading
  const { page, whole, grant, release } = reading
  try {
    const { stored, pageResult } = await commitPage(context, task, { page, whole }, reading.pageResult, grant)
    // Left open it would keep its place in the budget until it could no longer arrive.
    if (stored.outcome !== 'committed' && grant) await context.admission.discard(grant)
    measure(context, task.stream, reading.isEmpty, pageResult, stored)
    return { outcome: 'read', page, pageResult, stored, fill: reading.fill }
  } finally {
    release()
  }
}

/** A page of which there are rows. */
interface Reading<P, H> {
  readonly outcome: 'read'
  /** Of a large answer without its items. */
  readonly page: P
  readonly whole: () => Promise<P>
  readonly isEmpty: boolean
  readonly fill: number | undefined
  readonly pageResult: H
  readonly grant: Grant | undefined
  readonly release: () => void
}

/**
 * Admit, send, parse, rows. It is a function of its own so that nothing refers to a large answer any more while its
 * rows are stored, which takes the longest: what was parsed is many times what they are.
 */
async function read<P extends PageItems, H extends TaskResult>(
  context: PageContext,
  task: Task<P, H>,
  plan: Plan,
): Promise<Reading<P, H> | Exclude<PollResult<P, H>, { readonly outcome: 'read' }>> {
  const sent = await admitAndSend(context, plan)
  if (sent.outcome !== 'replied') return { outcome: sent.outcome }
  const { reply, grant, release } = sent
  if (!reply.ok) return { outcome: 'failed', failure: reply.failure }
  const { answer, timing } = reply
  try {
    // What a large page takes long for is done in turns, with others between them.
    const isLarge = answer.size >= LARGE_ANSWER
    if (isLarge) await context.clock.sleep(0)
    const page = task.parse(answer, timing)
    const pageResult = task.toRows(page)
    if (isLarge) await context.clock.sleep(0)
    const isEmpty = page.items.length === 0
    const kept = isLarge && answer.again ? slim(task, page, answer, timing) : { page, whole: keep(page) }
    return { outcome: 'read', ...kept, isEmpty, fill: answer.fill, pageResult, grant, release }
  } catch (error) {
    release()
    throw error
  }
}

/** A page without its items, and how to come by them. It refers to nothing of what was parsed. */
function slim<P extends PageItems, H extends TaskResult>(
  task: Task<P, H>,
  page: P,
  { again, ...answer }: Answer,
  timing: Timing,
): Pick<Reading<P, H>, 'page' | 'whole'> {
  return {
    page: { ...page, items: [] },
    whole: reparse(task, { ...answer, body: undefined }, again!, timing),
  }
}

function reparse<P extends PageItems, H extends TaskResult>(
  task: Task<P, H>,
  answer: Answer,
  again: () => Promise<unknown>,
  timing: Timing,
): () => Promise<P> {
  return async () => task.parse({ ...answer, body: await again() }, timing)
}

function keep<P>(page: P): () => Promise<P> {
  return () => Promise.resolve(page)
}

export type PollResult<P, H> =
  | { readonly outcome: 'stopped' | 'fenced' | 'late' }
  | { readonly outcome: 'failed'; readonly failure: Failure }
  | {
      readonly outcome: 'read'
      readonly page: P
      readonly pageResult: H
      readonly stored: CommitResult
      /** Share that the answer took of what one may weigh, where that is known. */
      readonly fill: number | undefined
    }

function admitAndSend(
  { app, fence, purpose, signal, admission }: PageContext,
  { request, series, life, isPlannedAgain = false, isOutdated, arrived }: Plan,
): Promise<Sent> {
  const limit = app.limits[request.operation.limitGroup]
  if (!limit) throw new ParameterError(`no limit is set for group ${request.operation.limitGroup}`)
  return admission.send({
    app: app.id,
    fence,
    request,
    series,
    life,
    isPlannedAgain,
    limit,
    purpose,
    signal,
    ...(isOutdated && { isOutdated }),
    ...(arrived && { arrived }),
  })
}

/** Every stream is measured alike, from what the engine sees anyway. */
export function measure(
  { app, meter }: PageContext,
  stream: StreamName,
  isEmpty: boolean,
  { ignored = 0, quality }: TaskResult,
  stored: CommitResult,
): void {
  const labels = { app: app.id, stream }
  const diverged = 'diverged' in stored ? (stored.diverged ?? 0) : 0
  if (stored.outcome !== 'committed') {
    meter.page(labels, stored.outcome)
    if (diverged > 0) meter.divergences(labels, diverged)
    return
  }
  meter.page(labels, isEmpty ? 'empty' : 'committed')
  meter.rows(stored.stored)
  if (diverged > 0) meter.divergences(labels, diverged)
  for (const [reason, letters] of Object.entries(stored.deadLetters))
    meter.deadLetters(labels, reason, letters)
  if (ignored > 0) meter.ignored(labels, ignored)
  if (quality) meter.quality(app.id, quality)
}

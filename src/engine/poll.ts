import type { Failure } from '../provider/errors.ts'
import { ParameterError, type RequestLine, requestLine } from '../provider/operation.ts'
import type { Harvest, Page } from '../streams/stream.ts'
import type { Sent } from './admission.ts'
import type { Place, PollContext } from './context.ts'
import { isolate } from './isolate.ts'
import { measure } from './measure.ts'
import type { Answer, CommitResult, PageCommit, Timing } from './ports.ts'

/**
 * The way of one page: plan, admit, send, parse, rows, commit, measure. A page walks it once and never goes back.
 */
export async function poll(context: PollContext, place: Place): Promise<PollResult> {
  const request = plan(context, place)
  const sent = await admitAndSend(context, request)
  if (sent.outcome !== 'replied') return { outcome: sent.outcome }
  if (!sent.reply.ok) return { outcome: 'failed', failure: sent.reply.failure }
  const { page, looping } = parse(context, place, sent.reply.answer, sent.reply.timing)
  const harvest = context.stream.harvest(page, place.progress.carry)
  const commit = pageCommit(context, place, page, harvest, sent)
  const stored = await isolate(context, place, page, looping ? unending(commit) : commit)
  measure(context, page, stored)
  return { outcome: 'read', page, harvest, commit, stored, looping }
}

export type PollResult =
  | { readonly outcome: 'stopped' | 'fenced' | 'late' }
  | { readonly outcome: 'failed'; readonly failure: Failure }
  | {
      readonly outcome: 'read'
      readonly page: Page
      readonly harvest: Harvest
      readonly commit: PageCommit
      readonly stored: CommitResult
      /** nextId led back to a page of this reading and was not followed. */
      readonly looping: boolean
    }

function plan({ app, stream, series }: PollContext, { cursor }: Place): RequestLine {
  const known: Record<string, string> = { region: app.region, appId: app.id, roomUuid: series }
  const inPath = Object.entries(known).filter(([name]) => name in stream.operation.pathParams)
  const asked = stream.kind === 'feed' ? {} : stream.request(cursor)
  return requestLine(stream.operation, { ...Object.fromEntries(inPath), ...asked })
}

function admitAndSend(
  { app, fence, priority, signal, admission }: PollContext,
  request: RequestLine,
): Promise<Sent> {
  const limit = app.limits[request.operation.limitGroup]
  if (!limit) throw new ParameterError(`no limit is set for group ${request.operation.limitGroup}`)
  return admission.send({ app: app.id, fence, request, limit, priority, signal })
}

function parse(
  { settings, stream, series }: PollContext,
  { cursor, purpose, asked }: Place,
  { body, answeredAt }: Answer,
  { receivedAt }: Timing,
): { readonly page: Page; readonly looping: boolean } {
  const { items, nextId } = stream.read(body)
  const looping = nextId !== undefined && (nextId === cursor || asked.has(nextId))
  const found = { items, nextId: looping ? undefined : nextId }
  const page = { ...found, series, cursor, purpose, answeredAt, receivedAt, settings: settings.harvest }
  return { page, looping }
}

/** A reading that went in a circle has not seen the end: it proves nothing about holes. */
function unending(commit: PageCommit): PageCommit {
  const { holes: _, ...rest } = commit
  return { ...rest, caughtUp: false }
}

function pageCommit(
  { app, stream, series, fence }: PollContext,
  { progress }: Place,
  page: Page,
  harvest: Harvest,
  sent: Sent & { readonly outcome: 'replied' },
): PageCommit {
  const { carry, room, rows, rejects, holes } = harvest
  return {
    ...{ app: app.id, stream: stream.name, series, fence, carry, room, rows, rejects },
    version: progress.version,
    cursor: harvest.follow === 'stay' ? progress.cursor : (page.nextId ?? page.cursor),
    caughtUp: harvest.follow === 'next' && page.nextId === undefined,
    source: stream.source,
    ...(holes ? { holes } : {}),
    ...(sent.grant ? { settles: sent.grant } : {}),
  }
}

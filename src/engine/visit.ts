import type { Failure } from '../provider/errors.ts'
import { redactBytes } from '../provider/redaction.ts'
import type { Hint } from '../streams/stream.ts'
import { type Place, type PollContext, type PollResult, poll } from './poll.ts'
import type { Progress } from './ports.ts'
import { reactions } from './reactions.ts'

/** One visit to a series: pages are read until there is nothing more for now. */
export interface VisitResult {
  readonly end: VisitEnd
  readonly failure?: Failure
  /** Rows that were new to the database. */
  readonly fresh: number
  /** Something listed is still to come. */
  readonly unfinished: boolean
  /** The roomUuid turned out to mean another room now. */
  readonly opened: boolean
  readonly hints: readonly Hint[]
}

/**
 * `done`: read to its end; `gone`: the provider does not know the room; `busy`: someone else moved the series;
 * `looped`: nextId came round again; the others as their names say.
 */
export type VisitEnd = 'done' | 'gone' | 'busy' | 'looped' | 'unverified' | 'failed' | 'stopped' | 'fenced'

/** What a process has learnt of a stream of an app and need not ask again. */
export interface Learnt {
  /** The provider refuses the last nextId once a log has ended, so every reading begins at the beginning. */
  tailRefused: boolean
}

/** Pages of one visit at most: what has no end is continued at the next visit, once the others had their turn. */
const mostPages = { feed: 10, queue: 10_000, snapshot: 10_000 } as const

const nowhere: Progress = { version: 0, cursor: null, carry: null, updatedAt: null }

export async function visit(context: PollContext, learnt: Learnt): Promise<VisitResult> {
  const found = { fresh: 0, unfinished: false, opened: false, hints: [] as Hint[] }
  let place = await begin(context, learnt)

  for (let pages = 0; pages < mostPages[context.stream.kind]; pages++) {
    if (context.signal.aborted) return { end: 'stopped', ...found }
    const result = await poll(context, place)
    if (result.outcome === 'failed' && tailRefused(context, place, result.failure, pages)) {
      learnt.tailRefused = true
      place = rewound(context, place.progress)
      continue
    }
    const end = endOf(result)
    if (end) return { ...(await conclude(context, result, end)), ...found }
    if (result.outcome !== 'read' || result.stored.outcome !== 'committed') break

    const fresh = sum(result.stored.stored)
    found.fresh += fresh
    found.unfinished = result.harvest.unfinished
    found.opened ||= result.harvest.room.kind === 'incarnation' && result.harvest.room.opens
    found.hints.push(...result.harvest.hints)
    if (result.looping) return looped(context, found)
    const next = follow(context, place, result, fresh)
    if (!next) return { end: 'done', ...found }
    place = next
  }
  return { end: 'done', ...found, unfinished: true }
}

/** Where a visit begins: where the last one ended, unless the room must be probed or its log read again. */
async function begin(context: PollContext, learnt: Learnt): Promise<Place> {
  const { store, app, stream, series, fence, settings, clock } = context
  let progress = await store.progress(app.id, stream.name, series)
  if (!progress) {
    await store.follow(fence, app.id, stream.name, series)
    progress = (await store.progress(app.id, stream.name, series)) ?? nowhere
  }
  if (stream.kind !== 'queue') return { progress, cursor: null, purpose: 'read', asked: new Set() }
  if (stream.rereads(progress.carry) || learnt.tailRefused) return rewound(context, progress)
  const silent = progress.updatedAt !== null && clock.now() - progress.updatedAt > settings.roomMemory
  if (silent && progress.cursor !== null)
    return { progress, cursor: null, purpose: 'probe', asked: new Set() }
  return { progress, cursor: progress.cursor, purpose: 'read', asked: new Set() }
}

function rewound({ stream }: PollContext, progress: Progress): Place {
  const carry = stream.kind === 'queue' ? stream.rewind(progress.carry) : progress.carry
  return { progress: { ...progress, cursor: null, carry }, cursor: null, purpose: 'read', asked: new Set() }
}

/** The nextId that ended a log may be refused when it is asked again: then the log is read from its beginning. */
function tailRefused({ stream }: PollContext, place: Place, failure: Failure, pages: number): boolean {
  const refused = failure.kind === 'bad_request' || failure.kind === 'not_found'
  return stream.kind === 'queue' && refused && !isGone(failure) && pages === 0 && place.cursor !== null
}

/** Business code of a classroom that does not exist. */
const NO_SUCH_ROOM = 20404100

function isGone(failure: Failure): boolean {
  return failure.kind === 'not_found' && failure.code === NO_SUCH_ROOM
}

function endOf(result: PollResult): VisitEnd | undefined {
  if (result.outcome === 'failed') return isGone(result.failure) ? 'gone' : 'failed'
  if (result.outcome !== 'read') return result.outcome
  switch (result.stored.outcome) {
    case 'committed':
      return undefined
    case 'stale':
      return 'busy'
    case 'fenced':
    case 'unverified':
      return result.stored.outcome
  }
}

/** The next page of this visit; undefined when there is none for now. */
function follow(
  context: PollContext,
  place: Place,
  result: PollResult & { readonly outcome: 'read' },
  fresh: number,
): Place | undefined {
  const { page, harvest, commit, stored } = result
  if (stored.outcome !== 'committed') return undefined
  const progress = {
    version: stored.version,
    cursor: commit.cursor,
    carry: commit.carry,
    updatedAt: page.receivedAt,
  }
  if (harvest.follow === 'stay') {
    // A matched probe goes on at the tail that it vouches for.
    return place.purpose === 'probe' && commit.cursor !== null
      ? { progress, cursor: commit.cursor, purpose: 'read', asked: new Set() }
      : undefined
  }
  place.asked.add(place.cursor)
  if (page.nextId !== undefined) return { ...place, progress, cursor: page.nextId }
  // A full answer of the feed may have left something behind, unless it only told again what is stored.
  return context.stream.kind === 'feed' && harvest.unfinished && fresh > 0
    ? { ...place, progress }
    : undefined
}

async function looped(
  { app, stream, meter, log }: PollContext,
  found: Omit<VisitResult, 'end'>,
): Promise<VisitResult> {
  meter.page({ app: app.id, stream: stream.name }, 'looped')
  log.error('nextId came round again; the reading stops here and is tried again later', {
    app: app.id,
    stream: stream.name,
  })
  return { ...found, end: 'looped' }
}

async function conclude(
  context: PollContext,
  result: PollResult,
  end: VisitEnd,
): Promise<{ readonly end: VisitEnd; readonly failure?: Failure }> {
  if (result.outcome !== 'failed') return { end }
  const { app, stream, series, store, meter, log } = context
  const { failure } = result
  const labels = { app: app.id, stream: stream.name }
  if (end === 'gone') {
    meter.page(labels, 'gone')
    return { end, failure }
  }
  meter.page(labels, failure.kind)
  log[reactions[failure.kind].level]('a page could not be read', {
    ...labels,
    kind: failure.kind,
    reason: failure.text,
    status: failure.status,
    code: failure.code,
  })
  if (
    failure.body &&
    failure.body.length > 0 &&
    (failure.kind === 'malformed' || failure.kind === 'too_large')
  ) {
    const body = redactBytes(failure.body)
    await store.setAside({ app: app.id, stream: stream.name, series, reason: failure.kind, body })
    meter.deadLetters(labels, failure.kind, 1)
  }
  return { end, failure }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

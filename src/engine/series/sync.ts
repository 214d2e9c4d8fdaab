import type { Failure } from '../../provider/errors.ts'
import type { Hint } from '../../streams/page.ts'
import { isGone, reportFailure } from '../failures.ts'
import { type PollResult, poll } from '../poll-page.ts'
import type { Progress, RoomLife } from '../ports.ts'
import {
  type CursorPage,
  type CursorResult,
  cursorTask,
  type Place,
  type PollContext,
  reportUnaskable,
  standAfter,
  unaskable,
} from './cursor-task.ts'
import type { Heard } from './feed.ts'

/** One sync to a series: pages are read until there is nothing more for now. */
export interface SyncResult {
  readonly end: SyncOutcome
  /** Where it was asked: by now the room may be looked for elsewhere. */
  readonly region: string
  readonly failure?: Failure
  /** Rows that were new to the database. */
  readonly fresh: number
  /** Something listed is still to come. */
  readonly unfinished: boolean
  /** The last page did not tell whose it is. */
  readonly undecided: boolean
  /** The roomUuid turned out to mean another room now. */
  readonly opened: boolean
  /** What the database knew of the room when the sync began. */
  readonly life: RoomLife | undefined
  readonly hints: readonly Hint[]
  /** Nothing of the series had been read before. */
  readonly isFirst: boolean
  /** Pages were read beyond those of the syncs before. */
  readonly isFurther: boolean
  /** A page was read, and what was read tells whose it is. */
  readonly isShown: boolean
}

/**
 * `done`: read to its end; `more`: the others first, then on; a feed has more to tell; `gone`: the provider does not know the room;
 * `unaskable`: its name cannot be sent; `busy`:
 * someone else moved the series; `late`: planned too long before it could be sent; `looped`: nextId came round
 * again; the others as their names say.
 */
type SyncOutcome =
  | 'done'
  | 'more'
  | 'gone'
  | 'unaskable'
  | 'busy'
  | 'late'
  | 'looped'
  | 'unverified'
  | 'failed'
  | 'stopped'
  | 'fenced'

/** What a process has learnt of a stream of an app and need not ask again. */
export interface TailMemory {
  /** How often in a row the provider refused the last nextId of a log. */
  refusedTails: number
  /** Readings that began at the beginning because of that. */
  unaskedTails: number
  /** What each feed told of late. */
  readonly heard: (series: string) => Heard
  /** Where each feed stands after its last page: nobody else moves it, so it is not read again until a sync fails. */
  readonly stands: Map<string, Progress>
}

export interface SyncOptions {
  readonly tailMemory: TailMemory
  /** `doubtful`: the roomUuid may have been given to another room, so the log shows first whose it is. */
  readonly room: 'known' | 'doubtful'
  /**
   * What has been asked in a reading that has begun and not ended, whatever stopped the syncs before. The sync goes on
   * with it and keeps it; empty, there is none.
   */
  readonly asked: Set<string | null>
  /** The nextId at which the log stands is at fault: it is read from its beginning. */
  readonly isStuck?: boolean
  /** What its pages tell of rooms comes to these: also of a sync that throws they must be followed up. */
  readonly hints?: Hint[]
}

/**
 * Pages of one sync at most: then the others have their turn. A feed's page is told to them at once; a list cannot
 * be continued, only begun again.
 */
const mostPages = { feed: 1, log: 200, snapshot: 10_000 } as const

/** A reading that has come this far without an end has none. */
const ENDLESS_PAGES = 10_000

/** After so many refused tails readings begin at the beginning, without asking; */
const REFUSALS_THAT_TEACH = 3
/** but for one in so many: it may have been the nextIds of one moment that were refused. */
const READINGS_UNTIL_ASKED = 50

const nowhere: Progress = { version: 0, cursor: null, streamState: null, certain: false }

export async function syncSeries(context: PollContext, options: SyncOptions): Promise<SyncResult> {
  const { tailMemory } = options
  let place = await begin(context, options)
  const { life } = place.progress
  // A list begins anew each time, however far it was read.
  const isLog = context.stream.kind === 'log'
  const goesOn = isUnderWay(place)
  const found = {
    region: context.app.region,
    ...{ fresh: 0, unfinished: false, undecided: false, opened: false, isFurther: false, isShown: false },
    ...{ life, isFirst: place.progress.version === 0, hints: options.hints ?? [] },
  }
  const why = unaskable(context)
  if (why !== undefined) {
    await reportUnaskable(context, why)
    return { end: 'unaskable', ...found }
  }

  let hasRefusedTail = false
  for (let pages = 0; pages < mostPages[context.stream.kind]; pages++) {
    if (context.signal.aborted) return { end: 'stopped', ...found }
    const result = await poll(context, heeded(cursorTask(context, place, tailMemory.heard), found.hints))
    if (result.outcome === 'failed') {
      const { failure } = result
      const isRefused = isNextIdRefused(context, place, failure)
      if (isRefused && isTail(place)) {
        hasRefusedTail = true
        place = rewound(context, place.progress, place.asked)
        continue
      }
      await reportFailure(context, failure)
      const hasGone = isGone(context.stream, failure)
      // Any other failure is none of the nextId, as far as one can tell: the reading goes on there.
      const isThere = place.cursor !== null || failure.kind !== 'not_found'
      if (isRefused || hasGone || !isThere) place.asked.clear()
      return { end: hasGone ? 'gone' : 'failed', failure, ...found }
    }
    if (result.outcome !== 'read') return { end: result.outcome, ...found }
    const { stored, page, pageResult } = result
    if (stored.outcome === 'stale') return { end: 'busy', ...found }
    if (stored.outcome !== 'committed') return { end: stored.outcome, ...found }

    if (isTail(place)) tailMemory.refusedTails = 0
    // Who refuses the beginning too refuses the room, and not a nextId.
    else if (hasRefusedTail) tailMemory.refusedTails += 1
    hasRefusedTail = false
    const progress = { version: stored.version, ...standAfter(place, page, pageResult), certain: true }
    if (context.stream.kind === 'feed') tailMemory.stands.set(context.series, progress)
    found.fresh += sum(stored.stored)
    found.isFurther ||= isLog && (found.fresh > 0 || (goesOn && place.purpose === 'read'))
    // A log tells at its end, a list on any of its pages.
    const isOfBefore = !isLog && place.cursor !== null && found.unfinished
    found.unfinished = pageResult.unfinished || isOfBefore
    found.undecided = pageResult.isUndecided === true
    found.isShown = !found.undecided
    found.opened ||= pageResult.room.kind === 'incarnation' && pageResult.room.opens
    found.hints.push(...pageResult.hints)
    const hasNoEnd = page.looping || pageResult.isRepeated
    const next = hasNoEnd ? undefined : follow(place, result, progress)
    if (!next) {
      place.asked.clear()
      if (hasNoEnd) return { end: reportLoop(context), ...found }
      return { end: pageResult.holdsBack ? 'more' : 'done', ...found }
    }
    place = next
  }
  if (isLog && place.asked.size < ENDLESS_PAGES) return { end: 'more', ...found }
  place.asked.clear()
  return { end: reportLoop(context), ...found }
}

type CursorTask = ReturnType<typeof cursorTask>

/**
 * Nobody may hear that a page was stored, and no other tells its news: so they are followed up unless it is heard. What they
 * say of the state of a room is not believed before.
 */
function heeded(task: CursorTask, hints: Hint[]): CursorTask {
  const before = hints.length
  return {
    ...task,
    commit: async (page, pageResult, grant) => {
      hints.splice(before, Infinity, ...pageResult.hints.map(({ state: _, ...hint }) => hint))
      const stored = await task.commit(page, pageResult, grant)
      if (stored.outcome === 'committed') hints.length = before
      return stored
    },
  }
}

/** Where a sync begins: where the last one ended, unless the room must be probed or its log read again. */
async function begin(
  context: PollContext,
  { tailMemory, room, asked, isStuck }: SyncOptions,
): Promise<Place> {
  const { store, app, stream, series, fence } = context
  const stands = tailMemory.stands.get(series)
  tailMemory.stands.delete(series)
  let progress = stands ?? (await store.progress(app.id, stream.name, series))
  if (!progress) {
    await store.follow(fence, app.id, stream.name, series)
    progress = (await store.progress(app.id, stream.name, series)) ?? nowhere
  }
  if (stream.kind !== 'log') return start(progress, null, asked)
  const { cursor, certain, wanted } = progress
  if (wanted || isStuck) return rewound(context, progress, asked)
  const isEnded = asked.size === 0
  if (isEnded && stream.rereads(progress.streamState, room)) return rewound(context, progress, asked)
  if (cursor === null) return start(progress, null, asked)
  const isRefused = isEnded && tailMemory.refusedTails >= REFUSALS_THAT_TEACH
  if (isRefused && ++tailMemory.unaskedTails % READINGS_UNTIL_ASKED > 0)
    return rewound(context, progress, asked)
  // The other streams of a room are vouched for by its log.
  const isDoubtful = stream.isParent && (!certain || room === 'doubtful')
  const place = { progress, cursor, purpose: 'read', asked, empty: 0, listed: undefined } as const
  return isDoubtful ? { ...place, cursor: null, purpose: 'probe' } : place
}

/** A reading of its own. */
function start(progress: Progress, cursor: string | null, asked: Place['asked']): Place {
  asked.clear()
  const listed = cursor === null ? 0 : undefined
  return { progress, cursor, purpose: 'read', asked, empty: 0, listed }
}

function rewound({ stream }: PollContext, progress: Progress, asked: Place['asked']): Place {
  const streamState = stream.kind === 'log' ? stream.rewind(progress.streamState) : progress.streamState
  return start({ ...progress, cursor: null, streamState }, null, asked)
}

function isTail(place: Place): boolean {
  return place.cursor !== null && place.purpose === 'read' && !isUnderWay(place)
}

function isUnderWay({ asked }: Place): boolean {
  return asked.size > 0
}

type ReadPage = PollResult<CursorPage, CursorResult> & { readonly outcome: 'read' }

/** The next page of this sync; undefined when there is none for now. */
function follow(place: Place, { page, pageResult }: ReadPage, progress: Progress): Place | undefined {
  const { cursor } = progress
  if (pageResult.isAskedAgain) return { ...place, progress }
  if (pageResult.follow === 'stay') {
    // A matched probe goes on at the tail that it vouches for.
    return place.purpose === 'probe' && cursor !== null && !pageResult.isUndecided
      ? { ...place, progress, cursor, purpose: 'read' }
      : undefined
  }
  // What was asked before was of a log that ended here.
  if (place.cursor === null) place.asked.clear()
  place.asked.add(place.cursor)
  const { nextId, empty, listed } = page
  return nextId === undefined ? undefined : { ...place, progress, cursor: nextId, empty, listed }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

/** Whether a log refuses the nextId. It may refuse the one that ended it: then it is read from its beginning. */
function isNextIdRefused({ stream }: PollContext, { cursor }: Place, failure: Failure): boolean {
  const isRefusal = failure.kind === 'bad_request' || failure.kind === 'not_found'
  return stream.kind === 'log' && cursor !== null && isRefusal && !isGone(stream, failure)
}

/** Counts and says that a reading leads in a circle, backwards, or has no end; answers how the sync ends. */
function reportLoop({ app, stream, meter, log }: PollContext): 'looped' {
  const labels = { app: app.id, stream: stream.name }
  meter.page(labels, 'looped')
  log.error(
    'nextId leads to no end, or to what came before; the reading stops here and is tried again later',
    labels,
  )
  return 'looped'
}

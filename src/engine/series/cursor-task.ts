import { ParameterError, type Parameters, type RequestLine, requestLine } from '../../provider/operation.ts'
import { isLast, type Page, type PageResult, type Reject } from '../../streams/page.ts'
import { digestOf, isObject, lackOf } from '../../streams/parts/items.ts'
import { incarnationOf } from '../../streams/parts/stream-state.ts'
import type { CursorStream } from '../../streams/stream.ts'
import type { Json } from '../../tables/json.ts'
import type { PageContext, Task } from '../context.ts'
import { keepLetter } from '../failures.ts'
import type { Answer, Grant, PageCommit, Progress, Timing } from '../ports.ts'
import type { Heard } from './feed.ts'

/** What reading a page needs of a stream whose pages follow each other. */
export interface PollContext extends PageContext {
  readonly stream: CursorStream
  readonly series: string
  /** Hears when a page is being stored, and when it is no more: another series may ask meanwhile. */
  readonly storing?: (isStoring: boolean) => void
}

/** Where in a series to read. */
export interface Place {
  readonly progress: Progress
  /** nextId to ask with; null is the beginning. */
  readonly cursor: string | null
  readonly purpose: Page['purpose']
  /** What has been asked in this reading: a nextId that is among it leads in a circle. */
  readonly asked: Set<string | null>
  /** Pages without items in a row, up to here. */
  readonly empty: number
  /** Items of the pages up to here; undefined where the reading did not begin with this sync. */
  readonly listed: number | undefined
}

/** A page of a series whose pages follow each other by nextId. */
export interface CursorPage extends Page {
  /** Items up to the end of this page, and pages without any in a row: what is large is stored without its items in hand. */
  readonly listed: number | undefined
  readonly empty: number
  readonly looping: boolean
  /** Of the end of a reading that counts more than was listed. */
  readonly lacking: readonly Reject[]
}

export interface CursorResult extends PageResult {
  /** A feed may have more of the kind waiting. */
  readonly holdsBack: boolean
  /** Digest of what the page of a log told. */
  readonly digest: string | undefined
  /** The page before it was told once more, under the nextId that it gave, or the log runs backwards: it is read from its beginning. */
  readonly isRepeated: boolean
  /** Answers without data in a row, this one included. */
  readonly withoutData: number
  /** The answer told nothing, and the same is asked at once. */
  readonly isAskedAgain: boolean
}

/** A batch may be left without items by chance; so many in a row are not, behind what was the end before. */
const EMPTY_PAGES_AT_THE_END = 5
/** The same where nobody knows yet how far the log goes. */
const EMPTY_PAGES_ON_THE_WAY = 50

/** An answer without data may mean that there is nothing, or be half of one: so many in a row are believed. */
const BELIEVED_WITHOUT_DATA = 3

/**
 * By so much, ms, a provider's clock is believed to be behind ours at most. Classes are dated by it: what was read a minute before
 * one ended is not what it had come to, though its end is told to be earlier.
 */
const MOST_BEHIND_MS = 3_600_000

/** A request that was planned longer ago than this, ms, may ask for what is no longer so. */
const PLAN_LIFE_MS = 60_000

export function cursorTask(
  context: PollContext,
  place: Place,
  heard: (series: string) => Heard,
): Task<CursorPage, CursorResult> {
  const { stream, store } = context
  const answer = stream.kind === 'feed' ? heard(context.series).answer() : undefined
  /** What the whole answer says; parts of it are harvested again where the database refuses one. */
  let isNews: boolean | undefined
  /** When the answer was asked for, ms on the monotonic clock. */
  let askedAt: number | undefined
  let behind = 0
  const isBesideLog = stream.scope === 'room' && !stream.isParent
  const age = isBesideLog ? () => context.clock.monotonic() - (askedAt ?? 0) + behind : undefined
  const holdsBack = ({ told = [] }: PageResult) => {
    isNews ??= stream.kind === 'feed' && heard(context.series).isNews(told)
    return isNews
  }
  return {
    stream: stream.name,
    plan: () => ({ request: plan(context, place), series: context.series, life: PLAN_LIFE_MS }),
    parse: (answer, timing) => {
      askedAt ??= context.clock.monotonic() - timing.elapsed
      behind = behindOf(answer, timing)
      return parse(context, place, answer, timing)
    },
    toRows: page => {
      const { streamState } = place.progress
      const withoutData = withoutDataUpTo(stream, page, streamState)
      if (page.lacksData && withoutData > 0 && withoutData < BELIEVED_WITHOUT_DATA)
        return { ...untold(place, stream), withoutData }
      const digest = digestIn(stream, page)
      const isRepeated = page.looping && digest !== undefined && isToldOnceMore(place, page)
      const isKnown = isRepeated || (isLast(page) && isTold(place, digest))
      const again = isKnown && stream.kind === 'log' ? stream.again?.(streamState) : undefined
      const pageResult = again ?? stream.toRows(page, streamState)
      const rejects = [...pageResult.rejects, ...page.lacking]
      const isAnew = isRepeated || pageResult.isBackwards === true
      const told = { ...pageResult, rejects, digest, isRepeated: isAnew, withoutData, isAskedAgain: false }
      // Where in the log a page lies that came again is not known: what follows would be counted on from a place that is wrong.
      const found = isRepeated ? streamState : pageResult.streamState
      const anew = isAnew && stream.kind === 'log' && { streamState: stream.rewind(found) }
      const rows = answer?.unstored(pageResult.rows) ?? pageResult.rows
      return { ...told, ...anew, rows, holdsBack: holdsBack(pageResult) }
    },
    commit: async (page, pageResult, grant) => {
      context.storing?.(true)
      const stored = answer?.storing()
      try {
        const made = pageCommit(context, place, page, pageResult, grant)
        const result = await store.commit(age ? { ...made, age } : made)
        if (result.outcome === 'committed') stored?.()
        return result
      } finally {
        context.storing?.(false)
      }
    },
    dryRun: (page, pageResult, grant) => store.dryRun(pageCommit(context, place, page, pageResult, grant)),
  }
}

/** How far the clock by which an answer is dated is behind ours, ms: so much it is at most, and 0 where it is ahead. */
function behindOf({ answeredAt }: Answer, { receivedAt }: Timing): number {
  return Math.min(MOST_BEHIND_MS, Math.max(0, receivedAt - (answeredAt ?? receivedAt)))
}

/** Why the series cannot be asked about at all: its name cannot be sent. Undefined where it can. */
export function unaskable(context: PollContext): string | undefined {
  const { stream } = context
  if (stream.scope === 'app') return undefined
  try {
    requestLine(stream.operation, named(context))
    return undefined
  } catch (error) {
    if (error instanceof ParameterError) return error.message
    throw error
  }
}

/** Keeps the name that cannot be sent, once. */
export async function reportUnaskable(context: PollContext, why: string): Promise<void> {
  const { app, stream, series, log } = context
  const labels = { app: app.id, stream: stream.name }
  const body = new TextEncoder().encode(JSON.stringify(series))
  const letter = { ...labels, series, reason: 'bad_request', detail: why, body, alike: 'by body' } as const
  if (!(await keepLetter(context, letter))) return
  log.error('a room cannot be asked about; what the feed tells of it is stored', { ...labels, reason: why })
}

/** Where the series stands after a page. */
export function standAfter(
  { progress }: Place,
  page: CursorPage,
  { follow, streamState, rejects, isUndecided, digest, isRepeated, withoutData }: CursorResult,
): { readonly cursor: string | null; readonly streamState: Json } {
  const counted = withoutData > 0 ? { withoutData } : {}
  if (follow === 'stay') return { cursor: progress.cursor, streamState: beside(streamState, counted) }
  if (isRepeated) return { cursor: null, streamState }
  const isStored = digest !== undefined && !page.looping && !isUndecided
  // What was set aside at the end is tried again.
  const tail = page.nextId === undefined && rejects.length === 0 && { tail: digest! }
  const before = page.nextId !== undefined && { before: `${digest} ${page.items.length}` }
  const known = isStored ? { ...tail, ...before } : {}
  return { cursor: page.nextId ?? page.cursor, streamState: beside(streamState, { ...known, ...counted }) }
}

/** What the engine remembers beside what the stream does. */
function beside(streamState: Json, more: Readonly<Record<string, Json>>): Json {
  if (Object.keys(more).length === 0) return streamState
  return isObject(streamState) ? { ...streamState, ...more } : more
}

/** The end of a listing that has data ends the count; its first pages prove nothing of the page that has none. */
function withoutDataUpTo(
  { kind }: CursorStream,
  { lacksData, nextId }: CursorPage,
  streamState: Json,
): number {
  if (kind === 'feed') return 0
  const before = isObject(streamState) ? Number(streamState.withoutData ?? 0) : 0
  if (lacksData) return Math.min(before + 1, BELIEVED_WITHOUT_DATA)
  return nextId === undefined ? 0 : before
}

/**
 * Of an answer that does not tell what there is: nothing is concluded from it. Where nothing was ever listed it is likely
 * that there is nothing, so it is asked for at once; otherwise when its turn comes, as whatever is wrong may last.
 */
function untold({ cursor, progress }: Place, stream: CursorStream): Omit<CursorResult, 'withoutData'> {
  const { streamState } = progress
  const hasListed = stream.kind === 'snapshot' && stream.hasListed?.(streamState) === true
  return {
    ...{ digest: undefined, isRepeated: false, holdsBack: false },
    isAskedAgain: cursor === null && progress.cursor === null && !hasListed,
    ...{ rows: {}, rejects: [], hints: [], streamState },
    room: { kind: 'incarnation', incarnation: incarnationOf(streamState), opens: false },
    follow: 'stay',
    isUndecided: true,
    unfinished: true,
  }
}

/**
 * The last page of a log is read again and again, and tells the same most often. A digest of it is kept with the progress, so
 * that nothing is made of it then, nor compared: whoever moves the series otherwise leaves no digest, or another version.
 * Before the end it is that of the page before, which shows where a nextId leads back to the page that gave it: items of
 * widgets have no number, and would be stored once more. Events of a room have one.
 */
function digestIn(stream: CursorStream, { items, nextId, purpose }: CursorPage): string | undefined {
  if (stream.kind !== 'log' || !stream.again || purpose !== 'read') return undefined
  return nextId !== undefined && stream.isParent ? undefined : digestOf(items)
}

/** Whether the last page tells what it told before. */
function isTold(place: Place, digest: string | undefined): boolean {
  return digest !== undefined && digest === keptOf(place).tail
}

/** Whether the page begins with all that the one before it told: more may have come to it meanwhile. */
function isToldOnceMore(place: Place, { items }: CursorPage): boolean {
  const { before } = keptOf(place)
  const [digest, count] = typeof before === 'string' ? before.split(' ') : []
  return digest !== undefined && digest === digestOf(items.slice(0, Number(count)))
}

/** What is remembered beside the stream's own state of the place that is asked for. */
function keptOf({ progress: { cursor, streamState }, cursor: asked }: Place): {
  readonly [name: string]: Json | undefined
} {
  return asked === cursor && isObject(streamState) ? streamState : {}
}

function plan(context: PollContext, { cursor }: Place): RequestLine {
  const { stream } = context
  const asked = stream.kind === 'feed' ? {} : stream.request(cursor)
  return requestLine(stream.operation, { ...named(context), ...asked })
}

/** What the path names. */
function named({ app, stream, series }: Pick<PollContext, 'app' | 'stream' | 'series'>): Parameters {
  const known: Parameters = { region: app.region, appId: app.id, roomUuid: series }
  return Object.fromEntries(Object.entries(known).filter(([name]) => name in stream.operation.pathParams))
}

function parse(
  { settings, stream, series }: PollContext,
  place: Place,
  { body, answeredAt }: Answer,
  { receivedAt }: Timing,
): CursorPage {
  const { items, nextId, total, lacksData } = stream.read(body)
  const { cursor, purpose, asked } = place
  // Pages without items in a row, this one included.
  const empty = items.length === 0 ? place.empty + 1 : 0
  // Some logs end with a page that names itself, or a new one each time: what comes later will be found there.
  const isFromBeginning = cursor === null || asked.has(null)
  const mostEmpty = isFromBeginning ? EMPTY_PAGES_ON_THE_WAY : EMPTY_PAGES_AT_THE_END
  const isEnd = nextId === undefined || (empty > 0 && nextId === cursor) || empty >= mostEmpty
  const isCircle = cursor !== null && (nextId === cursor || asked.has(nextId ?? null))
  const looping = !isEnd && (isCircle || !nextId.isWellFormed())
  // Players are counted by their stream, and events of a feed by nobody.
  const listed = place.listed === undefined ? undefined : place.listed + items.length
  const isAll = stream.scope === 'room' && isEnd && listed !== undefined
  const lacking = isAll ? lackOf(total, listed, 'total') : []
  const found = {
    ...{ items, nextId: isEnd || looping ? undefined : nextId, total, lacksData },
    ...{ listed, empty, looping, lacking },
  }
  const isUnderWay = asked.size > 0
  return { ...found, series, cursor, purpose, isUnderWay, answeredAt, receivedAt, settings: settings.reading }
}

/** A reading that went in a circle has not seen the end: it proves nothing about holes. */
function pageCommit(
  { app, stream, series, fence }: PollContext,
  place: Place,
  page: CursorPage,
  pageResult: CursorResult,
  grant: Grant | undefined,
): PageCommit {
  const { room, rows, rejects, holes, isUndecided } = pageResult
  return {
    ...{ app: app.id, region: app.region, stream: stream.name, series, fence, room, rows, rejects },
    ...standAfter(place, page, pageResult),
    version: place.progress.version,
    caughtUp: pageResult.follow === 'next' && isLast(page) && !pageResult.holdsBack && !pageResult.isRepeated,
    source: stream.source,
    ...(isUndecided && { isUndecided }),
    ...(holes && !page.looping ? { holes } : {}),
    ...(grant ? { settles: grant } : {}),
  }
}

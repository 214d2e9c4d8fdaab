/** Moments of a calendar, ms since the epoch. */
export interface Moments {
  /** The first one later than this. */
  next(after: number): number
}

/** How often something is asked. */
export interface Pace {
  /** From one time to the next, ms; where it has moments, at most. */
  readonly every: number
  readonly moments?: Moments | undefined
}

/** Whoever is woken for a moment may be so much too early by another clock, ms: there is one a minute at most. */
const EARLY_MS = 30_000

/** ms from `now` (since the epoch) to the next time. */
export function pauseOf({ every, moments }: Pace, now: number): number {
  return moments ? moments.next(now + EARLY_MS) - now : every
}

/** How often a series is synced, ms. */
export interface Cadence {
  /** While something happens. */
  readonly activeEvery: number
  /** While nothing does: intervals grow twofold from activeEvery up to this. */
  readonly idleEvery: number
  /** How long after a room's end the provider still knows it. */
  readonly memory: number
  /** When it is synced, whatever happens; the intervals are the longest ones between them then. */
  readonly moments?: Moments | undefined
}

export interface SeriesState {
  /** Visits in a row that found nothing new. */
  readonly quiet: number
  /** When the room ended, ms since the epoch; undefined while it is open. */
  readonly endedAt: number | undefined
  /** `log`: the log of the room itself; `told`: events say when there is something new; `untold`: nothing does. */
  readonly news: 'log' | 'told' | 'untold'
}

export interface Finding {
  readonly news: boolean
  /** How quiet it has been since the latest news: what is read for the first time may be old. 0 where nothing is said. */
  readonly quiet?: number
  /** Something listed is still to come: do not wait for the longest interval. */
  readonly unfinished: boolean
}

type NextSync =
  | { readonly kind: 'sync'; readonly after: number; readonly quiet: number }
  | { readonly kind: 'close' }

/** What is unfinished is read again after at most 2 to the power of this times its shortest interval; */
const UNFINISHED_QUIET = 3

/** the log of a class that is over sooner: it has no new holes any more, and two readings settle those that it has. */
const UNFINISHED_LOG_QUIET = 1

/** After so many syncs in a row that found nothing new a class that is over has told everything, but for its log. */
const SETTLED_QUIET = 2

/** Share of the provider's memory after which the last sync to an ended room is made. */
const LAST_SYNC = 0.9

/**
 * When to sync next. An open room is synced at growing intervals that start over with every news; an ended one
 * likewise, with one last sync shortly before the provider forgets it, and then no more. What events tell of needs no more
 * than a rare look, and what is over is left to its log once it is settled. `chance` in [0, 1) spreads the syncs by a tenth.
 */
export function nextSync(
  cadence: Cadence,
  state: SeriesState,
  finding: Finding,
  now: number,
  chance: number,
): NextSync {
  const quiet = nextQuiet(state, finding)
  const isRare = state.news === 'told' && !finding.unfinished
  const grown = isRare ? cadence.idleEvery : growingInterval(cadence, quiet)
  const interval = cadence.moments ? nextTurn(cadence, now) : spread(grown, chance)
  if (state.endedAt === undefined) return { kind: 'sync', after: interval, quiet }
  const left = state.endedAt + cadence.memory * LAST_SYNC - now
  if (left <= 0) {
    return lastLooks(cadence, state, finding, { left: state.endedAt + cadence.memory - now, interval, quiet })
  }
  const isSettled = state.news !== 'log' && !finding.unfinished && quiet >= SETTLED_QUIET
  return { kind: 'sync', after: isSettled ? left : Math.min(interval, left), quiet }
}

/**
 * In how many ms a series is read next that another process read `ago` ms ago, where its log told since that nothing happened:
 * when that process would have read it, if it is as quiet as can be; else 0. `chance` as in nextSync.
 */
export function restOf(cadence: Cadence, quiet: number, ago: number, chance: number): number {
  const isIdle = growingInterval(cadence, quiet) >= cadence.idleEvery
  if (cadence.moments || !isIdle) return 0
  return Math.max(0, spread(cadence.idleEvery, chance) - ago)
}

function spread(interval: number, chance: number): number {
  return interval * (0.95 + chance / 10)
}

/** ms to the next sync of a series in which something happens. */
export function nextTurn({ activeEvery: every, moments }: Cadence, now: number): number {
  return pauseOf({ every, moments }, now)
}

/**
 * What is in doubt near its end, or has something to come, is read again for as long as the provider may know it: a log at
 * once, a list when it would have been.
 */
function lastLooks(
  { activeEvery }: Cadence,
  { news }: SeriesState,
  { unfinished }: Finding,
  { left, interval, quiet }: { readonly left: number; readonly interval: number; readonly quiet: number },
): NextSync {
  if (!unfinished || left <= 0) return { kind: 'close' }
  return { kind: 'sync', after: Math.min(news === 'log' ? activeEvery : interval, left), quiet }
}

/** ms to the next sync after so many in a row that found nothing new. */
function growingInterval({ activeEvery, idleEvery }: Cadence, quiet: number): number {
  return Math.min(idleEvery, activeEvery * 2 ** Math.min(quiet, 30))
}

/** No feed is silent to us for longer than this share of the provider's memory of a room. */
const FEED_SHARE = 1 / 10

/** Nothing may be left alone for longer than this, ms, or the provider may have forgotten what came meanwhile. */
export function longestPause(of: 'feed' | 'room', memory: number): number {
  return memory * (of === 'feed' ? FEED_SHARE : LAST_SYNC)
}

/** Hours of the week in which something is to be expected, in UTC; 0 is that from Monday 00:00 on. */
export type WeekHours = ReadonlySet<number>

const HOUR_MS = 3_600_000

/** A feed goes at its usual pace this long before such an hour begins, ms. */
const AHEAD_MS = 300_000

/**
 * When a feed that told all there was is asked next: ever later while it tells nothing, at its usual pace once it does,
 * and in the hours in which it is expected to. `now` in ms since the epoch.
 */
export function nextFeed(cadence: Cadence, quiet: number, now: number, busy?: WeekHours): number {
  if (cadence.moments) return nextTurn(cadence, now)
  const idleEvery = Math.min(cadence.idleEvery, longestPause('feed', cadence.memory), untilBusy(now, busy))
  return growingInterval({ ...cadence, idleEvery: Math.max(cadence.activeEvery, idleEvery) }, quiet)
}

/** ms until something is to be expected; no feed pauses for longer than an hour. */
function untilBusy(now: number, busy: WeekHours | undefined): number {
  const hour = Math.floor(now / HOUR_MS)
  if (busy?.has(hourOfWeek(hour))) return 0
  return busy?.has(hourOfWeek(hour + 1)) ? (hour + 1) * HOUR_MS - AHEAD_MS - now : Infinity
}

/** Of an hour since the epoch, which was a Thursday. */
function hourOfWeek(hour: number): number {
  return (hour + 3 * 24) % (7 * 24)
}

function nextQuiet(state: SeriesState, finding: Finding): number {
  if (finding.news) return finding.quiet ?? 0
  if (!finding.unfinished) return state.quiet + 1
  const isOver = state.news === 'log' && state.endedAt !== undefined
  return Math.min(state.quiet + 1, isOver ? UNFINISHED_LOG_QUIET : UNFINISHED_QUIET)
}

/** How soon a series is synced after a hint: at once for a hole or where it was never read, else when it is its turn. */
export function hintedDelay(
  cadence: Cadence,
  change: 'news' | 'hole' | 'ended',
  known: 'known' | 'new',
  now: number,
): number {
  return change === 'hole' || known === 'new' ? 0 : nextTurn(cadence, now)
}

/** What is remembered of the holes in its events that a feed told of a room; ms. */
export interface HoleNews {
  /** Before this time no other one is followed at once. */
  readonly until: number
  readonly wait: number
}

/**
 * Whether the log of a room is read at once where the feed tells of a hole, and what is remembered of that. Some providers number
 * with holes, and some feeds tell the same again and again: then the log has nothing to add, and is read at once ever more
 * seldom, up to the time for which the provider knows a room, and otherwise as on any other news. Where no hole was told of for as
 * long as the last wait, the next one is the first again. `now` in ms on the clock of `before`.
 */
export function hearHole(
  { activeEvery, memory }: Cadence,
  before: HoleNews | undefined,
  now: number,
): HoleNews & { readonly isAtOnce: boolean } {
  if (before && now < before.until) return { ...before, isAtOnce: false }
  const goesOn = before !== undefined && now - before.until <= before.wait
  const wait = goesOn ? Math.min(2 * before.wait, memory) : Math.min(activeEvery, memory)
  return { until: now + wait, wait, isAtOnce: true }
}

/** How many syncs in a row would have found nothing, had a series been synced since its last news, `ms` ago. */
export function quietSince(activeEvery: number, ms: number): number {
  return ms <= activeEvery ? 0 : Math.floor(Math.log2(ms / activeEvery))
}

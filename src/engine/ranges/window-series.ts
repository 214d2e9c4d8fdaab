import { intersect, type Range } from '../../planning/ranges.ts'
import { halve } from '../../planning/windows.ts'

/** One window may be overfull by chance; from so many in a row on they are planned shorter. */
const OVERFULL_TEACHES = 2

/** What fails while others are answered may do so by chance; so often in a row it is the question itself. */
const ALONE_TEACHES = 2

/** Of more windows that could not be read one after the other it is the provider that cannot be read. */
const MOST_PARTS = 8

/** Of the last so many that could not be read is known how often each was asked for. */
const MOST_ASKED = 4 * MOST_PARTS

/** After so many windows that were not overfull, longer ones are tried. */
const WELL_TEACHES = 16

/** What a process remembers of a series of a window stream between readings. All times on the monotonic clock, ms. */
export type SeriesState = ReturnType<typeof newSeries>

/** `at`: now, on the monotonic clock, ms. `revisitEvery`: the settings', ms. */
export function newSeries(at: number, revisitEvery = 0) {
  return {
    isBusy: false,
    /** When the newest data are asked for again. */
    liveAt: at,
    /** When what is still going on is looked at again. */
    revisitAt: at,
    /** How far this round of looking again has come, Unix seconds; 0 before its beginning. */
    revisitedTo: 0,
    /** When what was not served is asked for again, and how long after the round before it. */
    repairAt: at + revisitEvery,
    repairEvery: revisitEvery,
    /** How far this round of asking again has come, Unix seconds; 0 before its beginning. */
    repairedTo: 0,
    askedAt: 0,
    /** Nothing is asked before. */
    notBefore: at,
    failures: 0,
    /** The question itself failed last: until it is answered, asking it is repair. */
    isFailing: false,
    /** How many answers its group had had when it failed last as the whole group may; undefined when it did not. */
    answersBefore: undefined as number | undefined,
    /** How often in a row it failed so although others of the group were answered since the time before. */
    failedAlone: 0,
    /** It was tried as one that is well since it last was, because another one of the app was answered again. */
    wasTrusted: false,
    /** Halves of windows that held more than is listed, or could not be read, still to be read. */
    parts: [] as Range[],
    /** The window whose answer could not be read last, until something of it is read. */
    spoilt: undefined as Range | undefined,
    /** The last windows whose answers could not be read, each as often as it was asked for. */
    asked: [] as Range[],
    /** Something was read since a window was last parted because it could not be read. */
    readBeside: true,
    /** Parts that could not be read either, in a row. */
    unreadableParts: 0,
    /** Longest window that is planned, seconds; shrinks where windows overflow again and again. */
    longest: Number.POSITIVE_INFINITY,
    /** Windows in a row that held more than is listed, and that did not. */
    overfull: 0,
    well: 0,
  }
}

/** A window was read to its end. */
export function noteWhole(state: SeriesState, range: Range): void {
  state.readBeside = true
  if (touches(state.spoilt, range)) state.spoilt = undefined
  const wasPart = dropPart(state, range)
  if (wasPart) return
  state.overfull = 0
  state.well += 1
  if (state.well < WELL_TEACHES) return
  state.longest *= 2
  state.well = 0
}

/**
 * A question that failed is answered again: what ailed the others of the app may be over too. Each of them is
 * tried as one that is well, once until it is.
 */
export function trustSeries(series: Iterable<SeriesState>, at: number): void {
  for (const state of series) {
    if (!state.isFailing || state.wasTrusted) continue
    state.isFailing = false
    state.wasTrusted = true
    state.failures = 0
    state.notBefore = at
  }
}

/** How often in a row a question failed as its whole group may, and what others were answered meanwhile. */
export type FailedAsGroup = Pick<SeriesState, 'answersBefore' | 'failedAlone'>

/**
 * It failed as the whole group may, which has had `answers` by now: whether it is known to fail by itself. In an outage
 * nobody is answered, so that no question is blamed for it.
 */
export function noteFailedAsGroup(state: FailedAsGroup, answers: number): boolean {
  if (state.answersBefore !== undefined && answers > state.answersBefore) state.failedAlone += 1
  state.answersBefore = answers
  return state.failedAlone >= ALONE_TEACHES
}

/** Whether it failed as the whole group may and nobody was answered since: what others ask may tell more. */
export function isBehindOthers(
  { isFailing, answersBefore }: Pick<SeriesState, 'isFailing' | 'answersBefore'>,
  answers: number,
): boolean {
  return !isFailing && answersBefore === answers
}

/** It is answered: nothing ails it. Answers whether it had failed by itself. */
export function noteAnswered(state: SeriesState): boolean {
  const wasFailing = state.isFailing
  state.failures = 0
  state.isFailing = false
  state.answersBefore = undefined
  state.failedAlone = 0
  state.wasTrusted = false
  return wasFailing
}

/** A window held more than the provider lists: its halves are read instead. `step`: shortest window, seconds. */
export function noteOverfull(state: SeriesState, range: Range, step: number): void {
  const wasPart = partWindow(state, range, step)
  if (wasPart) return
  state.well = 0
  state.overfull += 1
  if (state.overfull >= OVERFULL_TEACHES)
    state.longest = Math.max(step, Math.floor((range.to - range.from) / 2))
}

/** The answer about a window was malformed: whether that is so again, whatever was answered about others in between. */
export function isMalformedAgain(state: SeriesState, range: Range): boolean {
  const isAgain = state.failures > 1 || touches(state.spoilt, range)
  state.spoilt = range
  state.asked = [range, ...state.asked].slice(0, MOST_ASKED)
  return isAgain
}

/**
 * The answer about a window was malformed again. Where a part of the range is what spoils it, the rest can be read: it is
 * parted, and a part is parted further only once something else was read. Where nothing can be read, it is the
 * provider, and the window is asked for whole again. `spoilt`: this step can never be read, though others can.
 */
export function noteMalformed(state: SeriesState, range: Range, step: number): 'asked again' | 'spoilt' {
  const isPart = state.parts.some(part => isSame(part, range))
  const isStep = range.to - range.from <= step
  // What was asked for beside it may have spoilt the answers before.
  const timesAlone = state.asked.filter(one => isSame(one, range)).length
  if (isPart && !state.readBeside) {
    state.unreadableParts += 1
    dropPart(state, range)
    // Where it is the only one left, what is asked for beside it will tell.
    const isHopeless = state.parts.length > 0 && state.unreadableParts > state.parts.length
    state.parts = isHopeless ? [] : [...state.parts, range]
    return 'asked again'
  }
  if (isPart && isStep) return timesAlone > 1 ? 'spoilt' : 'asked again'
  if (!isPart && state.parts.length > 0) {
    // It has its turn as one of the parts, and what is newer still is asked for beside it.
    state.parts = state.parts.length < MOST_PARTS ? [...state.parts, range] : []
    return 'asked again'
  }
  partWindow(state, range, step)
  // What is asked for next is another question, and something was read since this one was a part.
  if (state.readBeside) state.failures = 1
  state.readBeside = false
  state.unreadableParts = 0
  return 'asked again'
}

/**
 * The answer about a window is larger than is taken: its halves are read instead. `spoilt`: it is a single step, which was
 * too much just before as well.
 */
export function noteTooLarge(state: SeriesState, range: Range, step: number): 'asked again' | 'spoilt' {
  const isStep = range.to - range.from <= step
  const isAgain = state.spoilt !== undefined && isSame(state.spoilt, range)
  state.spoilt = range
  if (isStep) return isAgain ? 'spoilt' : 'asked again'
  state.readBeside = false
  noteOverfull(state, range, step)
  return 'asked again'
}

/** A window has so many pages that it leaves what may be asked for before they are read: shorter ones are planned. */
export function noteTooLong(state: SeriesState, range: Range, step: number): void {
  dropPart(state, range)
  state.well = 0
  state.longest = Math.max(step, Math.floor((range.to - range.from) / 2))
}

/** Whether it was a part itself. Parts are read one after the other to their ends, so that the list stays short. */
function partWindow(state: SeriesState, range: Range, step: number): boolean {
  const wasPart = dropPart(state, range)
  state.parts.unshift(...(halve(range, step) ?? []))
  return wasPart
}

function dropPart(state: SeriesState, range: Range): boolean {
  const before = state.parts.length
  state.parts = state.parts.filter(part => !isSame(part, range))
  return state.parts.length < before
}

/** Whether they have a second in common. */
export function touches(a: Range | undefined, b: Range): boolean {
  return a !== undefined && intersect([a], [b]).length > 0
}

function isSame(a: Range, b: Range): boolean {
  return a.from === b.from && a.to === b.to
}

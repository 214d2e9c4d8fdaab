import { pauseOf } from '../../planning/cadence.ts'
import { backlogOf } from '../../planning/coverage.ts'
import {
  between,
  ceilTo,
  intersect,
  type Range,
  type Ranges,
  subtract,
  union,
} from '../../planning/ranges.ts'
import type { Purpose } from '../../planning/shares.ts'
import { expiryOf, frameOf, halve, planWindow, type WindowRules } from '../../planning/windows.ts'
import type { WindowSettings } from '../../streams/stream.ts'
import type { WindowProgress } from '../ports.ts'

/** One window may be overfull by chance; from so many in a row on they are planned shorter. */
const OVERFULL_TEACHES = 2

/** What fails while others are answered may do so by chance; so often in a row it is the question itself. */
const ALONE_TEACHES = 2

/** Of more windows that could not be read one after the other it is the provider that cannot be read. */
const MOST_PARTS = 8

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
  return isAgain
}

/**
 * The answer about a window was malformed again. Where a part of the range is what spoils it, the rest can be read: it is
 * parted, and a part is parted further only once something else was read. Where nothing can be read, it is the
 * provider, and the window is asked for whole again. `spoilt`: this step can never be read, though others can.
 */
export function noteMalformed(state: SeriesState, range: Range, step: number): 'asked again' | 'spoilt' {
  const isPart = state.parts.some(part => isSame(part, range))
  if (isPart && !state.readBeside) {
    state.unreadableParts += 1
    dropPart(state, range)
    // Where it is the only one left, what is asked for beside it will tell.
    const isHopeless = state.parts.length > 0 && state.unreadableParts > state.parts.length
    state.parts = isHopeless ? [] : [...state.parts, range]
    return 'asked again'
  }
  if (isPart && range.to - range.from <= step) return 'spoilt'
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

function touches(a: Range | undefined, b: Range): boolean {
  return a !== undefined && intersect([a], [b]).length > 0
}

function isSame(a: Range, b: Range): boolean {
  return a.from === b.from && a.to === b.to
}

/** A window of a series that may be asked for now. */
export interface Offer {
  readonly purpose: Purpose
  readonly range: Range
  /** When the oldest of its backlog can no longer be had, Unix seconds. */
  readonly expiresAt: number
}

interface OfferContext {
  readonly progress: WindowProgress
  readonly state: SeriesState
  readonly rules: WindowRules
  readonly settings: WindowSettings
  /** The provider's clock, Unix seconds. */
  readonly now: number
  /** Our monotonic clock, ms. */
  readonly at: number
}

/** When nothing is new the newest data are looked for again after this, ms, at the earliest. */
const NOTHING_NEW_MS = 20_000

/** What was not served is asked for again at least once in this share of the time for which it is available. */
const LONGEST_ROUND = 0.25

/** What may be asked of a series now; a purpose that has nothing to do is put off. */
export function offersOf(context: OfferContext): readonly Offer[] {
  const { progress, state, rules, now } = context
  const askable = frameOf(rules, now)
  const backlog = backlogOf(progress, askable)
  const urgent = subtract(backlog, progress.missing)
  const offer = (purpose: Purpose, range: Range): Offer => {
    // Only the backlog is lost when it expires; what was not served never hurries another series.
    const first = intersect(urgent, [range])[0] ?? { from: range.to, to: range.to }
    return { purpose, range, expiresAt: expiryOf(rules, first) }
  }
  state.parts = partsLeft(state, backlog, askable.lowerBound)
  const part = state.parts.find(({ to }) => to <= askable.upperBound)
  const planned = purposesNow(context).flatMap(purpose => {
    const range = plan(context, purpose)
    if (!range) putOff(context, purpose)
    return range ? [offer(purpose, range)] : []
  })
  const newest = planned.find(({ purpose }) => purpose === 'live')?.range
  if (part) {
    const beside = newerThanParts(state, newest).map(range => offer('live', range))
    const isApart = ({ purpose, range }: Offer) =>
      purpose === 'backfill' && !state.parts.some(each => touches(each, range))
    const apart = [...beside, ...planned.filter(isApart)]
    // What is newer is wanted soonest, and tells whether anything can be read: it goes first, unless it failed last.
    const isNewerFirst = !state.readBeside && beside.some(({ range }) => !touches(state.spoilt, range))
    return isNewerFirst ? apart : [offer('repair', part), ...apart]
  }
  // What lies beside the newest window grows with it until that is read: it would be asked for bit by bit.
  return planned.filter(({ purpose, range }) => purpose !== 'backfill' || range.to !== newest?.from)
}

/** As much as a question asks for that is to tell the time alone, seconds; a whole value at least. */
const TO_TELL_TIME = 60

/**
 * The newest of a series that may be asked for, though nothing of it is wanted. A process that was ended when all was read
 * has nothing to ask for until its successor knows the provider's clock, which only an answer tells. `told`: the rules
 * by which something would be wanted at once.
 */
export function timeOfferOf(context: OfferContext, told: WindowRules): Offer | undefined {
  const { rules, progress, state, now, at } = context
  const { lowerBound, upperBound } = frameOf(rules, now)
  const from = Math.max(lowerBound, upperBound - ceilTo(TO_TELL_TIME, rules.step))
  if (at < state.liveAt || from < progress.backlogFrom || from >= upperBound) return undefined
  if (!plan({ ...context, rules: told }, 'live')) return undefined
  const range = { from, to: upperBound }
  return { purpose: 'live', range, expiresAt: expiryOf(rules, { from: upperBound, to: upperBound }) }
}

/** In how many ms a series may have something to ask for that it has not now. */
export function waitOf({ isBusy, notBefore, liveAt, revisitAt, repairAt }: SeriesState, at: number): number {
  if (isBusy) return Number.POSITIVE_INFINITY
  return Math.min(...[notBefore, liveAt, revisitAt, repairAt].filter(time => time > at)) - at
}

function purposesNow({ state: { liveAt, revisitAt, repairAt }, at }: OfferContext): readonly Purpose[] {
  const live = at >= liveAt ? (['live'] as const) : []
  const revisit = at >= revisitAt ? (['revisit'] as const) : []
  const repair = at >= repairAt ? (['repair'] as const) : []
  return [...live, ...revisit, ...repair, 'backfill']
}

function plan(context: OfferContext, purpose: Purpose): Range | undefined {
  const { rules, progress, state, settings, now, at } = context
  const roundTo = { live: 0, backfill: 0, revisit: state.revisitedTo, repair: state.repairedTo }[purpose]
  const known = settings.moments && at < state.liveAt ? untilRead(progress) : progress
  return planWindow(rules, onwards(known, roundTo), now, purpose, state.longest)
}

/** There is nothing to do for a purpose: when to look again. */
function putOff({ state, rules, settings, progress, now, at }: OfferContext, purpose: Purpose): void {
  if (purpose === 'live') {
    const next = frameOf(rules, now).upperBound + rules.step + rules.dataDelay + rules.margin.end - now
    const pause = pauseOf(settings, now * 1_000)
    state.liveAt = at + (settings.moments ? pause : Math.min(pause, Math.max(NOTHING_NEW_MS, next * 1_000)))
  }
  if (purpose === 'revisit') {
    // The round is over; the next one begins with the oldest again.
    state.revisitAt = at + (settings.revisitEvery ?? pauseOf(settings, now * 1_000))
    state.revisitedTo = 0
  }
  if (purpose === 'repair') {
    // What was not served is less and less likely to be.
    const isServed = progress.missing.length === 0
    const { revisitEvery = settings.every } = settings
    const longest = Math.max(revisitEvery, rules.availableData * 1_000 * LONGEST_ROUND)
    state.repairEvery = isServed ? revisitEvery : Math.min(longest, state.repairEvery * 2)
    state.repairAt = at + state.repairEvery
    state.repairedTo = 0
  }
}

/** Progress without what this round has looked at again: a call that never ends must not keep it at its beginning. */
function onwards(progress: WindowProgress, roundTo: number): WindowProgress {
  return { ...progress, lost: union(progress.lost, between(progress.backlogFrom, roundTo)) }
}

/** Progress without what came since the newest data were read: that waits for its moment. */
function untilRead(progress: WindowProgress): WindowProgress {
  const read = Math.max(...[...progress.seen, ...progress.covered].map(({ to }) => to))
  return { ...progress, lost: union(progress.lost, between(read, Number.MAX_SAFE_INTEGER)) }
}

/**
 * What of a part has left the reach nobody asks for; the rest of it can be read all the same. One that was read before is
 * asked for once more where it is to tell whether anything can be read.
 */
function partsLeft({ parts, readBeside }: SeriesState, backlog: Ranges, lowerBound: number): Range[] {
  const isOwed = (part: Range) => intersect(backlog, [part]).length > 0
  const left = parts.flatMap(part => intersect([part], between(lowerBound, Number.MAX_SAFE_INTEGER)))
  return left.some(isOwed) ? left.filter(part => !readBeside || isOwed(part)) : []
}

/** What is newer than all halves that wait: it is asked for beside them, as is older backlog that has none of them. */
function newerThanParts({ parts }: SeriesState, newest: Range | undefined): readonly Range[] {
  if (!newest) return []
  const from = Math.max(newest.from, ...parts.map(({ to }) => to))
  return from < newest.to ? [{ from, to: newest.to }] : []
}

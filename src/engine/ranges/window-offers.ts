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
import { expiryOf, frameOf, planWindow, type WindowRules } from '../../planning/windows.ts'
import type { WindowSettings } from '../../streams/stream.ts'
import type { WindowProgress } from '../ports.ts'
import { type SeriesState, touches } from './window-series.ts'

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

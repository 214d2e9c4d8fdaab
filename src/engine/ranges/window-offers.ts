import { owed } from '../../planning/coverage.ts'
import { between, intersect, type Range, subtract, union } from '../../planning/ranges.ts'
import type { Purpose } from '../../planning/shares.ts'
import { expiryOf, frameOf, planWindow, type WindowRules } from '../../planning/windows.ts'
import type { WindowProgress } from '../ports.ts'
import type { WindowSettings } from '../settings.ts'
import type { SeriesState } from './window-series.ts'

/** A window of a series that may be asked for now. */
export interface Offer {
  readonly purpose: Purpose
  readonly range: Range
  /** When the oldest of what is owed in it can no longer be had, Unix seconds. */
  readonly expiresAt: number
}

export interface OfferContext {
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
  const stillOwed = owed(progress, askable)
  const urgent = subtract(stillOwed, progress.missing)
  const offer = (purpose: Purpose, range: Range): Offer => {
    // What is not owed costs nothing when it goes, and what is not served goes before nothing else.
    const first = intersect(urgent, [range])[0] ?? { from: range.to, to: range.to }
    return { purpose, range, expiresAt: expiryOf(rules, first) }
  }
  state.parts = state.parts.filter(part => intersect(stillOwed, [part]).length > 0)
  const part = state.parts.find(({ from, to }) => from >= askable.upperBound && to <= askable.lowerBound)
  const planned = purposesNow(context).flatMap(purpose => {
    const range = plan(context, purpose)
    if (!range) putOff(context, purpose)
    return range ? [offer(purpose, range)] : []
  })
  const newest = planned.find(({ purpose }) => purpose === 'live')?.range
  if (part)
    return [offer('repair', part), ...newerThanParts(state, newest).map(range => offer('live', range))]
  // What lies beside the newest window grows with it until that is read: it would be asked for bit by bit.
  return planned.filter(({ purpose, range }) => purpose !== 'backfill' || range.to !== newest?.from)
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

function plan({ rules, progress, state, now }: OfferContext, purpose: Purpose): Range | undefined {
  const roundTo = { live: 0, backfill: 0, revisit: state.revisitedTo, repair: state.repairedTo }[purpose]
  return planWindow(rules, onwards(progress, roundTo), now, purpose, state.longest)
}

/** There is nothing to do for a purpose: when to look again. */
function putOff({ state, rules, settings, progress, now, at }: OfferContext, purpose: Purpose): void {
  if (purpose === 'live') {
    const next = frameOf(rules, now).lowerBound + rules.step + rules.dataDelay + rules.margin.end - now
    state.liveAt = at + Math.min(settings.every, Math.max(NOTHING_NEW_MS, next * 1_000))
  }
  if (purpose === 'revisit') {
    // The round is over; the next one begins with the oldest again.
    state.revisitAt = at + settings.revisitEvery
    state.revisitedTo = 0
  }
  if (purpose === 'repair') {
    // What was not served is less and less likely to be.
    const isServed = progress.missing.length === 0
    const longest = Math.max(settings.revisitEvery, rules.availableData * 1_000 * LONGEST_ROUND)
    state.repairEvery = isServed ? settings.revisitEvery : Math.min(longest, state.repairEvery * 2)
    state.repairAt = at + state.repairEvery
    state.repairedTo = 0
  }
}

/** Progress without what this round has looked at again: a call that never ends must not keep it at its beginning. */
function onwards(progress: WindowProgress, roundTo: number): WindowProgress {
  return { ...progress, lost: union(progress.lost, between(progress.owedFrom, roundTo)) }
}

/** Where halves wait, only what is newer than all of them is asked for beside. */
function newerThanParts({ parts }: SeriesState, newest: Range | undefined): readonly Range[] {
  if (!newest) return []
  const from = Math.max(newest.from, ...parts.map(({ to }) => to))
  return from < newest.to ? [{ from, to: newest.to }] : []
}

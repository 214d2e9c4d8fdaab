import type { Range } from '../../planning/ranges.ts'
import { halve } from '../../planning/windows.ts'

/** What a process remembers of a series of a window stream between readings. All times on the monotonic clock, ms. */
export interface SeriesState {
  isBusy: boolean
  /** When the newest data are asked for again. */
  liveAt: number
  /** When what is still going on is looked at again. */
  revisitAt: number
  /** How far this round of looking again has come, Unix seconds; 0 before its beginning. */
  revisitedTo: number
  /** When what was not served is asked for again, and how long after the round before it. */
  repairAt: number
  repairEvery: number
  /** How far this round of asking again has come, Unix seconds; 0 before its beginning. */
  repairedTo: number
  /** Nothing is asked before. */
  notBefore: number
  failures: number
  /** The question itself failed last: until it is answered, asking it is repair. */
  isFailing: boolean
  /** It was tried as one that is well since it last was, because another one of its stream was answered again. */
  wasTrusted: boolean
  /** Halves of windows that held more than is listed, or could not be read, still to be read. */
  parts: Range[]
  /** Something was read since a window was last parted because it could not be read. */
  readBeside: boolean
  /** Parts that could not be read either, in a row. */
  unreadableParts: number
  /** Longest window that is planned, seconds; shrinks where windows overflow again and again. */
  longest: number
  /** Windows in a row that held more than is listed, and that did not. */
  overfull: number
  well: number
}

/** One window may be overfull by chance; from so many in a row on they are planned shorter. */
const OVERFULL_TEACHES = 2

/** After so many windows that were not overfull, longer ones are tried. */
const WELL_TEACHES = 16

/** `at`: now, on the monotonic clock, ms. `revisitEvery`: the settings', ms. */
export function newSeries(at: number, revisitEvery = 0): SeriesState {
  return {
    isBusy: false,
    liveAt: at,
    revisitAt: at,
    revisitedTo: 0,
    repairAt: at + revisitEvery,
    repairEvery: revisitEvery,
    repairedTo: 0,
    notBefore: at,
    failures: 0,
    isFailing: false,
    wasTrusted: false,
    parts: [],
    readBeside: true,
    unreadableParts: 0,
    longest: Number.POSITIVE_INFINITY,
    overfull: 0,
    well: 0,
  }
}

/** A window was read to its end. */
export function noteWhole(state: SeriesState, range: Range): void {
  state.readBeside = true
  const wasPart = dropPart(state, range)
  if (wasPart) return
  state.overfull = 0
  state.well += 1
  if (state.well < WELL_TEACHES) return
  state.longest *= 2
  state.well = 0
}

/**
 * A question that failed is answered again: what ailed the others of its stream may be over too. Each of them is
 * tried as one that is well, once until it is.
 */
export function trustOthers(others: Iterable<SeriesState>, at: number): void {
  for (const state of others) {
    if (!state.isFailing || state.wasTrusted) continue
    state.isFailing = false
    state.wasTrusted = true
    state.failures = 0
    state.notBefore = at
  }
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

/**
 * The answer about a window was malformed. Where a part of the range is what spoils it, the rest can be read: it is
 * parted, and a part is parted further only once something else was read. Where nothing can be read, it is the
 * provider, and the window is asked for whole again. `spoilt`: this step can never be read, though others can.
 */
export function noteMalformed(state: SeriesState, range: Range, step: number): 'asked again' | 'spoilt' {
  const isPart = state.parts.some(part => isSame(part, range))
  if (isPart && !state.readBeside) {
    state.unreadableParts += 1
    dropPart(state, range)
    const isHopeless = state.unreadableParts > state.parts.length
    state.parts = isHopeless ? [] : [...state.parts, range]
    return 'asked again'
  }
  if (isPart && range.to - range.from <= step) return 'spoilt'
  if (!isPart && state.parts.length > 0) return 'asked again'
  partWindow(state, range, step)
  state.readBeside = false
  state.unreadableParts = 0
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

function isSame(a: Range, b: Range): boolean {
  return a.from === b.from && a.to === b.to
}

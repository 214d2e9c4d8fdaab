import type { Range } from '../planning/range.ts'
import { halve } from '../planning/windows.ts'

/** What a process remembers of a series of a window stream between readings. All times on the monotonic clock, ms. */
export interface SeriesState {
  isBusy: boolean
  /** When the newest data are asked for again. */
  liveAt: number
  /** When what is still going on is looked at again. */
  revisitAt: number
  /** How far this round of looking again has come, Unix seconds; 0 before its beginning. */
  revisitedTo: number
  /** Nothing is asked before. */
  notBefore: number
  failures: number
  /** Halves of windows that held more than is listed, still to be read. */
  parts: Range[]
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

/** `at`: now, on the monotonic clock, ms. */
export function newSeries(at: number): SeriesState {
  return {
    isBusy: false,
    liveAt: at,
    revisitAt: at,
    revisitedTo: 0,
    notBefore: at,
    failures: 0,
    parts: [],
    longest: Number.POSITIVE_INFINITY,
    overfull: 0,
    well: 0,
  }
}

/** A window was read to its end. */
export function noteWhole(state: SeriesState, range: Range): void {
  const wasPart = dropPart(state, range)
  if (wasPart) return
  state.overfull = 0
  state.well += 1
  if (state.well < WELL_TEACHES) return
  state.longest *= 2
  state.well = 0
}

/** A window held more than the provider lists: its halves are read instead. `step`: shortest window, seconds. */
export function noteOverfull(state: SeriesState, range: Range, step: number): void {
  const wasPart = dropPart(state, range)
  const halves = halve(range, step)
  // One after the other to its end, so that the list of parts stays short.
  if (halves) state.parts.unshift(...halves)
  if (wasPart) return
  state.well = 0
  state.overfull += 1
  if (state.overfull >= OVERFULL_TEACHES)
    state.longest = Math.max(step, Math.floor((range.to - range.from) / 2))
}

/** A window has so many pages that it leaves what may be asked for before they are read: shorter ones are planned. */
export function noteTooLong(state: SeriesState, range: Range, step: number): void {
  dropPart(state, range)
  state.well = 0
  state.longest = Math.max(step, Math.floor((range.to - range.from) / 2))
}

function dropPart(state: SeriesState, range: Range): boolean {
  const before = state.parts.length
  state.parts = state.parts.filter(part => part.from !== range.from || part.to !== range.to)
  return state.parts.length < before
}

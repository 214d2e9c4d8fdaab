import type { Span, Timeline } from '../../engine/ports.ts'

/** What became of a stretch of time, from the best to the worst; the worst that it holds stands for it. */
const cellStates = ['absent', 'complete', 'reading', 'waiting', 'lost'] as const
export type CellState = (typeof cellStates)[number]

export const cellTexts: Readonly<Record<CellState, string>> = {
  complete: 'complete',
  reading: 'being read',
  waiting: 'waiting',
  lost: 'lost',
  absent: 'not available',
}

/** Stretches that a ribbon is divided into. */
export const cells = 96

/** How the reading of a stream of one app stands at the moment. */
export interface Standing {
  /** Unix seconds of the last page; null before the first. */
  readonly readAt: number | null
  /** Later than its alert allows, or failing. */
  readonly isLate: boolean
}

/** The states of the stretches of a span of one stream of one app; all in Unix seconds. */
export function cellsOf(timeline: Timeline, standing: Standing, [from, to]: Span): readonly CellState[] {
  const length = (to - from) / cells
  return Array.from({ length: cells }, (_, n) =>
    stateOf(timeline, standing, [from + n * length, from + (n + 1) * length], to),
  )
}

function stateOf(timeline: Timeline, standing: Standing, [from, to]: Span, now: number): CellState {
  const { begins, isByTime, complete, seen, waiting, lost } = timeline
  if (touches(lost, from, to)) return 'lost'
  if (begins === null || to <= begins) return 'absent'
  const start = Math.max(from, begins)
  if (isByTime) {
    if (covers(complete, start, to)) return 'complete'
    if (covers(seen, start, to)) return 'reading'
    // What is newer was not served yet when the stream was read last; only what has come since can wait.
    const newest = seen.at(-1)?.[1] ?? begins
    const served = standing.isLate ? newest + (now - (standing.readAt ?? begins)) : newest
    if (start >= served) return 'absent'
    if (start < newest && covers(seen, start, Math.min(to, newest))) return 'reading'
    return 'waiting'
  }
  if (touches(waiting, from, to)) return 'waiting'
  if (standing.readAt === null) return 'waiting'
  if (standing.isLate && to > standing.readAt) return 'waiting'
  return to >= now ? 'reading' : 'complete'
}

/** One ribbon for several apps: the worst of each stretch. */
export function worstOf(ribbons: readonly (readonly CellState[])[]): readonly CellState[] {
  return Array.from({ length: cells }, (_, n) => {
    const worst = Math.max(0, ...ribbons.map(ribbon => cellStates.indexOf(ribbon[n]!)))
    return cellStates[worst]!
  })
}

/** Stretches that follow each other in one state, with their begin and length in stretches. */
export function runsOf(ribbon: readonly CellState[]) {
  const runs: { state: CellState; from: number; length: number }[] = []
  ribbon.forEach((state, n) => {
    const last = runs.at(-1)
    if (last?.state === state) last.length += 1
    else runs.push({ state, from: n, length: 1 })
  })
  return runs
}

/** The same in words, for those who do not see it. */
export function ribbonText(ribbon: readonly CellState[]): string {
  const shares = cellStates
    .map(state => ({ state, count: ribbon.filter(each => each === state).length }))
    .filter(({ count }) => count > 0)
  return shares
    .map(({ state, count }) => `${cellTexts[state]} ${Math.round((count / cells) * 100)} %`)
    .join(', ')
}

function touches(spans: readonly Span[], from: number, to: number): boolean {
  return spans.some(([a, b]) => a < to && b > from)
}

function covers(spans: readonly Span[], from: number, to: number): boolean {
  return from >= to || spans.some(([a, b]) => a <= from + 1 && b >= to - 1)
}

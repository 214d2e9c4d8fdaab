import type { Examination } from './examination.ts'
import { Rule } from './rows.ts'

/** When something may have been, ms since the epoch by the clock of the world; both bounds included. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What is dated by our clock is dated by that of the process which saw it; they differ, and are set. */
export type OurClocks = ReturnType<typeof ourClocks>

const right = [{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, ahead: 0 }]

export function ourClocks({ clocks = right }: Pick<Examination, 'clocks'>) {
  /** When one of our clocks may have shown this time. */
  function momentsOf(shown: unknown): readonly Span[] {
    if (typeof shown !== 'number') return []
    return clocks.flatMap(({ from, to, ahead }) => {
      const moment = shown - ahead
      return from <= moment && moment <= to ? [{ from: moment, to: moment }] : []
    })
  }

  /** The same of a time that was put off until after another one, where our clock showed no later one. */
  function momentsAfter(shown: unknown, before: unknown): readonly Span[] {
    if (typeof shown !== 'number' || shown !== Number(before) + 1) return momentsOf(shown)
    return clocks.flatMap(({ from, to, ahead }) => {
      return from <= shown - ahead ? [{ from, to: Math.min(to, shown - ahead) }] : []
    })
  }

  return {
    momentsOf,
    momentsAfter,
    /** A time that one of our clocks showed between these moments. */
    between: (from: number, to: number): Rule =>
      new Rule(`a time of our clocks within ${from} and ${to}`, value =>
        momentsOf(value).some(moment => from <= moment.from && moment.to <= to),
      ),
  }
}

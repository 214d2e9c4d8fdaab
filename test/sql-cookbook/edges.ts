import type { ViewMutant } from './mutants.ts'

/** What a school never comes to, or not in a day and a half: rows made by hand, and what must be said of them. */
export interface Edge {
  readonly about: string
  /** Statements that make the rows. */
  readonly rows: string
  readonly cases: readonly Case[]
  /** Mistakes that the cases must find. */
  readonly mutants: readonly ViewMutant[]
}

export interface Case {
  readonly name: string
  /** Statements that come to pass before the question, for this case only. */
  readonly meanwhile?: string
  readonly query: string
  readonly expected: readonly (readonly unknown[])[]
}

/** Sunday, 1 March 2026: everything that is asked about is past. */
export const now = '2026-03-01 12:00Z'

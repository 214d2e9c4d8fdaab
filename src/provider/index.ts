import { analyticsOperations } from './analytics/index.ts'
import { classroomOperations } from './classroom/index.ts'
import type { Family, Operation } from './operation.ts'
import { playerOperations } from './players/index.ts'

const documented = [...classroomOperations, ...analyticsOperations, ...playerOperations] as const
type Documented = (typeof documented)[number]

/** The twenty-eight operations of the three documents, family by family and in the order of the documents. */
export const allOperations: readonly Operation[] = documented

export type Operations = {
  readonly [F in Family]: {
    readonly [O in Extract<Documented, { readonly family: F }> as O['name']]: O
  }
}

/** The same by family and name. */
export const operations = Object.fromEntries(
  Object.entries(Object.groupBy(allOperations, ({ family }) => family)).map(([family, all]) => [
    family,
    Object.fromEntries(all.map(operation => [operation.name, operation])),
  ]),
) as unknown as Operations

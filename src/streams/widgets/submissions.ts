import type { WidgetFold } from './widget-carry.ts'

/** Questions whose submissions are still counted; one that old has ended long ago. */
const questionsRemembered = 8

/** How often each user has answered each question: tells a submission from one that replaces it. */
export type SubmissionCounts = Map<string, Map<string, number>>

/** The counts as a carry keeps them, to count on. */
export function recallCounts(stored: WidgetFold['submissions']): SubmissionCounts {
  return new Map(stored.map(([question, users]) => [question, new Map(users)]))
}

/** The counts for the carry. */
export function storeCounts(counts: SubmissionCounts): WidgetFold['submissions'] {
  return [...counts].map(([question, users]) => [question, [...users]])
}

/** Number of this submission among those of the user to the question, from 0; counts it. */
export function nextOrdinal(counts: SubmissionCounts, question: string, user: string): number {
  const users = counts.get(question) ?? new Map<string, number>()
  const ordinal = users.get(user) ?? 0
  users.set(user, ordinal + 1)
  counts.delete(question)
  counts.set(question, users)
  for (const oldest of counts.keys()) {
    if (counts.size <= questionsRemembered) break
    counts.delete(oldest)
  }
  return ordinal
}

import { parseHttpDate } from './http-date.ts'

/** The longest wait that an answer may impose, in seconds: after it, one more try costs little. */
export const longestRetryAfter = 3_600

const wholeSeconds = /^\d{1,20}$/

/**
 * How long an answer asks us to wait, in seconds from 0 to `longestRetryAfter`; undefined where it says
 * nothing readable (a word, a negative number). `now` is the provider's clock in ms, which a date is relative to.
 */
export function retryAfterSeconds(header: string | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (wholeSeconds.test(text)) return Math.min(Number(text), longestRetryAfter)
  const at = parseHttpDate(text)
  if (at === undefined) return undefined
  return Math.min(Math.max(0, Math.ceil((at - now) / 1_000)), longestRetryAfter)
}

import { z } from 'zod'
import { EventRecord } from '../../provider/classroom/index.ts'

/** What has been learned of a widget's log up to the beginning of a page. */
const WidgetFold = z.object({
  /** How many items came before the page. */
  position: z.int().min(0),
  /** The quiz or poll last started: later summaries may name none. */
  question: z.string().nullable(),
})
export type WidgetFold = z.infer<typeof WidgetFold>

export const WidgetState = z.object({
  incarnation: z.int().min(1).default(1),
  /** State before the page at the stored cursor; null while that is the beginning. */
  fold: WidgetFold.nullable().default(null),
  /** Highest position that has been read. */
  seen: EventRecord.shape.sequence.nullable().default(null),
  /** The log has been read to its end: what comes after `seen` on the last page is new. */
  caughtUp: z.boolean().default(false),
  /** What was known at the stored cursor is lost: the log must be read from its beginning. */
  lost: z.boolean().default(false),
})
export type WidgetState = z.infer<typeof WidgetState>

export const beginning: WidgetFold = { position: 0, question: null }

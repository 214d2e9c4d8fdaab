import { z } from 'zod'
import { EventRecord } from '../../provider/classroom/index.ts'

const Sequence = EventRecord.shape.sequence

/** What has been learned of a log up to the beginning of a page. */
const LogFold = z.object({
  /** Latest of the provider's own times so far. */
  lastTime: z.string().nullable(),
  lastSequence: Sequence.nullable(),
  /** The recording last started: a stop names none. */
  recordId: z.string().nullable(),
  holes: z.array(z.tuple([Sequence, Sequence]).readonly()).readonly(),
})
export type LogFold = z.infer<typeof LogFold>

/** First events of a log as [sequence, cmd, own time, and where there is none a hash of the data]. */
const Fingerprint = z
  .array(
    z.tuple([Sequence, z.int32(), z.string().nullable(), z.string().nullable().default(null)]).readonly(),
  )
  .readonly()

export const LogState = z.object({
  incarnation: z.int().min(1).default(1),
  /** By these a room is known again. */
  fingerprint: Fingerprint.default([]),
  /** What the pages read since the beginning have shown of them. */
  begun: Fingerprint.default([]),
  /** They are not those of the room that is known: the log must be read from its beginning, which opens another. */
  isOther: z.boolean().default(false),
  /** State before the page at the stored cursor; null while that is the beginning. */
  fold: LogFold.nullable().default(null),
  /** Highest sequence that has been read. */
  seen: Sequence.nullable().default(null),
  /** The log has been read to its end: what comes after `seen` on the last page is new. */
  caughtUp: z.boolean().default(false),
  /** What was known at the stored cursor is lost: the log must be read from its beginning. */
  lost: z.boolean().default(false),
  /** A reading from the beginning is under way. */
  rereading: z.boolean().default(false),
  /** Holes that complete readings have shown, as [from, to, readings]. */
  tally: z
    .array(z.tuple([Sequence, Sequence, z.int()]).readonly())
    .readonly()
    .default([]),
  /** Too many holes: the numbering of this log is not dense, and holes in it mean nothing. */
  sparse: z.boolean().default(false),
})
export type LogState = z.infer<typeof LogState>

export const beginning: LogFold = { lastTime: null, lastSequence: null, recordId: null, holes: [] }

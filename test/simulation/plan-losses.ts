import { askedBy, openMinutes } from './oracle/open.ts'
import { limitsOf } from './plan-limits.ts'
import type { Examination } from './plan-oracle.ts'

/** What is about to leave the reach goes before all else, so that this many minutes in a row are enough for it. */
const ENOUGH = 15

const minute = 60

interface Loss {
  readonly what: string
  readonly app: string
  readonly stream: string
  /** Unix seconds. */
  readonly from: number
  readonly to: number
}

/**
 * Gaps of calls and their details, by stream, reason and state, of which nothing could be had for long enough: who
 * starts in an hour in which less is served loses what leaves the reach before the whole of it is served again.
 */
export async function unavoidableLosses(examination: Examination): Promise<Readonly<Record<string, number>>> {
  const losses = await examination.database.rows<Loss>(
    `select stream || ' ' || reason || ' ' || state as what, app_id as app, stream,
            extract(epoch from range_from)::float8 as from, extract(epoch from range_to)::float8 as to
     from ingest.gap where state = 'lost' and reason = 'expired' and stream like 'call%'`,
  )
  const found: Record<string, number> = {}
  for (const loss of losses) {
    if (wasHad(examination, loss)) continue
    found[loss.what] = (found[loss.what] ?? 0) + 1
  }
  return found
}

/** Whether some of it could be had long enough: of calls any minute, of details all of them at once. */
function wasHad(examination: Examination, { app, stream, from, to }: Loss): boolean {
  if (stream !== 'calls') return isHad(examination, { app, stream, from, to })
  for (let at = from; at < to; at += minute) {
    if (isHad(examination, { app, stream, from: at, to: Math.min(at + minute, to) })) return true
  }
  return false
}

function isHad(examination: Examination, { app, stream, from, to }: Omit<Loss, 'what'>): boolean {
  const { plans, start } = examination
  const { operation, group } = askedBy[stream]!
  let inRow = 0
  return openMinutes(examination, app, operation, limitsOf(plans[app], group)!).some((open, n) => {
    const time = start / 1_000 + n * minute
    // Through the whole of the minute.
    const isOpen = open && time > to + open.dataDelay && time + minute < from + open.availableData
    inRow = isOpen ? inRow + 1 : 0
    return inRow >= ENOUGH
  })
}

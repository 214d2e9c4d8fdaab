import { between, intersect, type Ranges, subtract, union } from './ranges.ts'

/** What is known of the past of a series; all in Unix seconds. */
export interface Coverage {
  /** From here on everything is backlog until it is covered or lost; what is before was never asked for. */
  readonly backlogFrom: number
  /** Read, and final. */
  readonly covered: Ranges
  /** Read at least once; some of it may still change. */
  readonly seen: Ranges
  /** Given up, so that it stands in the gap ledger; or not asked for at the time, which is no backlog. */
  readonly lost: Ranges
  /** Asked for when it should have been served, and not in the answer; seen, and in the backlog until it is served. */
  readonly missing: Ranges
  /** To be read once more because someone asked for it. */
  readonly wanted: Ranges
}

/** What can be asked for now, Unix seconds. */
export interface Frame {
  /** Earliest `from`: what is before has expired. */
  readonly lowerBound: number
  /** Latest `to`: what is after is not served yet. */
  readonly upperBound: number
}

/** What has to be read, or read again because it is not final, and can be asked for now. */
export function backlogOf(coverage: Coverage, frame: Frame): Ranges {
  return union(unsettled(coverage, frame), wantedIn(coverage, frame))
}

/** The backlog without what someone wants once more. */
export function unsettled(
  { backlogFrom, covered, lost }: Coverage,
  { lowerBound, upperBound }: Frame,
): Ranges {
  return subtract(subtract(between(Math.max(backlogFrom, lowerBound), upperBound), covered), lost)
}

/** What of the backlog was never read, or is wanted once more. */
export function unread(coverage: Coverage, frame: Frame): Ranges {
  return union(subtract(unsettled(coverage, frame), coverage.seen), wantedIn(coverage, frame))
}

/** What was read, is not final, and neither missing nor wanted for another reason. */
export function provisional(coverage: Coverage, frame: Frame): Ranges {
  const again = subtract(intersect(unsettled(coverage, frame), coverage.seen), coverage.wanted)
  return subtract(again, coverage.missing)
}

/** What was asked for and not served, and may be asked for again. */
export function unserved(coverage: Coverage, frame: Frame): Ranges {
  return intersect(unsettled(coverage, frame), coverage.missing)
}

/** What of the backlog lies before the lower bound: it can never be had any more. */
export function expired({ backlogFrom, covered, lost }: Coverage, lowerBound: number): Ranges {
  return subtract(subtract(between(backlogFrom, lowerBound), covered), lost)
}

function wantedIn({ wanted }: Coverage, { lowerBound, upperBound }: Frame): Ranges {
  return intersect(wanted, between(lowerBound, upperBound))
}

/** From a moment on, ms since the epoch, the clocks of a time zone are so many hours ahead of UTC. */
export interface Turn {
  readonly from: number
  readonly hours: number
}

const hour = 3_600_000

/** How many hours ahead of UTC it is at a moment, ms since the epoch: none where nothing is said. */
export function hoursAhead(turns: readonly Turn[], at: number): number {
  return turns.findLast(({ from }) => from <= at)?.hours ?? 0
}

/** What the clocks show at a moment, as if they were those of UTC. */
export function clockAt(turns: readonly Turn[], at: number): number {
  return at + hoursAhead(turns, at) * hour
}

/** When the clocks show this for the first time. */
export function momentOf(turns: readonly Turn[], shown: number): number {
  const offsets = turns.length === 0 ? [0] : turns.map(({ hours }) => hours)
  return Math.min(...offsets.map(hours => shown - hours * hour).filter(at => clockAt(turns, at) === shown))
}

/** The same as `clockAt` of an SQL expression. */
export function clockInSql(turns: readonly Turn[], at: string): string {
  const cases = turns.toReversed().map(({ from, hours }) => `when ${at} >= ${moment(from)} then ${hours}`)
  const hours = cases.length === 0 ? '0' : `case ${cases.join(' ')} else 0 end`
  return `((${at} at time zone 'UTC') + (${hours}) * interval '1 hour')`
}

function moment(at: number): string {
  return Number.isFinite(at) ? `to_timestamp(${at / 1_000})` : `'-infinity'::timestamptz`
}

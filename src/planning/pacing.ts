import type { Purpose } from './shares.ts'

/** A budget that is to be spread over its window, as the group's longest rate says. */
export interface PacedBudget {
  /** Requests that a window allows. */
  readonly requests: number
  /** Length of the window, ms. */
  readonly window: number
  /** Questions that one round of all series has, of whoever shares the budget. */
  readonly series: number
}

/** How much of the longest window of a limit group is used. */
interface BudgetState extends Spent {
  /** What `Ledger.lastingPace` said; null when nothing counts. */
  readonly lasting: number | null
}

/** What the ledger counts of it. */
export interface Spent {
  /** Requests that still count. */
  readonly used: number
  /** In how many ms the oldest of them stops counting; null when there is none. */
  readonly freesIn: number | null
  /** Requests debited, by whoever, in the last ms that were asked for, as `lookBack` says. */
  readonly recent: number
  /** Requests that were ever debited; they are numbered without gaps. */
  readonly total: number
  /** Ms since the last of them, by whoever; null when there is none. */
  readonly sinceLast: number | null
}

/**
 * Requests that may be sent now, in two buckets that fill with time. What is in `common` goes to whoever's turn it
 * is; `spare` is kept for what is new, so that it need not wait after a long backfill, and its last part for repairs.
 */
export interface Pace {
  readonly common: number
  readonly spare: number
  /** When it was measured, ms on a monotonic clock. */
  readonly at: number
  /** Requests that had ever been debited then. */
  readonly total: number
}

/** What may be sent in one go after a quiet time, but for repairs: what anyone may have of it, and what is kept for new data. */
interface Buckets {
  readonly common: number
  readonly forNew: number
}

/** Share of a budget that may be sent in one go, where a round of all series is no more. */
const BURST_SHARE = 0.05

/** Most of a budget that may be sent in one go, and most of that which anyone may have. */
const MOST_AT_ONCE = 0.5
const MOST_COMMON = 0.8

/** What comes to it for repairs, as a share of it. */
const REPAIR_SHARE = 0.1

/** What of the filling goes to the spare bucket until it is full. */
const SPARE_SHARE = 0.05

/**
 * The pace that lasts leaves nothing when the slowest hour is over; so much more than it is spent, and made up for when what
 * is left is looked at again, or all of a day would be a hundredth below what it allows.
 */
const ABOVE_LASTING = 1.05

/** Shares of a budget that are not touched by an even spending, by what is past, and by what is new. */
const LEFT_BY_PACE = 0.01
const LEFT_BY_PAST = 0.005
const LEFT_BY_LIVE = 0.0025

/**
 * Requests that may be sent in one go: a twentieth of the budget, or a round of all series and half as many for new
 * data, and three at least; never more than half of the budget. Half of it is for anyone, and a whole round where that
 * leaves something for new data: at a first start the oldest of each series waits to be read, and all of it expires at
 * the same moment.
 */
export function bucketsOf({ requests, series }: PacedBudget): Buckets {
  const wanted = Math.max(requests * BURST_SHARE, series * 1.5, 3)
  const burst = Math.max(1, Math.min(requests * MOST_AT_ONCE, wanted))
  const common = Math.max(1, burst / 2, Math.min(series, burst * MOST_COMMON))
  return { common, forNew: burst - common }
}

/**
 * In how many ms each series has been asked once that goes before new data, from full buckets on: what they do not
 * hold waits for the filling, which is slower for what went in one go.
 */
export function timeOfRound(budget: PacedBudget): number {
  const { common, spare } = sizesOf(budget)
  const { requests, window, series } = budget
  const left = Math.max(1, requests * (1 - LEFT_BY_PACE) - common - spare)
  return (Math.max(0, series - Math.floor(common)) * window) / (left * (1 - SPARE_SHARE))
}

/** Over how many ms the ledger must count what is recent: as long as both buckets take to fill. */
export function lookBack(budget: PacedBudget): number {
  const { common, spare } = sizesOf(budget)
  return ((common + spare) / budget.requests) * budget.window
}

/**
 * The buckets at `now` (ms, monotonic). They only know what the ledger counted, so they are right whoever spends.
 * New ones take all of the recent debits off, so that starting again wins nothing; they are as much smaller as they fill
 * slower where little is left, or each start would spend at once what has to last.
 */
export function measurePace(
  budget: PacedBudget,
  pace: Pace | undefined,
  spending: BudgetState,
  now: number,
): Pace {
  const { recent, total } = spending
  const sizes = sizesOf(budget)
  if (pace === undefined) {
    const full = Math.max(0, 1 - recent / (sizes.common + sizes.spare)) * slowness(budget, spending)
    return { common: sizes.common * full, spare: sizes.spare * full, at: now, total }
  }
  const filling = Math.max(0, now - pace.at) * fillRate(budget, spending)
  const kept = Math.min(filling * SPARE_SHARE, sizes.spare - pace.spare)
  const common = Math.min(sizes.common, pace.common + filling - kept)
  const spare = Math.min(sizes.spare, pace.spare + filling - (common - pace.common))
  const left = drain(common, spare, total - pace.total)
  const least = total > pace.total ? filledSinceLast(budget, spending, now - pace.at) : 0
  return { ...left, common: Math.max(left.common, Math.min(sizes.common, least)), at: now, total }
}

/**
 * What filled since the last request, which came within the last `within` ms: whoever asked had a whole one to spend, so
 * that no less is there in any process. Otherwise the buckets of two processes would each keep their own beginning, and
 * the one that is ahead would have every request.
 */
function filledSinceLast(budget: PacedBudget, spending: BudgetState, within: number): number {
  const since = Math.max(0, Math.min(spending.sinceLast ?? 0, within))
  return since * fillRate(budget, spending) * (1 - SPARE_SHARE)
}

/** In how many ms a request for this purpose may be sent; 0 is now. Measure again after it. */
export function waitFor(budget: PacedBudget, pace: Pace, spending: BudgetState, purpose: Purpose): number {
  const left = budget.requests - spending.used - leftAtLast(budget, purpose)
  const untilFree = left >= 1 ? 0 : (spending.freesIn ?? 0)
  return Math.max(untilFree, untilFilled(budget, pace, spending, purpose))
}

function untilFilled(budget: PacedBudget, pace: Pace, spending: BudgetState, purpose: Purpose): number {
  const common = untilOne(pace.common, fillRate(budget, spending) * (1 - SPARE_SHARE))
  switch (purpose) {
    case 'repair':
      return pace.spare >= 1 ? 0 : common
    case 'live':
      return pace.spare >= 1 + forRepair(budget) ? 0 : common
    case 'revisit':
    case 'backfill':
      return common
  }
}

/** Rounded up past the errors of the arithmetic, so that the time waited for is enough. */
function untilOne(level: number, rate: number): number {
  const missing = 1 - level
  return missing <= 1e-9 ? 0 : Math.ceil(missing / rate)
}

/** Whole requests from the common bucket while it has them, the others from the spare one; no debts are made. */
function drain(common: number, spare: number, requests: number): Pick<Pace, 'common' | 'spare'> {
  const fromCommon = Math.min(requests, Math.floor(common + 1e-9))
  return { common: common - fromCommon, spare: Math.max(0, spare - (requests - fromCommon)) }
}

/** What is left of the buckets when some requests are debited that were begun and that the ledger has not heard of yet. */
export function withoutBegun(pace: Pace, begun: number): Pace {
  return { ...pace, ...drain(pace.common, pace.spare, begun) }
}

/** Requests of the budget that an even spending touches. */
export function spendable(requests: number): number {
  return requests - Math.floor(requests * LEFT_BY_PACE)
}

/**
 * Requests a ms at which the buckets fill: evenly over the window, and slower when what is left must last until
 * the oldest request stops counting, or until any later one does: what comes free may come in one go, before hours in which
 * nothing does since nothing was sent then. So what was spent in one go is missing everywhere a little instead of
 * at the end altogether. The request that becomes free then is ready to be sent at that moment.
 */
function fillRate({ requests, window }: PacedBudget, { used, freesIn, lasting }: BudgetState): number {
  const even = requests / window
  if (freesIn === null) return even
  const left = spendable(requests) - used
  const untilFree = (Math.max(0, left) + 1) / Math.max(1, freesIn)
  return Math.min(even, untilFree, lasting === null ? even : lasting * ABOVE_LASTING)
}

/** The rate at which the buckets fill, as a share of the even one. */
function slowness(budget: PacedBudget, spending: BudgetState): number {
  return (fillRate(budget, spending) * budget.window) / budget.requests
}

function leftAtLast({ requests }: PacedBudget, purpose: Purpose): number {
  switch (purpose) {
    case 'repair':
      return 0
    case 'live':
      return Math.floor(requests * LEFT_BY_LIVE)
    case 'revisit':
    case 'backfill':
      return Math.floor(requests * LEFT_BY_PAST)
  }
}

/** The spare bucket holds what is kept for new data and something for repairs. */
function sizesOf(budget: PacedBudget): Pick<Pace, 'common' | 'spare'> {
  const { common, forNew } = bucketsOf(budget)
  return { common, spare: forNew + forRepair(budget) }
}

function forRepair(budget: PacedBudget): number {
  const { common, forNew } = bucketsOf(budget)
  return Math.max(1, (common + forNew) * REPAIR_SHARE)
}

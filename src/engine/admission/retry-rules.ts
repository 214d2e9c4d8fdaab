import { askedDelay, type Backoff, longestSpread, retryDelay } from '../../planning/retry.ts'
import { classroomCodes } from '../../provider/classroom/index.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import { spacingOf } from '../../provider/limits.ts'
import type { GroupLimit } from '../settings.ts'

/** How one kind of failure is met. The kind alone decides. */
interface RetryRule extends Backoff {
  /** Who waits: only the series that failed, or every request of the limit group. */
  readonly scope: 'series' | 'group'
  /** From how many failures in a row on the whole group waits; one of a passing kind may be chance. */
  readonly tolerated: number
  /** The log level at which a person should hear of it. */
  readonly level: 'info' | 'warn' | 'error'
  /** Whether the provider may have handed out what nobody read: then a consuming read is a gap. */
  readonly unread: boolean
  /** Whether the provider turned a request away that should never have been sent: counted, and to stay 0. */
  readonly limitViolation: boolean
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const refused: RetryRule = {
  ...{ scope: 'series', tolerated: 0, first: minute, cap: 30 * minute },
  ...{ level: 'error', unread: false, limitViolation: false },
}
const unusable: RetryRule = { ...refused, first: 5 * second, cap: 5 * minute, unread: true }
const passing: RetryRule = {
  ...{ ...refused, scope: 'group', tolerated: 2, first: second, cap: minute },
  ...{ level: 'warn', unread: true },
}
const closedDoor: RetryRule = { ...refused, scope: 'group', cap: minute, limitViolation: true }
/** The question was beyond a limit of the plan: it is asked anew within a narrower one. */
const overstepped: RetryRule = { ...refused, first: second, cap: 5 * minute, limitViolation: true }
/** Asked too often, although nobody else was known to ask. */
const tooMany: RetryRule = { ...closedDoor, cap: 10 * minute, level: 'warn' }

export const retryRules: Readonly<Record<FailureKind, RetryRule>> = {
  network: passing,
  timeout: passing,
  server_error: passing,
  unavailable: passing,
  gateway_timeout: passing,
  redirect: { ...unusable, scope: 'group' },
  too_large: unusable,
  malformed: unusable,
  unexpected_status: unusable,
  unexpected_code: { ...refused, unread: true },
  bad_request: refused,
  not_found: { ...refused, level: 'warn' },
  conflict: { ...refused, level: 'warn' },
  // No rate: to wait helps nobody, and the next request may well be taken.
  quota: { ...refused, level: 'warn' },
  // The transport has read the credentials again by now: one quick try with those, then one a minute.
  unauthorized: { ...closedDoor, first: second, factor: 60 },
  forbidden: closedDoor,
  rate_limited: tooMany,
  qps_limit: { ...tooMany, first: 2 * second, cap: minute },
  // Someone else spends of the same day: when it frees is not known, so one request looks now and then (`longestSpent`).
  qpd_limit: { ...tooMany, first: 15 * minute, cap: hour },
  limit_exceeded: tooMany,
  no_access: { ...closedDoor, first: hour, cap: hour },
  latency_limit: overstepped,
  time_range_limit: overstepped,
  time_length_limit: overstepped,
}

/** Waits after a fault of this program. */
export const faultBackoff: Backoff = { first: 5 * second, cap: 5 * minute }

/** Waits of what other statements stood in the way of: most are gone in a moment, a table that is locked is so for long. */
export const contentionBackoff: Backoff = { first: second, cap: 5 * minute, factor: 4 }

/** Where the whole group waits, a series need only let the others go first. */
const behindTheGroup: Backoff = { first: second, cap: minute }

/** A question that fails each time costs what others need: soon it is asked a few times a day only. */
const failingQuestion: Backoff = { first: minute, cap: 12 * hour, factor: 5 }

/**
 * A feed cannot be asked for less, and what it would have told meanwhile may be told to nobody: it is asked again within
 * seconds, and later, with what chance adds, once a minute.
 */
const failingFeed: Backoff = { first: 2 * second, cap: 40 * second }

/** No pause that only we chose is longer than this share of the available data: what it skips can be had after it. */
const PAUSE_SHARE = 0.1

/** Of what could be had when a day frees, so much may be gone when that is found out; */
const SPENT_SHARE = 1 / 2
/** and as much of what is allowed is spent on finding out at most. */
const PART_FOR_LOOKS = 1 / 4

/** What fails alone is tried this often at least, ms, so that it is soon known when it is answered again; */
const OFTEN_ENOUGH = 5 * minute
/** or as often as takes this part of the budget, where every question of its stream fails. */
const PART_FOR_TRIALS = 1 / 10

/**
 * How long a question that is paid for waits, ms, after its n-th failure in a row: where the group waits, only behind
 * the others, unless it fails `alone`; where it went beyond a bound, until it is asked within narrower ones; else longer each time, up to a
 * tenth of the time for which its data are available (`available`, seconds), and no longer than the budget must be spared:
 * `round` is how long it takes to ask every question of its stream once, at an even pace, seconds.
 */
export function questionPause(
  failure: Failure,
  failures: number,
  {
    available,
    chance,
    round = Number.POSITIVE_INFINITY,
    alone = false,
  }: {
    readonly available: number
    readonly chance: number
    readonly round?: number
    readonly alone?: boolean
  },
): number {
  if (!alone && !isOfTheQuestion(failure.kind)) return seriesPause(failure, failures, chance)
  const spared = Math.max(OFTEN_ENOUGH, (round * second) / PART_FOR_TRIALS)
  const longest = Math.min(available * second * PAUSE_SHARE, spared) / longestSpread
  const backoff = { ...failingQuestion, cap: Math.min(failingQuestion.cap, longest) }
  return retryDelay(backoff, failures, chance, failure.retryAfter)
}

/** Whether it is this question that fails, as far as can be told: neither the whole group nor a bound of the plan. */
export function isOfTheQuestion(kind: FailureKind): boolean {
  const rule = retryRules[kind]
  return rule.scope === 'series' && rule !== overstepped
}

/**
 * Whether the whole group is taken to fail, though it may be one question that the provider cannot answer: only what
 * others are answered meanwhile tells these two apart.
 */
export function mayBeOfTheQuestion(kind: FailureKind): boolean {
  const rule = retryRules[kind]
  return rule.scope === 'group' && !rule.limitViolation
}

/**
 * The longest pause, ms, of a limit group whose day is spent. What expires meanwhile is lost although the day may have freed, and
 * of real time that is everything within an hour. But each look counts as a request where the provider counts those that it
 * refuses, and keeps the day spent for longer: where few are allowed, as of insights, which can be had for weeks, looks are rare.
 */
export function longestSpent({ range, rates }: Pick<GroupLimit, 'range' | 'rates'>): number {
  if (!range) return Number.POSITIVE_INFINITY
  // Chance only lengthens what the budget must be spared.
  const spared = (spacingOf(rates) / PART_FOR_LOOKS) * longestSpread
  return Math.max(range.availableData * SPENT_SHARE, spared) * second
}

/**
 * How long the limit group pauses after its n-th failure in a row, ms; 0 when only the series waits. `spent`: the longest
 * pause where its day is spent.
 */
export function groupPause(
  failure: Failure,
  failures: number,
  chance: number,
  spent = Number.POSITIVE_INFINITY,
): number {
  const { kind, retryAfter } = failure
  const rule = retryRules[kind]
  // What may be chance is none where the provider says how long to stay away.
  const tolerated = retryAfter === undefined ? rule.tolerated : 0
  if (rule.scope === 'series' || failures <= tolerated) return 0
  const row = failures - tolerated
  // A provider that says how long is believed once.
  if (retryAfter !== undefined && row === 1) return askedDelay(retryAfter, chance)
  const longest = kind === 'qpd_limit' ? spent / longestSpread : Number.POSITIVE_INFINITY
  return retryDelay({ ...rule, cap: Math.min(rule.cap, longest) }, row, chance, retryAfter)
}

/** How long a series waits after its n-th failure in a row, ms; `longest` unless the provider asks for more. */
export function seriesPause(
  failure: Failure | undefined,
  failures: number,
  chance: number,
  longest = Number.POSITIVE_INFINITY,
): number {
  const rule = failure ? retryRules[failure.kind] : faultBackoff
  if (failure && retryRules[failure.kind].scope === 'group')
    return retryDelay(behindTheGroup, failures, chance)
  const backoff = { ...rule, cap: Math.min(rule.cap, longest / longestSpread) }
  return retryDelay(backoff, failures, chance, failure?.retryAfter)
}

/** As seriesPause, of a feed. */
export function feedPause(failure: Failure | undefined, failures: number, chance: number): number {
  if (!failure || !isOfTheQuestion(failure.kind)) return seriesPause(failure, failures, chance)
  return retryDelay(failingFeed, failures, chance, failure.retryAfter)
}

/**
 * Whether an answer came that nobody can read, or that refuses the question, or says that a room is muted. One series may
 * have such answers for itself; where many of an app have them in a row, a page of a maintenance, or of something in
 * between, answers in the place of the provider, or it is the app that is turned away: not each question can be wrong.
 */
export function isIncomprehensible(failure: Failure | undefined): boolean {
  return (
    failure !== undefined && (incomprehensible.has(failure.kind) || failure.code === classroomCodes.muted)
  )
}

const incomprehensible: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'malformed',
  'too_large',
  'unexpected_status',
  'unexpected_code',
  'bad_request',
])

/** How long all questions of an app wait after the n-th answer in a row, of many, that nobody can read, ms. */
export function incomprehensiblePause(failures: number, chance: number): number {
  return retryDelay(passing, failures, chance)
}

/** The provider turned a request away: never to be seen while credentials, plan and limits are right. */
export function isLimitViolation(kind: FailureKind): boolean {
  return retryRules[kind].limitViolation
}

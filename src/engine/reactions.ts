import { type Backoff, retryDelay } from '../planning/retry.ts'
import type { FailureKind } from '../provider/errors.ts'

/** How one kind of failure is met. The kind alone decides. */
export interface Reaction extends Backoff {
  /** Who waits: only the series that failed, or every request of the limit group. */
  readonly scope: 'series' | 'group'
  /** From how many failures in a row on the whole group waits; one of a passing kind may be chance. */
  readonly tolerated: number
  /** The log level at which a person should hear of it. */
  readonly level: 'info' | 'warn' | 'error'
  /** Whether the provider may have handed out what nobody read: then a consuming read is a gap. */
  readonly unread: boolean
}

const second = 1_000
const minute = 60 * second

const passing: Reaction = {
  scope: 'group',
  tolerated: 2,
  first: second,
  cap: minute,
  level: 'warn',
  unread: true,
}
const unusable: Reaction = {
  scope: 'series',
  tolerated: 0,
  first: 5 * second,
  cap: 5 * minute,
  level: 'error',
  unread: true,
}
const refused: Reaction = {
  scope: 'series',
  tolerated: 0,
  first: minute,
  cap: 30 * minute,
  level: 'error',
  unread: false,
}
const closedDoor: Reaction = {
  scope: 'group',
  tolerated: 0,
  first: minute,
  cap: minute,
  level: 'error',
  unread: false,
}

export const reactions: Readonly<Record<FailureKind, Reaction>> = {
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
  unauthorized: closedDoor,
  forbidden: closedDoor,
  rate_limited: {
    scope: 'group',
    tolerated: 0,
    first: minute,
    cap: 10 * minute,
    level: 'warn',
    unread: false,
  },
}

/** How long the limit group pauses after its n-th failure in a row, ms; 0 when only the series waits. */
export function groupPause(kind: FailureKind, failures: number, chance: number, retryAfter?: number): number {
  const reaction = reactions[kind]
  if (reaction.scope === 'series' || failures <= reaction.tolerated) return 0
  return retryDelay(reaction, failures - reaction.tolerated, chance, retryAfter)
}

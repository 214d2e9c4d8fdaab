import type { Spent } from '../../planning/pacing.ts'
import type { Purpose } from '../../planning/shares.ts'
import type { KnownStand, Stand } from '../../planning/stands.ts'
import type { Rate } from '../../provider/limits.ts'

/** Proof of the right to write: checked in the same statement as every commit and every debit. */
export interface Fence {
  readonly shard: number
  readonly owner: string
  readonly epoch: number
}

export interface Claim {
  /** What this process owns, and may drain. */
  readonly fences: readonly Fence[]
  /** Shards that another process should have: to be released when nothing of their apps is under way any more. */
  readonly surplus: readonly number[]
  /** How often the database lost what had been written in it lately, as one does of which a backup is restored. */
  readonly setBack?: number
}

export interface Ownership {
  /** Renews what is held and takes what is free, as far as it is this process's share. */
  readonly claim: () => Promise<Claim>
  /** Gives some shards back, or everything, so that another process may begin at once. */
  readonly release: (shards?: readonly number[]) => Promise<void>
}

/** A number of 32 bits that stands for a text: FNV-1a over UTF-16 units. */
export function numberOf(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return sum
}

/** Shard of an app, 0 to `shards` - 1: the same in every process and every release. */
export function shardOf(app: string, shards: number): number {
  return (numberOf(app) >>> 0) % shards
}

/** How many apps each shard has, from shard 0 on. */
export function appsOfShards(apps: readonly string[], shards: number): readonly number[] {
  const counts = Array<number>(shards).fill(0)
  for (const app of apps) counts[shardOf(app, shards)]! += 1
  return counts
}

export interface Debit {
  readonly scope: string
  readonly group: string
  readonly app: string
  readonly operation: string
  readonly fence: Fence
  readonly rates: readonly Rate[]
  /** What the request is for; kept as evidence. */
  readonly purpose: Purpose
  /** What this process knows of the time that has passed, against jumps of the database's clock; asked when the question leaves. */
  readonly clockBounds: () => ClockBounds
  /** The request's total deadline plus ten seconds, ms: how long an unsettled debit may still reach the provider. */
  readonly arrivesWithin: number
}

/** Whose counter it is of an app that is in several regions: the servers of each count by themselves. */
export function regionalScope(app: string, region: string): string {
  return region === '' ? app : `${app}/${region}`
}

/**
 * Between these moments, ms since the epoch, the database's clock is believed; outside, the nearer one stands for
 * it: budget time never runs ahead of what the process saw pass, nor stands still when the clock was put back.
 */
export interface ClockBounds {
  readonly floor: number
  readonly ceiling: number
}

export interface Grant {
  readonly scope: string
  readonly group: string
  /** Number of the debit, without gaps within (scope, group). */
  readonly n: number
  /** What is known of the time: when the debit was asked for, then when the answer had arrived. */
  readonly clockBounds: ClockBounds
}

/**
 * `now` is the time that the group's budget is counted by, ms since the epoch: the database's clock, unless that was
 * seen to jump. `ahead` is how far the database's clock is ahead of it, ms; 0 while it never jumped.
 */
export type TakeResult =
  | { readonly granted: true; readonly grant: Grant; readonly now: number; readonly ahead: number }
  /** `wait` in ms. */
  | { readonly granted: false; readonly wait: number; readonly now: number; readonly ahead: number }
  | { readonly granted: 'fenced' }

/**
 * `refused`: the provider did nothing; `unread`: it may have handed out what nobody can store. Both were answered, and
 * their slot frees one window from now. `unanswered`: as unread, but the request may still be on its way; its slot
 * frees one window after it can no longer arrive.
 */
export type Settlement = 'refused' | 'unread' | 'unanswered'

export interface Ledger {
  /** Debits one request durably, or says how long to wait. Throws StoreUnavailable. */
  readonly take: (debit: Debit) => Promise<TakeResult>
  /**
   * Debits are missing that this process had `ago` ms ago, as where an older state of the database was put back: from now on
   * what may have been debited since then counts as spent. Throws StoreUnavailable.
   */
  readonly wasSetBack: (ago: number) => Promise<void>
  /** It is over without a page to commit. Throws StoreUnavailable. */
  readonly settle: (grant: Grant, outcome: Settlement, clockBounds: ClockBounds) => Promise<void>
  /** How much of a window of `window` seconds is used. Throws StoreUnavailable. */
  readonly budget: (scope: string, group: string, window: number, recent: number) => Promise<Spent>
  /**
   * Requests a ms that can be kept up, of `requests` in `window` seconds, until each of those that count has come free; null
   * when none does. It looks at many of them: ask rarely. Throws StoreUnavailable.
   */
  readonly lastingPace: (
    scope: string,
    group: string,
    window: number,
    requests: number,
  ) => Promise<number | null>
  /** Where every app stands that asked for something of the budget, whichever process drains it. Throws StoreUnavailable. */
  readonly stands: (scope: string, group: string) => Promise<readonly KnownStand[]>
  /** Says where an app stands, which is waited for until `awaited` ms are over or it says so again. Throws StoreUnavailable. */
  readonly stand: (scope: string, group: string, own: Stand, awaited: number) => Promise<void>
}

/** All that whoever sends a request needs of it. */
export type Debits = Pick<Ledger, 'take' | 'settle' | 'wasSetBack'>

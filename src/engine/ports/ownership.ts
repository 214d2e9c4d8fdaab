/** Proof of the right to write: checked in the same statement as every commit and every debit. */
export interface Fence {
  readonly shard: number
  readonly owner: string
  readonly epoch: number
}

export interface Ownership {
  /** Takes every shard that is free or whose owner is dead, renews what is held, and answers all that is held. */
  readonly claim: () => Promise<readonly Fence[]>
  /** Gives everything back, so that another process may begin at once. */
  readonly release: () => Promise<void>
}

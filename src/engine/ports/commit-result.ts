export type CommitResult =
  | {
      readonly outcome: 'committed'
      readonly version: number
      readonly stored: Readonly<Record<string, number>>
      readonly diverged: number
      /** Dead letters that were new, by reason. */
      readonly deadLetters: Readonly<Record<string, number>>
    }
  /** Someone else moved this series first, or the outcome of an earlier commit was not known: read progress again. */
  | { readonly outcome: 'stale' }
  /** The shard belongs to another owner now: stop at once. */
  | { readonly outcome: 'fenced' }
  /** The room has not been seen alive for longer than the provider remembers: its log must be probed first. */
  | { readonly outcome: 'unverified' }

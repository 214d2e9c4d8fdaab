/** When a process stood still, ms since the epoch. */
export interface Standstill {
  readonly from: number
  readonly to: number
}

/** For how long a process stood still between two moments, ms: in that time it could notice nothing and send nothing. */
export function stoodBetween(stills: readonly Standstill[], from: number, to: number): number {
  return stills.reduce(
    (sum, still) => sum + Math.max(0, Math.min(to, still.to) - Math.max(from, still.from)),
    0,
  )
}

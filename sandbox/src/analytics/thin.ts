import { befalls, hashOf, shareOf } from '../hash.ts'
import type { Settings } from '../options.ts'

/** One entry of the insights or real-time metrics of an app. */
export interface Entry {
  readonly app: string
  readonly operation: string
  /** Begin of its time and how long that is, Unix seconds and seconds. */
  readonly ts: number
  readonly step: number
}

/** The world must be counted up to this moment for an entry to be served, Unix seconds; infinite where it never is. */
export function servedFrom({ seed, switches }: Settings, { app, operation, ts, step }: Entry): number {
  const { missingValues, lateValueSeconds } = switches
  const words = [seed, app, operation, ts] as const
  if (befalls(missingValues, 'missing', ...words)) return Number.POSITIVE_INFINITY
  const lateness = Math.floor(lateValueSeconds * shareOf(hashOf('late', ...words)))
  // A deployment without lateness also serves times that are not over.
  return lateness > 0 ? ts + step + lateness : Number.NEGATIVE_INFINITY
}

/** An entry as a deployment serves it that says more than the documents do. */
export function withUnknown({ switches }: Pick<Settings, 'switches'>, entry: object): object {
  return switches.unknownFields === 'present'
    ? { ...entry, note: { revision: 3, of: 'the provider' } }
    : entry
}

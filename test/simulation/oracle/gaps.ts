import { canonical } from './canonical.ts'
import type { Examination } from './examination.ts'

export interface StoredGap {
  readonly app: string
  readonly stream: string
  readonly series: string
  readonly incarnation: number | null
  readonly unit: 'time' | 'sequence'
  /** Sequences, or ms since the epoch; both ends included. */
  readonly from: bigint
  readonly to: bigint
  /** Until when it may still be had, ms since the epoch; null where nobody knows. */
  readonly recoverable: number | null
  /** When it was told of first, ms since the epoch. */
  readonly seen: number
  readonly reason: string
  readonly state: 'open' | 'repaired' | 'absent' | 'lost'
}

/** An event that the feed told and that waits for its room's log. */
export interface Waiting {
  readonly app: string
  readonly room: string
  readonly sequence: bigint
  /** Its type and its data. */
  readonly content: string
}

export interface StoredGaps {
  readonly gaps: readonly StoredGap[]
  readonly waiting: readonly Waiting[]
}

export async function readGaps({ rows }: Pick<Examination, 'rows'>): Promise<StoredGaps> {
  type Gap = Omit<StoredGap, 'from' | 'to'> & { readonly lower: string; readonly upper: string }
  const gaps = await rows<Gap>(
    `select app_id as app, stream, series, incarnation, unit, reason, state,
            coalesce(sequence_from, floor(extract(epoch from range_from) * 1000))::text as lower,
            coalesce(sequence_to, ceil(extract(epoch from range_to) * 1000))::text as upper,
            round(extract(epoch from recoverable_until) * 1000)::float8 as recoverable,
            extract(epoch from first_seen_at)::float8 * 1000 as seen
     from ingest.gap`,
  )
  type Divergence = Pick<Waiting, 'app' | 'room'> & {
    readonly key: string
    readonly other: { readonly cmd: number; readonly data: unknown }
  }
  const waiting = await rows<Divergence>(
    `select app_id as app, series as room, key, other from ingest.divergence
     where stream = 'app-events' and resolved_at is null`,
  )
  return {
    gaps: gaps.map(({ lower, upper, ...gap }) => ({ ...gap, from: BigInt(lower), to: BigInt(upper) })),
    waiting: waiting.map(({ app, room, key, other }) => ({
      ...{ app, room, sequence: BigInt(key) },
      content: `${other.cmd} ${canonical(other.data)}`,
    })),
  }
}

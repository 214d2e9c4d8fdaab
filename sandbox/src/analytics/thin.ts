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

/** Names of what a question of insights or real time says besides its range. */
export const said = ['productType', 'metric', 'aggregateGranularity', 'cname'] as const

/** Among so many milliseconds an entry is told in one way. */
const alike = 240_000

/** A question of insights or real time, and when it is asked, Unix milliseconds. */
export interface Question {
  readonly app: string
  readonly operation: string
  /** What it says, in the order of the names. */
  readonly words: readonly string[]
  readonly time: number
}

export type Strangeness = 'word' | 'object' | 'timeless' | 'time in words'

/** In which shape that nobody can read an answer tells the entry of a time; undefined where it tells it as it should. */
export function strangeness(
  { seed, quirks }: Settings,
  { app, operation, words, time }: Question,
  ts: number,
): Strangeness | undefined {
  const all = [seed, app, operation, ...words, ts, Math.floor(time / alike)]
  if (!befalls(quirks.strangeEntry, 'strange', ...all)) return undefined
  return ways[hashOf('way', ...all) % ways.length]
}

const ways = ['word', 'object', 'timeless', 'time in words'] as const

/** The entry told so: which one it is can still be made out. */
export function strangely(entry: object, way: Strangeness): object {
  const { ts, ...value } = entry as { readonly ts: number }
  const name = Object.keys(value)[0]!
  switch (way) {
    case 'word':
      return { ts, [name]: 'n/a' }
    case 'object':
      return { ts, [name]: {} }
    case 'timeless':
      return { ...value, since: ts }
    case 'time in words':
      return { ...value, ts: `at ${ts}` }
  }
}

/** An entry as a deployment serves it that says more than the documents do. */
export function withUnknown({ switches }: Pick<Settings, 'switches'>, entry: object): object {
  return switches.unknownFields === 'present'
    ? { ...entry, note: { revision: 3, of: 'the provider' } }
    : entry
}

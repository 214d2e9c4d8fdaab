import type { Clock } from '../clock/clock.ts'
import type { Log, StoreStatus } from '../engine/ports.ts'
import type { Facts, PauseOf } from './delays.ts'
import { isoTime } from './outages.ts'
import type { ProcessStatus } from './process-status.ts'
import { createReading } from './reading.ts'
import { judge, type Verdict, type VerdictState } from './verdict.ts'

const maxAge = 2_000
const timeout = 1_000

/** How often the verdict is reached where nobody asks for it, ms; */
const watchEvery = 10_000
/** and with many streams at most so much longer for each of them, ms: to look at one takes about a hundredth of that. */
const pauseOfStream = 4
const longestPause = 60_000

/** How it goes: the verdict, what this process saw, and what the database told last. */
export interface Status extends Facts {
  readonly verdict: Verdict & {
    /** When this state began, as far as this process saw it. */
    readonly since: string
  }
  readonly version: string
  readonly shards: number
  readonly apps: readonly string[]
  readonly databaseAnswers: boolean
  /** How old it is what the database told; null where it has told nothing yet. */
  readonly readSecondsAgo: number | null
}

export interface StatusOptions {
  readonly clock: Clock
  readonly log: Log
  /** What the process knows by itself, now. */
  readonly own: () => Pick<Status, 'version' | 'shards' | 'apps'> & { readonly process: ProcessStatus }
  readonly pauseOf?: PauseOf
  /** What the database tells, or a replica of it; */
  readonly read: () => Promise<StoreStatus>
  /** then this asks the database itself. Rejects where it is away. */
  readonly answers?: (() => Promise<unknown>) | undefined
}

/**
 * The status for people and programs, however many ask: the verdict, what the database told last, how old that is, and
 * whether it answers now. Tells what the process saw by itself as long as the database has told nothing.
 */
export function createStatus({
  clock,
  log,
  own,
  pauseOf,
  read,
  answers,
}: StatusOptions): () => Promise<Status> {
  const onFailure = (error: unknown) => log.warn('the status cannot be read', { error })
  const ask = createReading({ clock, read, maxAge, timeout, answers, onFailure })
  let databaseAwaySince: string | null = null
  let reached: { readonly state: VerdictState; readonly since: string } | undefined
  return async () => {
    const { up, value, age } = await ask()
    const at = isoTime(clock.now())
    databaseAwaySince = up ? null : (databaseAwaySince ?? at)
    const facts = { ...own(), at, databaseAwaySince, ...value }
    const { state, sentence } = judge(facts, pauseOf)
    if (reached?.state !== state) reached = { state, since: at }
    const readSecondsAgo = value ? Math.floor(age / 1_000) : null
    const verdict = { state, sentence, since: reached.since }
    return { verdict, databaseAnswers: up, readSecondsAgo, ...facts }
  }
}

interface VerdictWatch {
  readonly clock: Clock
  readonly log: Log
  readonly status: () => Promise<Status>
  /** Takes each verdict, changed or not. */
  readonly told: (state: VerdictState) => void
  readonly signal: AbortSignal
}

const levels = { well: 'info', starting: 'info', behind: 'warn', losing: 'error', stopped: 'error' } as const

/** Says in the log when the verdict changes, until the signal aborts. */
export async function watchVerdict({ clock, log, status, told, signal }: VerdictWatch): Promise<void> {
  let last: VerdictState | undefined
  while (!signal.aborted) {
    const { verdict, streams = [] } = await status()
    const { state, sentence } = verdict
    told(state)
    if (state !== last) log[levels[state]]('how it goes has changed', { state, was: last, sentence })
    last = state
    await clock.sleep(Math.min(Math.max(watchEvery, streams.length * pauseOfStream), longestPause), signal)
  }
}

/** Indented JSON for people, or one line; an integer above 2^53 becomes a string, which every reader keeps whole. */
export function toJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one), indent)
}

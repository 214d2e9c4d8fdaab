import pino from 'pino'
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../engine/ports.ts'
import { fields, type SanitizeOptions, type SecretFilter, secretFilter } from './sanitize.ts'

const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

interface LogOptions {
  readonly level: LogLevel
  readonly clock: Clock
  /** Every secret known by now: as `user:password` too, where it is sent as basic authentication. */
  readonly secrets: () => readonly string[]
  /** Takes one line with its end; standard output unless told. */
  readonly destination?: { readonly write: (line: string) => void }
  /** Most equal messages a minute. */
  readonly perMinute?: number
}

export interface FlushableLog extends Log {
  /** Says now what was left out. For the end of the process. */
  readonly flush: () => void
  /** The least level that is written from now on. */
  readonly setLevel: (level: LogLevel) => void
}

const defaultPerMinute = 20

/** Names that every line has; a field of that name is set apart by an underscore. */
const ownNames: ReadonlySet<string> = new Set(['time', 'level', 'msg'])

/**
 * A log of JSON lines: `level`, `time` (UTC), the fields, `msg`. A line is always one line of printable
 * ASCII and holds no known secret. Messages that repeat are written a few times a minute and then counted.
 */
export function createLog(options: LogOptions): FlushableLog {
  let { level } = options
  const { clock, destination = process.stdout, perMinute = defaultPerMinute } = options
  const sink = { write: (line: string) => void destination.write(`${asciiLine(line.trimEnd())}\n`) }
  const out = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
    },
    sink,
  )
  const repeats = createLogDeduplication(clock, perMinute)
  const filterOf = rememberFilter(options.secrets)
  const shown = (one: LogLevel) => logLevels.indexOf(one) >= logLevels.indexOf(level)
  const write = (one: LogLevel, message: string, extra: object) => {
    const plain: SanitizeOptions = { filter: filterOf(), stacks: level === 'debug' ? 'shown' : 'hidden' }
    /* An error has fields of its own (Postgres puts the row into one), so it is never spread. */
    const given = extra instanceof Error ? { error: extra } : extra
    out[one](setApart(fields(given, plain)), plain.filter(message))
  }
  const tell = (leftOut: readonly LeftOut[]) => {
    for (const { level: one, message, count } of leftOut) write(one, 'messages left out', { message, count })
  }
  const logAt = (one: LogLevel) => {
    return (message: string, extra: object = {}) => {
      if (!shown(one)) return
      tell(repeats.ended())
      if (repeats.admits(one, message)) write(one, message, extra)
    }
  }
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    flush: () => tell(repeats.all()),
    setLevel: next => {
      level = next
      out.level = next
    },
  }
}

function setApart<T>(named: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(named).map(([name, v]) => [ownNames.has(name) ? `${name}_` : name, v]),
  )
}

/** Builds the filter again only when the secrets have changed. */
function rememberFilter(secrets: () => readonly string[]): () => SecretFilter {
  let known: readonly string[] = []
  let filter = secretFilter(known)
  return () => {
    const now = secrets()
    if (now.length !== known.length || now.some((secret, i) => secret !== known[i])) {
      known = now
      filter = secretFilter(known)
    }
    return filter
  }
}

/** Messages that were left out within one window. */
interface LeftOut {
  readonly level: LogLevel
  readonly message: string
  readonly count: number
}

const window = 60_000

/** Messages are constants of the program, so more than this many would be a mistake somewhere. */
const mostMessages = 1_000

/** How often a message came since its window began; beyond the limit it is left out. */
interface Count extends LeftOut {
  readonly since: number
}

/** Lets at most `limit` equal messages a minute through and counts the others. Starts no timer. */
function createLogDeduplication(clock: Clock, limit: number) {
  const counts = new Map<string, Count>()
  let nextSweep = clock.monotonic() + window

  const take = (which: (count: Count) => boolean): readonly LeftOut[] => {
    const taken = [...counts].filter(([, count]) => which(count))
    for (const [key] of taken) counts.delete(key)
    return taken.flatMap(([, { level, message, count }]) => {
      return count > limit ? [{ level, message, count: count - limit }] : []
    })
  }

  return {
    /** Whether one more of this message may be written. */
    admits(level: LogLevel, message: string): boolean {
      const key = `${level} ${message}`
      const before = counts.get(key) ?? { level, message, since: clock.monotonic(), count: 0 }
      counts.set(key, { ...before, count: before.count + 1 })
      return before.count < limit
    },
    /** What was left out in windows that have ended; each is told once. */
    ended(): readonly LeftOut[] {
      const now = clock.monotonic()
      if (now < nextSweep && counts.size < mostMessages) return []
      const ended = take(({ since }) => now - since >= window || counts.size >= mostMessages)
      nextSweep = Math.min(now + window, ...[...counts.values()].map(({ since }) => since + window))
      return ended
    },
    /** What was left out so far, in windows that go on as well. */
    all: () => take(() => true),
  }
}

/**
 * Writes everything but printable ASCII as `\uXXXX`. On a line of JSON that changes no value, for such
 * characters stand only inside strings there; and no line can hold a second line, a colour, or text that a
 * terminal would show backwards.
 */
function asciiLine(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

import pino from 'pino'
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../engine/ports.ts'
import { asciiLine } from './escape.ts'
import { createLogDeduplication, type LeftOut } from './log-deduplication.ts'
import { fields, type SanitizeOptions } from './sanitize.ts'
import { type SecretFilter, secretFilter } from './secrets.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogOptions {
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
}

const defaultPerMinute = 20

/** Names that every line has; a field of that name is set apart by an underscore. */
const ownNames: ReadonlySet<string> = new Set(['time', 'level', 'msg'])

/**
 * A log of JSON lines: `level`, `time` (UTC), the fields, `msg`. A line is always one line of printable
 * ASCII and holds no known secret. Messages that repeat are written a few times a minute and then counted.
 */
export function createLog(options: LogOptions): FlushableLog {
  const { level, clock, destination = process.stdout, perMinute = defaultPerMinute } = options
  const sink = { write: (line: string) => void destination.write(`${asciiLine(line.trimEnd())}\n`) }
  const out = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(clock.now())}"`,
      formatters: { level: label => ({ level: label }) },
    },
    sink,
  )
  const repeats = createLogDeduplication<LogLevel>(clock, perMinute)
  const filterOf = rememberFilter(options.secrets)
  const shown = (one: LogLevel) => logLevels.indexOf(one) >= logLevels.indexOf(level)
  const write = (one: LogLevel, message: string, extra: object) => {
    const plain: SanitizeOptions = { filter: filterOf(), stacks: level === 'debug' ? 'shown' : 'hidden' }
    /* An error has fields of its own (Postgres puts the row into one), so it is never spread. */
    const given = extra instanceof Error ? { error: extra } : extra
    out[one](setApart(fields(given, plain)), plain.filter(message))
  }
  const tell = (leftOut: readonly LeftOut<LogLevel>[]) => {
    for (const { level: one, message, count } of leftOut) write(one, 'messages left out', { message, count })
  }
  const logAt = (one: LogLevel) => {
    return (message: string, extra: object = {}) => {
      if (!shown(one)) return
      tell(repeats.ended())
      if (repeats.admit(one, message) === 'write') write(one, message, extra)
    }
  }
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    flush: () => tell(repeats.all()),
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
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

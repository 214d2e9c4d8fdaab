import { closeSync, openSync } from 'node:fs'
import { systemClock } from '../../clock/system.ts'
import { ConfigError } from '../../config/problem.ts'

/** How a command ends, as the shell sees it. */
export const exitOk = 0
export const exitFailed = 1
/** The command line itself was wrong. */
export const exitUsage = 2
/* How the provider met a request that was sent by hand; each calls for something else of a script. */
/** It says that the request is wrong (400): mend it. */
export const exitRefused = 3
/** What was asked for does not exist (404). */
export const exitNotFound = 4
/** It contradicts how things are (409). */
export const exitConflict = 5
/** Credentials or plan do not allow it (401, 403). */
export const exitNoAccess = 6
/** A rate, a budget or a quota is used up (429, code 300): later, or less. */
export const exitLimited = 7
/** The provider failed, or its answer cannot be used (500, 503): try again. */
export const exitProvider = 8
/** No answer (504, time-out, broken connection): nobody knows whether it was done. */
export const exitUnknown = 9
/** The configuration was refused (sysexits' EX_CONFIG). */
export const exitBadConfig = 78

export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 78

/** Ends a command with a message for people and an exit code. The message holds no secret. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: ExitCode
  constructor(message: string, exitCode: ExitCode = exitFailed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** Ends a command that has said by itself what went wrong. */
export class Told extends CommandError {
  constructor(exitCode: ExitCode, options?: ErrorOptions) {
    super('told', exitCode, options)
  }
}

/** The exit code that an error asks for; 1 for every other error. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof CommandError || error instanceof ConfigError ? error.exitCode : exitFailed
}

/** A repetition this soon is the same key press: npm passes on to its script what the terminal has sent it already. */
const ECHO_MS = 500

/** Why a command that goes on until it is told to stop does stop. */
export type Ending = 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'output lost' | 'time is up'

/**
 * Resolves when a command should end: at SIGTERM, SIGINT or SIGHUP, when nobody reads its output any more, or when
 * `timeUp` aborts. `onHangUp` stands in for the end at SIGHUP. A second SIGTERM or SIGINT ends the process at once, for whoever cannot wait for the drain. A hang-up
 * never does: the terminal and the shell in it both send one.
 */
export function untilToldToStop(timeUp?: AbortSignal, onHangUp?: () => void): Promise<Ending> {
  return new Promise(resolve => {
    let askedAt: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      const now = systemClock.monotonic()
      if (askedAt !== undefined && now - askedAt > ECHO_MS) process.exit(1)
      askedAt ??= now
      resolve(signal as 'SIGTERM' | 'SIGINT')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    process.on('SIGHUP', onHangUp ?? (() => resolve('SIGHUP')))
    const onAbort = (signal: AbortSignal | undefined, ending: Ending) => {
      if (signal?.aborted) resolve(ending)
      signal?.addEventListener('abort', () => resolve(ending), { once: true })
    }
    onAbort(outputLost, 'output lost')
    onAbort(timeUp, 'time is up')
  })
}

/** Whether a terminal controls this process: its SIGHUP says that the terminal is gone then. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

const lost = new AbortController()

/** Aborted once standard output leads nowhere: `head` has seen enough, or the terminal is gone. */
export const outputLost: AbortSignal = lost.signal

/**
 * Lets a command outlive whoever reads it. What it has begun (a database, a migration, pages in hand) must be brought
 * to an end all the same, so it is not cut off; it only ends as failed. Nobody is left to be told why.
 */
export function watchOutput(): void {
  process.stdout.on('error', () => {
    process.exitCode ||= exitFailed
    lost.abort()
  })
  process.stderr.on('error', () => {})
}

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

const exitCodes = [
  ...([exitOk, exitFailed, exitUsage, exitRefused, exitNotFound, exitConflict, exitNoAccess] as const),
  ...([exitLimited, exitProvider, exitUnknown, exitBadConfig] as const),
] as const

export type ExitCode = (typeof exitCodes)[number]

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
export class Told extends Error {
  override readonly name = 'Told'
  readonly exitCode: ExitCode
  constructor(exitCode: ExitCode, options?: ErrorOptions) {
    super('told', options)
    this.exitCode = exitCode
  }
}

const known: readonly unknown[] = exitCodes

function isExitCode(value: unknown): value is ExitCode {
  return known.includes(value)
}

/** The exit code that an error asks for by its `exitCode`; 1 for every other error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof Error) || !('exitCode' in error)) return exitFailed
  return isExitCode(error.exitCode) ? error.exitCode : exitFailed
}

/** How a command ends, as the shell sees it. */
export const exitOk = 0
export const exitFailed = 1
/** The command line itself was wrong. */
export const exitUsage = 2
/** The configuration was refused (sysexits' EX_CONFIG). */
export const exitBadConfig = 78

export type ExitCode = typeof exitOk | typeof exitFailed | typeof exitUsage | typeof exitBadConfig

/** Ends a command with a message for people and an exit code. The message holds no secret. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: ExitCode
  constructor(message: string, exitCode: ExitCode = exitFailed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

const known: readonly unknown[] = [exitOk, exitFailed, exitUsage, exitBadConfig] satisfies readonly ExitCode[]

function isExitCode(value: unknown): value is ExitCode {
  return known.includes(value)
}

/** The exit code that an error asks for by its `exitCode`; 1 for every other error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof Error) || !('exitCode' in error)) return exitFailed
  return isExitCode(error.exitCode) ? error.exitCode : exitFailed
}

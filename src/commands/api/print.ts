import { CallError, type CallErrorKind, formatTrace } from '../../client/errors.ts'
import { isObject } from '../../provider/fits.ts'
import { ParameterError } from '../../provider/operation.ts'
import { maskSecrets } from '../../provider/redaction.ts'
import { toJson } from '../../telemetry/status.ts'
import {
  CommandError,
  type ExitCode,
  exitCodeOf,
  exitConflict,
  exitFailed,
  exitLimited,
  exitNoAccess,
  exitNotFound,
  exitProvider,
  exitRefused,
  exitUnknown,
  exitUsage,
  Told,
} from '../cli/exit.ts'

export type Format = 'json' | 'text'

/** Prints a value as JSON without its secrets: indented for people, one line for programs. */
export function printValue(value: unknown, format: Format): void {
  process.stdout.write(`${jsonText(withoutSecrets(value), format)}\n`)
}

/** The token of a next page is no secret: without it nobody could turn the page. */
function withoutSecrets(value: unknown): unknown {
  const masked = maskSecrets(value)
  if (!isObject(value) || !isObject(masked) || !('nextPageToken' in value)) return masked
  return { ...masked, nextPageToken: value.nextPageToken }
}

/** What a terminal would take for a command, or show backwards. Inside JSON it stands in strings only. */
const unprintable = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

function jsonText(value: unknown, format: Format): string {
  const text = toJson(value, format === 'json' ? 0 : 2)
  return text.replace(unprintable, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Tells an error on standard error, as a sentence or as JSON, and ends the command with its exit code. */
export function failWith(error: unknown, format: Format): never {
  const exitCode = codeOf(error)
  const text = error instanceof Error ? error.message : String(error)
  const trace = error instanceof CallError ? error.trace : undefined
  if (error instanceof CallError && error.existing) printValue({ existing: error.existing }, format)
  if (format === 'json') {
    process.stderr.write(`${jsonText({ error: { ...factsOf(error), text, exitCode } }, format)}\n`)
    throw new Told(exitCode, { cause: error })
  }
  throw new CommandError(`${text}${formatTrace(trace)}`, exitCode, { cause: error })
}

function codeOf(error: unknown): ExitCode {
  if (error instanceof CallError) return exitCodeOfKind(error.kind)
  return error instanceof ParameterError ? exitUsage : exitCodeOf(error)
}

/** What is not known is left out. */
function factsOf(error: unknown): object {
  if (!(error instanceof CallError)) return { kind: error instanceof ParameterError ? 'parameter' : 'failed' }
  const { operation, kind, status, code, retryAfter, trace } = error
  return { operation, kind, status, code, retryAfter, ...trace }
}

/** The exit code of each way in which a call may fail. */
const codes: Readonly<Record<CallErrorKind, ExitCode>> = {
  bad_request: exitRefused,
  not_found: exitNotFound,
  conflict: exitConflict,
  unauthorized: exitNoAccess,
  forbidden: exitNoAccess,
  no_access: exitNoAccess,
  off: exitNoAccess,
  rate_limited: exitLimited,
  qps_limit: exitLimited,
  qpd_limit: exitLimited,
  latency_limit: exitLimited,
  time_range_limit: exitLimited,
  time_length_limit: exitLimited,
  limit_exceeded: exitLimited,
  quota: exitLimited,
  budget: exitLimited,
  busy: exitLimited,
  server_error: exitProvider,
  unavailable: exitProvider,
  redirect: exitProvider,
  too_large: exitProvider,
  malformed: exitProvider,
  unexpected_status: exitProvider,
  unexpected_code: exitProvider,
  network: exitUnknown,
  timeout: exitUnknown,
  gateway_timeout: exitUnknown,
  unsettled: exitUnknown,
  closed: exitFailed,
}

export function exitCodeOfKind(kind: CallErrorKind): ExitCode {
  return codes[kind]
}

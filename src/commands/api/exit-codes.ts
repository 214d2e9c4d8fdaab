import type { CallErrorKind } from '../../client/errors.ts'
import {
  type ExitCode,
  exitConflict,
  exitFailed,
  exitLimited,
  exitNoAccess,
  exitNotFound,
  exitProvider,
  exitRefused,
  exitUnknown,
} from '../cli/exit.ts'

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

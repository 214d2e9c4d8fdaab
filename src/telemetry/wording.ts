import type { FailureKind } from '../provider/errors.ts'
import type { Family } from '../provider/operation.ts'

/* How a status is put into words that a newcomer understands. */

export const familyTexts: Readonly<Record<Family, string>> = {
  classroom: 'classrooms',
  analytics: 'call analytics',
  players: 'cloud players',
}

/** What a provider does that fails every request; of kinds that are missing here it was reached and answered. */
export const faultTexts: Partial<Readonly<Record<FailureKind, string>>> = {
  network: 'cannot be reached',
  timeout: 'does not answer in time',
  gateway_timeout: 'does not answer in time',
  unauthorized: 'refuses the credentials',
  forbidden: 'refuses the credentials',
  no_access: 'says that the plan does not include the service',
  rate_limited: 'says that it is asked too often',
  server_error: 'answers with errors',
  unavailable: 'answers that it is not available',
  redirect: 'answers what cannot be read',
  malformed: 'answers what cannot be read',
  unexpected_status: 'answers what cannot be read',
  unexpected_code: 'answers what cannot be read',
}

export function isFault(kind: FailureKind): boolean {
  return kind in faultTexts
}

const toRate = 'correct `plan`, lower `limits`, or give Penstock a credential of its own'

/** What a refusal for a limit says, and what to do. */
export const refusalTexts: Partial<Readonly<Record<FailureKind, string>>> = {
  qps_limit: `it is asked too often: ${toRate}`,
  rate_limited: `it is asked too often: ${toRate}`,
  limit_exceeded: `a limit is exceeded: ${toRate}`,
  qpd_limit: `the requests of a day are spent: ${toRate}`,
  latency_limit: 'the range ends too near to now: correct `plan`, or raise `dataDelay` under `limits`',
  time_range_limit:
    'the range begins before what the plan serves: correct `plan`, or lower `availableData` under `limits`',
  time_length_limit:
    'the range is longer than the plan allows: correct `plan`, or lower `timeFrame` under `limits`',
  no_access: 'the plan does not include the service: correct `plan`, or switch the stream off',
}

export function isRefusal(kind: string): boolean {
  return kind in refusalTexts
}

/** Why no page is stored, where that is no fault of the provider. */
const storeTexts: Readonly<Record<string, string>> = {
  store_unavailable: 'the database is not available',
  store_blocked: 'another statement holds a lock in the database, or it is too slow or too small for a page',
}

/** Why every page of a stream fails. */
export function reasonText(outcome: string): string {
  return storeTexts[outcome] ?? outcome.replaceAll('_', ' ')
}

/** Why a range is missing, by the reason in the gap ledger. */
export const lossTexts: Readonly<Record<string, string>> = {
  hole: 'skipped between neighbours of a log',
  room_forgotten: 'the provider forgot the room before it was read',
  room_reused: 'the room was used again before it was read',
  unread_answer: 'an answer was asked for and never stored',
  pause: 'nobody asked for longer than the provider remembers',
  expired: 'not read in time',
  unconfirmed: 'read once, and not again when it was final',
  overflow: 'more in one second than the provider lists',
  refused: 'the provider refuses the question',
  too_large: 'the answer is too large in every size',
  vanished: 'the provider does not know the call',
  unreadable: 'served in no shape that can be read',
  not_served: 'values that the provider did not serve',
}

const numberFormat = new Intl.NumberFormat('en-US')

/** Whole numbers with thousands apart, the way people read them. */
export function countText(count: number): string {
  return numberFormat.format(count)
}

/** A count with its noun, which takes an s where there are several. */
export function countOf(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
}

const units = [
  [2 * 86_400, 86_400, 'days'],
  [2 * 3_600, 3_600, 'h'],
  [120, 60, 'min'],
] as const

/** A length of time, in the largest unit of which there are at least two. */
export function duration(seconds: number): string {
  const [, size, unit] = units.find(([least]) => seconds >= least) ?? [0, 1, 's']
  return `${countText(Math.floor(Math.max(0, seconds) / size))} ${unit}`
}

/** A moment in UTC as people write it, with its date where that is another than that of `at`. */
export function moment(iso: string, at: string): string {
  const text = new Date(iso).toISOString()
  const time = `${text.slice(11, 16)} UTC`
  return text.slice(0, 10) === new Date(at).toISOString().slice(0, 10) ? time : `${text.slice(0, 10)} ${time}`
}

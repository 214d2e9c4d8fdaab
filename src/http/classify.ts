import {
  successCodes as analyticsSuccess,
  kindOfLimitMessage,
  limitCode,
} from '../provider/analytics/answers.ts'
import { successCode } from '../provider/classroom/answers.ts'
import { type Failure, type FailureKind, kindOfStatus } from '../provider/errors.ts'
import { fieldOf, fits, readNumber } from '../provider/fits.ts'
import { emptyAnswer, type Family, type Operation } from '../provider/operation.ts'
import { isQuotaRefusal } from '../provider/players/errors.ts'
import { type Arrival, isIdentity, keptBytes } from './exchange.ts'
import { decodeJson, decodeSteps, JsonError, JsonTooLarge, type Steps } from './json.ts'

export type Verdict =
  | { readonly ok: true; readonly body: unknown; readonly answeredAt: number | undefined }
  | { readonly ok: false; readonly failure: Failure; readonly answeredAt: number | undefined }

/** Business codes of an answer that succeeded, for families whose answers have an envelope. */
const successCodes: Readonly<Record<Family, readonly number[] | undefined>> = {
  classroom: [successCode],
  analytics: analyticsSuccess,
  players: undefined,
}

/** 2000-01-01 and 2200-01-01: an envelope time outside is in another unit, or nonsense. */
const plausible = { from: 946_684_800_000, to: 7_258_118_400_000 }

/**
 * Makes a page or a failure of what arrived, a step at a time, since a long body takes long to read. `now` is our clock
 * in ms, which stands in for the provider's where an answer has no date; `shape` what the body must be. Texts name
 * statuses, codes, paths and rules; never a value that was received.
 */
export function* classify(
  operation: Operation,
  arrival: Arrival,
  now: number,
  shape: Operation['answer'] = operation.answer,
): Steps<Verdict> {
  const dated = parseHttpDate(arrival.header('date'))
  const { status } = arrival
  if (status < 200 || status >= 300) return refusedByStatus(operation, arrival, dated, now)
  const fail = (kind: FailureKind, text: string): Verdict => {
    return { ok: false, failure: { kind, text, status, ...bodyField(arrival.bytes) }, answeredAt: dated }
  }
  if (operation.answer === emptyAnswer) return { ok: true, body: undefined, answeredAt: dated }
  if (!isIdentity(arrival.header('content-encoding'))) {
    return fail('malformed', 'the answer is encoded although it was asked for as it is')
  }
  if (arrival.end === 'cut') {
    return fail('too_large', 'the body passed its cap')
  }
  let body: unknown
  try {
    body = withoutContent(operation, arrival) ?? (yield* decodeSteps(arrival.bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (error instanceof JsonTooLarge) return fail('too_large', error.message)
    return fail('malformed', isWebPage(arrival) ? webPage : error.message)
  }
  const answeredAt = envelopeTime(body) ?? dated
  const code = businessCode(body)
  const refused = code === undefined ? undefined : refusalInside(operation, code, body)
  if (code !== undefined && refused) {
    const failure: Failure = {
      kind: refused,
      text: `the provider answered with code ${code}${limitWords[refused] ?? ''}`,
      status,
      code,
      ...retryField(arrival, answeredAt ?? now),
      ...bodyField(arrival.bytes),
    }
    return { ok: false, failure, answeredAt }
  }
  if (fits(shape, body)) return { ok: true, body, answeredAt }
  const shaped = shape.safeParse(body)
  if (shaped.success) return { ok: true, body: shaped.data, answeredAt }
  return fail('malformed', brokenRule(shaped.error.issues[0]!))
}

/**
 * HTTP itself says that there is no content (204), where the document promises an envelope: the same as an envelope without data,
 * which is believed of a feed, and of a list when it comes again.
 */
function withoutContent({ family }: Operation, { status, bytes }: Arrival): unknown {
  return family === 'classroom' && status === 204 && bytes.length === 0 ? { code: successCode } : undefined
}

/** What a refusal inside an answer speaks of: its own words are the provider's, and may hold anything. */
const limitWords: Readonly<Partial<Record<FailureKind, string>>> = {
  qps_limit: ' (too many requests within a second or a minute)',
  qpd_limit: ' (too many requests within a day)',
  latency_limit: ' (the range ends too near to now)',
  time_range_limit: ' (the range begins before what the plan serves)',
  time_length_limit: ' (the range is longer than the plan allows)',
  no_access: ' (the plan does not include this)',
}

function refusedByStatus(
  operation: Operation,
  arrival: Arrival,
  dated: number | undefined,
  now: number,
): Verdict {
  const { status } = arrival
  const body = errorBody(arrival)
  const answeredAt = envelopeTime(body) ?? dated
  const code = successCodes[operation.family] ? businessCode(body) : undefined
  const kind = isOfQuota(operation, arrival) ? 'quota' : kindBehindStatus(operation, status, code, body)
  const failure: Failure = {
    kind,
    text: kind === 'not_found' && isWebPage(arrival) ? webPage : refusalText(kind, status, code),
    status,
    ...(code === undefined ? {} : { code }),
    ...retryField(arrival, answeredAt ?? now),
    ...bodyField(arrival.bytes),
  }
  return { ok: false, failure, answeredAt }
}

function isOfQuota({ family }: Operation, { status, bytes }: Arrival): boolean {
  return family === 'players' && isQuotaRefusal(status, Buffer.from(bytes).toString('latin1'))
}

/** The body of a refusal of call analytics says more than its status, which is not documented: 300 may stand beside 300. */
function kindBehindStatus(
  operation: Operation,
  status: number,
  code: number | undefined,
  body: unknown,
): FailureKind {
  const ofStatus = kindOfStatus(status)
  if (code === undefined) return ofStatus
  if (operation.family !== 'analytics') {
    const known = operation.errors.find(error => error.status === status && error.code === code)
    return known?.kind ?? ofStatus
  }
  return kindOfCode(operation, code, body) ?? ofStatus
}

const webPage =
  'the address answers with a web page (text/html): it is likely no base URL of the API, or a proxy answers in its place'

function isWebPage({ header }: Arrival): boolean {
  return /^text\/html\b/i.test(header('content-type') ?? '')
}

function refusalText(kind: FailureKind, status: number, code: number | undefined): string {
  if (kind === 'redirect') return `a redirect (HTTP ${status}) is not followed`
  const answered = `the provider answered HTTP ${status}`
  return code === undefined ? answered : `${answered} with code ${code}${limitWords[kind] ?? ''}`
}

/** The body of a refusal as far as it can be read: an error page of a gateway is not JSON, and that is well. */
export function errorBody(arrival: Arrival): unknown {
  if (!isIdentity(arrival.header('content-encoding')) || arrival.end !== 'whole') return undefined
  if (arrival.bytes.length > keptBytes) return undefined
  try {
    return decodeJson(arrival.bytes)
  } catch {
    return undefined
  }
}

function businessCode(body: unknown): number | undefined {
  const code = fieldOf(body, 'code')
  return Number.isSafeInteger(code) ? (code as number) : undefined
}

/** `ts` of the classroom envelope: Unix ms, UTC. */
function envelopeTime(body: unknown): number | undefined {
  const ts = readNumber(fieldOf(body, 'ts'))
  return ts !== undefined && ts >= plausible.from && ts < plausible.to ? ts : undefined
}

/** Undefined for a success, unless its message says that a limit was exceeded: then nobody can tell that there is nothing. */
function refusalInside(operation: Operation, code: number, body: unknown): FailureKind | undefined {
  const successes = successCodes[operation.family]
  if (!successes) return undefined
  if (!successes.includes(code)) return kindOfCode(operation, code, body) ?? 'unexpected_code'
  return operation.family === 'analytics' ? limitBeside(body) : undefined
}

function limitBeside(body: unknown): FailureKind | undefined {
  return kindOfLimitMessage(fieldOf(body, 'message'))
}

/** Undefined for a code that the contract does not name. */
function kindOfCode(operation: Operation, code: number, body: unknown): FailureKind | undefined {
  if (operation.family === 'analytics' && code === limitCode) {
    return limitBeside(body) ?? 'limit_exceeded'
  }
  const documented = operation.errors.find(error => error.code === code)
  return documented && (documented.kind ?? kindOfStatus(documented.status))
}

type Broken = Extract<ReturnType<Operation['answer']['safeParse']>, { success: false }>
type Issue = Broken['error']['issues'][number]

/** Longest path that is worth reading; keys of a path may come from the provider. */
const longestPath = 120

function brokenRule(issue: Issue): string {
  const path = issue.path.map(String).join('.').slice(0, longestPath) || 'the whole body'
  return `the answer is not of its documented shape: ${path}: ${ruleOf(issue)}`
}

/** What a rule of ours says in words; the words of the library may name what came. */
function ruleOf(issue: Issue): string {
  if (issue.code === 'invalid_type') return `must be ${issue.expected}`
  return issue.code === 'custom' ? issue.message : issue.code
}

function retryField(arrival: Arrival, now: number): Pick<Failure, 'retryAfter'> {
  const retryAfter = retryAfterSeconds(arrival.header('retry-after'), now)
  return retryAfter === undefined ? {} : { retryAfter }
}

function bodyField(body: Uint8Array): Pick<Failure, 'body'> {
  if (body.length === 0) return {}
  // A copy, since a view would keep all of it.
  return { body: body.length > keptBytes ? Uint8Array.from(body.subarray(0, keptBytes)) : body }
}

const fixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Reads an HTTP date (RFC 9110, IMF-fixdate) as ms since the epoch; undefined for anything else. The form is
 * checked first because Date.parse makes a date of nearly any word that is followed by a number.
 */
function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined || !fixdate.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** The longest wait that an answer may impose, in seconds: after it, one more try costs little. */
export const longestRetryAfter = 3_600

const wholeSeconds = /^\d{1,20}$/

/**
 * How long an answer asks us to wait, in seconds from 0 to `longestRetryAfter`; undefined where it says
 * nothing readable (a word, a negative number). `now` is the provider's clock in ms, which a date is relative to.
 */
export function retryAfterSeconds(header: string | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (wholeSeconds.test(text)) return Math.min(Number(text), longestRetryAfter)
  const at = parseHttpDate(text)
  if (at === undefined) return undefined
  return Math.min(Math.max(0, Math.ceil((at - now) / 1_000)), longestRetryAfter)
}

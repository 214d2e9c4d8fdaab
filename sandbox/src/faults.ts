import type { Random } from '../../src/clock/clock.ts'

/**
 * What may happen to a request between client and world. `lost-response` acts before the connection ends,
 * `status-after-acting` before it answers with a failure; `status` does not act. `empty` leaves nothing in `data`, `no-data` leaves it out.
 * `unknown-code` succeeds in nothing that a document names: no list is there, and it says so by null.
 * `unlisted` leaves out the first player of a list, as if there were none; `miscounted` leaves it out and counts it.
 * `slipped` begins a further page of a list of players with the last of the page before, and leaves out who would have been first.
 * `unfiled` leaves out the first file of each recording that is listed.
 * `strange` answers in a shape of which nobody can tell what it holds; `weighty` with so many spaces behind it that it is a large one.
 */
export const faultKinds = [
  'reset',
  'lost-response',
  'latency',
  'drip',
  'truncated',
  'status',
  'status-after-acting',
  'redirect',
  'html',
  'malformed',
  'wrong-types',
  'empty',
  'no-data',
  'unknown-code',
  'endless',
  'looping-next-id',
  'unlisted',
  'miscounted',
  'slipped',
  'unfiled',
  'strange',
  'weighty',
] as const
export type FaultKind = (typeof faultKinds)[number]

/** A rule strikes by rate, on every n-th request, or at given ones; all counted among those it concerns. */
export interface FaultRule {
  readonly kind: FaultKind
  /** Name of an operation; every operation where absent. */
  readonly operation?: string
  readonly app?: string
  /** Of questions about a range of time, those whose range holds this moment, Unix seconds; the range without its end. */
  readonly covering?: number
  /** Share of requests, 0 to 1. */
  readonly rate?: number
  readonly every?: number
  /** Numbers of requests, from 1. */
  readonly at?: readonly number[]
  /** Of `status` (default 500), `status-after-acting` (504), `redirect` (302) and `html` (200). */
  readonly status?: number
  /** Business code of either status, and of `unknown-code` (default 1). */
  readonly code?: number
  /** Message of either status. */
  readonly message?: string
  /** Retry-After of either status, as it is sent. */
  readonly retryAfter?: string
  /** Of either status, a Retry-After that is a date so many seconds off. */
  readonly retryIn?: number
  /** Of `redirect`. */
  readonly location?: string
  /** Milliseconds of the clock: of `latency` the whole (default 1,000), of `drip` between two bytes (100). */
  readonly ms?: number
}

export class FaultError extends Error {
  override readonly name = 'FaultError'
}

/** Decides which requests meet a fault. The first rule that strikes wins. */
export class Faults {
  readonly #random: Random
  #rules: readonly { readonly rule: FaultRule; seen: number }[] = []

  constructor(random: Random, rules: readonly FaultRule[]) {
    this.#random = random
    this.set(rules)
  }

  get rules(): readonly FaultRule[] {
    return this.#rules.map(({ rule }) => rule)
  }

  /** Replaces all rules and starts their counts anew. */
  set(rules: readonly FaultRule[]): void {
    this.#rules = rules.map(rule => ({ rule, seen: 0 }))
  }

  strike(request: Request): FaultRule | undefined {
    const struck = this.#rules.filter(counted => {
      const { rule } = counted
      if (!concerns(rule, request)) return false
      counted.seen++
      return this.#strikes(rule, counted.seen)
    })
    return struck[0]?.rule
  }

  #strikes({ rate = 0, every = 0, at = [] }: FaultRule, n: number): boolean {
    const byChance = rate > 0 && this.#random.next() < rate
    return byChance || (every > 0 && n % every === 0) || at.includes(n)
  }
}

/** As far as a rule may ask. `target`: path and query. */
interface Request {
  readonly operation: string
  readonly app: string
  readonly target: string
}

function concerns(rule: FaultRule, { operation, app, target }: Request): boolean {
  const isOfRule = (rule.operation ?? operation) === operation && (rule.app ?? app) === app
  return isOfRule && (rule.covering === undefined || isAbout(target, rule.covering))
}

function isAbout(target: string, at: number): boolean {
  const { searchParams } = new URL(target, 'http://provider')
  const bound = (...names: readonly string[]) =>
    Number(names.map(name => searchParams.get(name)).find(value => value !== null) ?? Number.NaN)
  return bound('start_ts', 'startTs') <= at && at < bound('end_ts', 'endTs')
}

const fields: Readonly<Record<keyof FaultRule, (value: unknown) => boolean>> = {
  kind: value => (faultKinds as readonly unknown[]).includes(value),
  operation: isText,
  app: isText,
  covering: Number.isInteger,
  rate: value => isNumber(value) && Number(value) <= 1,
  every: isNumber,
  at: value => Array.isArray(value) && value.every(isNumber),
  status: value => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
  code: Number.isInteger,
  message: isText,
  retryAfter: isText,
  retryIn: isNumber,
  location: isText,
  ms: isNumber,
}

/** Reads rules that came as JSON. Throws FaultError naming the rule and the field. */
export function parseFaultRules(json: unknown): readonly FaultRule[] {
  if (!Array.isArray(json)) throw new FaultError('the faults must be an array of rules')
  return json.map((rule: unknown, index) => {
    if (typeof rule !== 'object' || rule === null || !('kind' in rule)) {
      throw new FaultError(`rule ${index} must have a kind: ${faultKinds.join(', ')}`)
    }
    const wrong = Object.entries(rule).find(([name, value]) => {
      return !Object.hasOwn(fields, name) || !fields[name as keyof FaultRule](value)
    })
    if (wrong)
      throw new FaultError(`rule ${index}: ${wrong[0]} is not a field or has a value that is not allowed`)
    return rule as FaultRule
  })
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && value >= 0
}

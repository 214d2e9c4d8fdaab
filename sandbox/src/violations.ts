/** Rules of the documents that a request may break. Limits of a plan are counted in every reading at once. */
export const violationKinds = [
  'parameters',
  'authentication',
  'path',
  'second-sliding',
  'second-fixed',
  'minute-sliding',
  'minute-fixed',
  'day-rolling',
  'day-utc',
  'delay',
  'reach',
  'span',
  'players-second-sliding',
  'players-second-fixed',
  'players-minute-sliding',
  'players-minute-fixed',
] as const
export type ViolationKind = (typeof violationKinds)[number]

/** Requests that broke a rule. One that breaks several counts once as a request, and once under each kind. */
export class Violations {
  requests = 0
  readonly #kinds = new Map<ViolationKind, number>()

  /** Counts one request by the rules that it broke, if any. */
  count(broken: Iterable<ViolationKind>): void {
    const kinds = new Set(broken)
    if (kinds.size > 0) this.requests++
    for (const kind of kinds) this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1)
  }

  get byKind(): Readonly<Record<ViolationKind, number>> {
    const entries = violationKinds.map(kind => [kind, this.#kinds.get(kind) ?? 0])
    return Object.fromEntries(entries) as Record<ViolationKind, number>
  }
}

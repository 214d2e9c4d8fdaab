import type { Clock } from '../clock/clock.ts'
import type { PageOutcome, StreamLabels } from '../engine/ports.ts'
import type { FailureKind } from '../provider/errors.ts'
import { type Family, families } from '../provider/operation.ts'
import type { ProviderStatus, StreamReading } from './process-status.ts'
import { isFault } from './wording.ts'

/** When something worked last, and since when it has failed; ms since the epoch. */
interface Course<Why> {
  workedAt: number | null
  failing: { readonly since: number; readonly why: Why } | null
}

/** Outcomes of a page that say nothing of the provider: a room that is gone, or another commit that came first. */
const neutral: ReadonlySet<PageOutcome> = new Set(['gone', 'stale', 'fenced', 'unverified'])

/** Since when the provider has failed an app, and a stream has brought nothing, as this process saw it. */
export class Outages {
  readonly #clock: Clock
  readonly #providers = new Map<string, Course<FailureKind>>()
  readonly #streams = new Map<string, Course<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  request(app: string, family: Family, outcome: 'ok' | FailureKind): void {
    this.#note(this.#providers, [app, family], outcome !== 'ok' && isFault(outcome) ? outcome : undefined)
  }

  page({ app, stream }: StreamLabels, outcome: PageOutcome): void {
    if (neutral.has(outcome)) return
    const isStored = outcome === 'committed' || outcome === 'empty'
    this.#note(this.#streams, [app, stream], isStored ? undefined : outcome)
  }

  providersOf(app: string): readonly ProviderStatus[] {
    return families.flatMap(family => {
      const course = this.#providers.get(keyOf([app, family]))
      if (!course) return []
      const { workedAt, failing } = course
      return [
        {
          ...{ app, family, answeredAt: workedAt === null ? null : isoTime(workedAt) },
          failing: failing && { since: isoTime(failing.since), kind: failing.why },
        },
      ]
    })
  }

  streamOf(app: string, stream: string): Pick<StreamReading, 'readAt' | 'failing'> {
    const { workedAt = null, failing = null } = this.#streams.get(keyOf([app, stream])) ?? {}
    return {
      readAt: workedAt === null ? null : isoTime(workedAt),
      failing: failing && { since: isoTime(failing.since), reason: failing.why.replaceAll('_', ' ') },
    }
  }

  /** Apps that the provider, or a stream of theirs, has failed for longer than `ms`. */
  failing(ms: number): readonly string[] {
    const before = this.#clock.now() - ms
    const courses = [...this.#providers, ...this.#streams] as const
    return courses.flatMap(([key, { failing }]) =>
      failing && failing.since <= before ? [(JSON.parse(key) as readonly string[])[0]!] : [],
    )
  }

  forget(app: string): void {
    for (const courses of [this.#providers, this.#streams]) {
      for (const key of courses.keys())
        if ((JSON.parse(key) as readonly string[])[0] === app) courses.delete(key)
    }
  }

  clear(): void {
    this.#providers.clear()
    this.#streams.clear()
  }

  #note<Why>(courses: Map<string, Course<Why>>, key: readonly string[], why: Why | undefined): void {
    const now = this.#clock.now()
    const name = keyOf(key)
    const course = courses.get(name) ?? { workedAt: null, failing: null }
    if (why === undefined) courses.set(name, { workedAt: now, failing: null })
    else courses.set(name, { ...course, failing: { since: course.failing?.since ?? now, why } })
  }
}

function keyOf(parts: readonly string[]): string {
  return JSON.stringify(parts)
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

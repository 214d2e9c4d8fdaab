import type { Clock } from '../clock/clock.ts'
import type { PageOutcome, StreamLabels } from '../engine/ports.ts'
import type { FailureKind } from '../provider/errors.ts'
import { type Family, families } from '../provider/operation.ts'
import type { ProviderStatus, StreamReading } from './process-status.ts'
import { isOfAnalytics } from './thresholds.ts'
import { isFault } from './wording.ts'

/** When something worked last, and since when it has failed; ms since the epoch. */
interface Course<Why> {
  workedAt: number | null
  failing: { readonly since: number; readonly last: number; readonly why: Why } | null
}

/**
 * What has not failed for so long, ms, fails no more: where nothing was read since either, what failed is over, as the
 * quizzes of a room are that is gone. Nothing that fails pauses for longer.
 */
const OVER_MS = { ofRooms: 7_200_000, ofAnalytics: 86_400_000 }

/** Outcomes of a page that say nothing of the provider: a room that is gone, or another commit that came first. */
const neutral: ReadonlySet<PageOutcome> = new Set(['gone', 'stale', 'fenced', 'unverified'])

/** By app, and then by service or stream. */
type Courses<Why> = Map<string, Map<string, Course<Why>>>

/** Since when the provider has failed an app, and a stream has brought nothing, as this process saw it. */
export class Outages {
  readonly #clock: Clock
  readonly #providers: Courses<FailureKind> = new Map()
  readonly #streams: Courses<string> = new Map()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  request(app: string, family: Family, outcome: 'ok' | FailureKind): void {
    this.#note(this.#providers, app, family, outcome !== 'ok' && isFault(outcome) ? outcome : undefined)
  }

  page({ app, stream }: StreamLabels, outcome: PageOutcome): void {
    if (neutral.has(outcome)) return
    const isStored = outcome === 'committed' || outcome === 'empty'
    this.#note(this.#streams, app, stream, isStored ? undefined : outcome)
  }

  providersOf(app: string): readonly ProviderStatus[] {
    return families.flatMap(family => {
      const course = this.#providers.get(app)?.get(family)
      if (!course) return []
      const { workedAt } = course
      const failing = this.#stillFailing(course, family)
      return [
        {
          ...{ app, family, answeredAt: workedAt === null ? null : isoTime(workedAt) },
          failing: failing && { since: isoTime(failing.since), kind: failing.why },
        },
      ]
    })
  }

  /** Undefined where no page of it said anything. */
  streamOf(app: string, stream: string): Pick<StreamReading, 'readAt' | 'failing'> | undefined {
    const course = this.#streams.get(app)?.get(stream)
    if (!course) return undefined
    const { workedAt } = course
    const failing = this.#stillFailing(course, stream)
    return {
      readAt: workedAt === null ? null : isoTime(workedAt),
      failing: failing && { since: isoTime(failing.since), reason: failing.why.replaceAll('_', ' ') },
    }
  }

  /** Apps that the provider, or a stream of theirs, has failed for longer than `ms`. */
  failing(ms: number): readonly string[] {
    const before = this.#clock.now() - ms
    return [...this.#providers, ...this.#streams].flatMap(([app, courses]) =>
      courses.entries().some(([member, course]) => {
        const failing = this.#stillFailing(course, member)
        return failing && failing.since <= before
      })
        ? [app]
        : [],
    )
  }

  forget(app: string): void {
    this.#providers.delete(app)
    this.#streams.delete(app)
  }

  clear(): void {
    this.#providers.clear()
    this.#streams.clear()
  }

  #stillFailing<Why>({ failing }: Course<Why>, member: string): Course<Why>['failing'] {
    const over = isOfAnalytics(member) ? OVER_MS.ofAnalytics : OVER_MS.ofRooms
    return failing && this.#clock.now() - failing.last < over ? failing : null
  }

  #note<Why>(of: Courses<Why>, app: string, member: string, why: Why | undefined): void {
    const now = this.#clock.now()
    const courses = of.get(app) ?? new Map<string, Course<Why>>()
    of.set(app, courses)
    const course = courses.get(member) ?? { workedAt: null, failing: null }
    courses.set(member, course)
    if (why === undefined) course.workedAt = now
    const before = this.#stillFailing(course, member)
    course.failing = why === undefined ? null : { since: before?.since ?? now, last: now, why }
  }
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

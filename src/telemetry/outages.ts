import type { Clock } from '../clock/clock.ts'
import type { PageOutcome, StreamLabels } from '../engine/ports.ts'
import type { FailureKind } from '../provider/errors.ts'
import { type Family, families } from '../provider/operation.ts'
import type { ProviderStatus, StreamReading } from './process-status.ts'
import { isOfAnalytics } from './thresholds.ts'
import { isFault, isRefusal, reasonText } from './wording.ts'

/** When something worked last, and since when it has failed; ms since the epoch. */
interface Course<Why> {
  workedAt: number | null
  failing: Failing<Why> | null
}

interface Failing<Why> {
  readonly since: number
  readonly last: number
  readonly why: Why
  /** Since when it was this and nothing else. */
  readonly whySince: number
}

/** Refusals of one kind in a row, whatever was answered between them; ms since the epoch. */
interface Spell {
  readonly family: Family
  readonly kind: FailureKind
  readonly since: number
  readonly last: number
  readonly requests: number
  /** Those before, longer ago than refusals that go on are apart: how many spells, and the longest pause between two. */
  readonly before?:
    | (Pick<Spell, 'since' | 'requests'> & { readonly spells: number; readonly pause: number })
    | undefined
}

/**
 * What has not failed for so long, ms, fails no more: where nothing was read since either, what failed is over, as the
 * quizzes of a room are that is gone. Nothing that fails pauses for longer.
 */
const OVER_MS = { ofRooms: 7_200_000, ofAnalytics: 86_400_000 }

/**
 * Refusals so far apart, ms, are none that go on. What the plan does not have is asked for once an hour. Where others come
 * seldom, two may be by chance; the third says that they go on, for half as long again as the pause before it.
 */
const SPELL_MS = 900_000
const LONG_SPELL_MS = 4_500_000
const NEXT_SPELL = 1.5

/** Outcomes of a page that say nothing of the provider: a room that is gone, or another commit that came first. */
const neutral: ReadonlySet<PageOutcome> = new Set(['gone', 'stale', 'fenced', 'unverified'])

/** By app, and then by service or stream. */
type Courses<Why> = Map<string, Map<string, Course<Why>>>

/** Since when the provider has failed an app, and a stream has brought nothing, as this process saw it. */
export class Outages {
  readonly #clock: Clock
  readonly #providers: Courses<FailureKind> = new Map()
  readonly #streams: Courses<string> = new Map()
  readonly #refusals = new Map<string, readonly Spell[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  request(app: string, family: Family, outcome: 'ok' | FailureKind): void {
    this.#note(this.#providers, app, family, outcome !== 'ok' && isFault(outcome) ? outcome : undefined)
    if (outcome !== 'ok' && isRefusal(outcome)) this.#refused(app, family, outcome)
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
      const spells = this.#spells(app).filter(each => each.family === family)
      const refusals = spells.map(({ kind, since, last, requests }) => ({
        ...{ kind, since: isoTime(since), last: isoTime(last), requests },
      }))
      return [
        {
          ...{ app, family, answeredAt: workedAt === null ? null : isoTime(workedAt) },
          failing: failing && {
            ...{ since: isoTime(failing.since), last: isoTime(failing.last) },
            ...{ kind: failing.why, kindSince: isoTime(failing.whySince) },
          },
          ...(refusals.length > 0 && { refusals }),
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
      failing: failing && {
        ...{ since: isoTime(failing.since), last: isoTime(failing.last) },
        reason: reasonText(failing.why),
      },
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
    for (const told of [this.#providers, this.#streams, this.#refusals]) told.delete(app)
  }

  clear(): void {
    for (const told of [this.#providers, this.#streams, this.#refusals]) told.clear()
  }

  /** Those that go on. */
  #spells(app: string): readonly Spell[] {
    const now = this.#clock.now()
    return this.#remembered(app)
      .map(withThoseBefore)
      .filter(({ last, patience }) => now - last < patience)
  }

  /** Those that others may go on with. */
  #remembered(app: string): readonly Spell[] {
    const now = this.#clock.now()
    return (this.#refusals.get(app) ?? []).filter(({ last }) => now - last < LONG_SPELL_MS)
  }

  #refused(app: string, family: Family, kind: FailureKind): void {
    const now = this.#clock.now()
    const isOther = (each: Spell) => each.family !== family || each.kind !== kind
    const spell = this.#remembered(app).find(each => !isOther(each))
    const goesOn = spell && now - spell.last < pauseOfSpell(kind)
    const next = goesOn
      ? { ...spell, last: now, requests: spell.requests + 1 }
      : { family, kind, since: now, last: now, requests: 1, before: spell && asBefore(spell, now) }
    this.#refusals.set(app, [...this.#remembered(app).filter(isOther), next])
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
    const whySince = before?.why === why ? before?.whySince : undefined
    course.failing =
      why === undefined ? null : { since: before?.since ?? now, last: now, why, whySince: whySince ?? now }
  }
}

function asBefore({ since, last, requests, before }: Spell, now: number): Spell['before'] {
  return {
    since: before?.since ?? since,
    requests: requests + (before?.requests ?? 0),
    spells: 1 + (before?.spells ?? 0),
    pause: Math.max(now - last, before?.pause ?? 0),
  }
}

function withThoseBefore(spell: Spell): Spell & { readonly patience: number } {
  const { kind, requests, before } = spell
  const patience = pauseOfSpell(kind)
  if (!before || before.spells < 2) return { ...spell, patience }
  const whole = { ...spell, since: before.since, requests: requests + before.requests }
  return { ...whole, patience: Math.max(patience, NEXT_SPELL * before.pause) }
}

function pauseOfSpell(kind: FailureKind): number {
  return kind === 'no_access' || kind === 'qpd_limit' ? LONG_SPELL_MS : SPELL_MS
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

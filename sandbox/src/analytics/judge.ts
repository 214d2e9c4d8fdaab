import { analyticsLimits } from '../../../src/provider/analytics/index.ts'
import type { PlanLimits } from '../../../src/provider/limits.ts'
import type { FaultRule } from '../faults.ts'
import type { Stage } from '../stage.ts'
import type { ViolationKind } from '../violations.ts'
import { type AppWithCredential, identify } from './credentials.ts'
import { weightOf } from './heavy.ts'
import { Limiter } from './limiter.ts'
import type { Play } from './plays.ts'
import { Query } from './query.ts'
import { type Asked, ruleRange, servedRange } from './ranges.ts'
import { AnalyticsRefusal, beyondLimit, invalid } from './refusals.ts'
import type { AnalyticsContext } from './visit.ts'

export interface Heard {
  readonly verdict:
    | {
        readonly kind: 'answered'
        readonly answer: object
        /** What becomes of the answer on its way for what is asked. */
        readonly weight: FaultRule | undefined
      }
    | { readonly kind: 'refused'; readonly refusal: AnalyticsRefusal }
  /** The rules of the document that the request broke, whether or not it was refused for it. */
  readonly broken: readonly ViolationKind[]
}

type Answered = Pick<Extract<Heard['verdict'], { readonly kind: 'answered' }>, 'answer' | 'weight'>

interface Request {
  readonly params: URLSearchParams
  readonly authorization: string | undefined
}

const noAccess = 'you have no auth to access this service, please buy or upgrade your service package'

/** Decides on every request: first who asks, then how often, then about what. */
export class Judge {
  readonly #stage: Stage
  readonly #limiter: Limiter

  constructor(stage: Stage) {
    this.#stage = stage
    this.#limiter = new Limiter(stage.settings.switches)
  }

  /** Requests must be heard in the order of arrival. */
  hear(play: Play, request: Request): Heard {
    const broken: ViolationKind[] = []
    try {
      const answered = this.#decide(play, request, broken)
      return { verdict: { kind: 'answered', ...answered }, broken }
    } catch (refusal) {
      if (!(refusal instanceof AnalyticsRefusal)) throw refusal
      return { verdict: { kind: 'refused', refusal }, broken: [...broken, ...refusal.broken] }
    }
  }

  /** Throws AnalyticsRefusal; `broken` grows by the limits that do not keep the request from being decided. */
  #decide(play: Play, { params, authorization }: Request, broken: ViolationKind[]): Answered {
    const { settings } = this.#stage
    const { name, limitGroup } = play.operation
    const query = new Query(params)
    const app = identify(settings.apps, { authorization, appid: query.optionalText('appid') })
    const documented = analyticsLimits[limitGroup][app.plan ?? 'premium']
    if (!documented) throw beyondLimit(noAccess, name, settings.switches)
    const limits = { ...documented, ...app.limits?.[limitGroup] }
    const rate = this.#count(play, app, limits)
    broken.push(...rate.broken)
    const asked = readRange(query, play)
    const time = this.#stage.universe.now()
    broken.push(...ruleRange(asked, limits, time).broken)
    const served = servedRange(settings, app.id, limitGroup, limits, time)
    const refusal = rate.refusal ?? ruleRange(asked, served, time).refusal
    if (refusal) throw beyondLimit(refusal, name, settings.switches)
    return this.#answer(play, app, { query, asked, time, delay: limits.dataDelay })
  }

  #count({ operation }: Play, { id, rest }: AppWithCredential, { rates }: PlanLimits) {
    return this.#limiter.rule({
      app: id,
      key: rest.key,
      operation: operation.name,
      group: operation.limitGroup,
      rates,
      time: this.#stage.universe.clockTime(),
    })
  }

  #answer(
    play: Play,
    { id }: AppWithCredential,
    asks: { readonly query: Query; readonly asked: Asked; readonly time: number; readonly delay: number },
  ): Answered {
    const { settings, universe } = this.#stage
    const { query, asked, time, delay } = asks
    const now = universe.happened()
    const counted = time - delay * 1_000
    const known = Math.min(now, counted)
    const context: AnalyticsContext = {
      settings,
      app: id,
      world: universe.app(id)!,
      insights: universe.insights(id),
      query,
      asked,
      time,
      now,
      known,
      counted,
    }
    return { answer: play.act(context), weight: weightOf(play.operation.name, context) }
  }
}

function readRange(query: Query, { range: [startName, endName] }: Play): Asked {
  const asked = { start: query.seconds(startName), end: query.seconds(endName) }
  if (asked.end < asked.start) throw invalid(`${endName} before ${startName}`)
  return asked
}

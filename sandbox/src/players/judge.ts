import type { Stage } from '../stage.ts'
import type { ViolationKind } from '../violations.ts'
import { isRecord } from './checks.ts'
import { identify } from './credentials.ts'
import { PlayerLimiter } from './limiter.ts'
import type { Play } from './plays.ts'
import { PlayerRefusal, tooFast } from './refusals.ts'
import type { Action, PlayerRequest } from './visit.ts'

export interface Heard {
  /** Throws PlayerRefusal; nothing has been done before. */
  readonly action: Action
  /** The rules of the document that the request broke, whether or not it was refused for it. */
  readonly broken: readonly ViolationKind[]
}

/** Decides on every request when it arrives: first who asks, then how often, then about what. */
export class PlayerJudge {
  readonly #stage: Stage
  readonly #limiter: PlayerLimiter

  constructor(stage: Stage) {
    this.#stage = stage
    this.#limiter = new PlayerLimiter(stage.settings.switches)
  }

  /** Requests must be heard in the order of arrival. */
  hear(play: Play, request: PlayerRequest & { readonly authorization: string | undefined }): Heard {
    const broken: ViolationKind[] = []
    try {
      return { action: this.#decide(play, request, broken), broken }
    } catch (refusal) {
      if (!(refusal instanceof PlayerRefusal)) throw refusal
      const action = () => {
        throw refusal
      }
      return { action, broken: [...broken, ...refusal.broken] }
    }
  }

  /** Throws PlayerRefusal; `broken` grows by the limits, whether or not they are what it is refused for. */
  #decide(
    { operation, read }: Play,
    request: PlayerRequest & { readonly authorization: string | undefined },
    broken: ViolationKind[],
  ): Action {
    const { settings, universe } = this.#stage
    const { authorization, params, body, query } = request
    const app = identify(settings.apps, { authorization, appId: params.appId ?? '' })
    const ruling = this.#limiter.rule({
      app: app.id,
      key: app.rest.key,
      operation: operation.name,
      isNamed: isRecord(body) && typeof body.name === 'string',
      filter: query.get('filter') ?? undefined,
      time: universe.clockTime(),
    })
    broken.push(...ruling.broken)
    if (ruling.isRefused) throw tooFast()
    const now = universe.advance()
    return read({ request, app, settings, now, world: universe.app(app.id)! })
  }
}

import type { Clock } from '../../clock/clock.ts'
import { allowanceOf } from '../../config/allowance.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { callSearch } from '../../provider/analytics/index.ts'
import type { Failure } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import { analyticsScope, sharedRates } from '../wiring/counters.ts'
import type { CountedCheck } from './counted.ts'

/** The request that is asked to see whether the credentials are taken: the calls of one minute, at most one of them. */
const minute = 60

/** Searches the calls of one minute. Who has no access is told of elsewhere, and not asked. */
export function analyticsCheck(config: Config, clock: Clock): CountedCheck {
  return {
    service: 'call analytics',
    apps: config.apps.filter(app => isAsked(config, app)),
    question: app => {
      const limits = allowanceOf(app, callSearch.limitGroup)!
      // In the middle of what can be asked for, so that no clock that is a little wrong matters.
      const start = Math.floor(clock.now() / 1_000 - (limits.availableData + limits.dataDelay) / 2)
      const range = { start_ts: start, end_ts: start + Math.min(minute, limits.timeFrame) - 1 }
      const request = requestLine(callSearch, { ...range, appid: app.id, page_no: 1, page_size: 1 })
      const rates = sharedRates(config, app, callSearch.limitGroup, limits.rates)
      return { request, rates, scope: analyticsScope(config, app), group: callSearch.limitGroup }
    },
    advice,
  }
}

function isAsked({ provider }: Config, app: AppConfig): boolean {
  return Boolean(provider.analytics && app.rest && allowanceOf(app, callSearch.limitGroup))
}

function advice({ kind }: Failure): string {
  switch (kind) {
    case 'unauthorized':
    case 'forbidden':
      return ': look at rest.key and rest.secret of the app'
    case 'no_access':
      return ': look at the plan of the app'
    case 'network':
    case 'timeout':
    case 'not_found':
    case 'redirect':
    case 'malformed':
      return ': look at provider.analytics.url'
    case 'bad_request':
      return ': look at the id of the app'
    default:
      return ''
  }
}

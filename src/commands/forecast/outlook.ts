import type { AnalyticsStreamName, AppConfig, Config } from '../../config/config.ts'
import { forecastGroup, type GroupForecast } from '../../planning/forecast.ts'
import type { GroupFacts } from '../../planning/forecast-facts.ts'
import { factsOf } from './facts.ts'

/** What becomes of apps that are alike in everything that the forecast reckons with. */
export interface Outlook {
  readonly apps: readonly AppConfig[]
  readonly groups: readonly GroupForecast[]
  /** Streams of which data would be lost, and how much of them. */
  readonly losses: readonly Loss[]
}

export interface Loss {
  readonly stream: AnalyticsStreamName
  /** Share of the data; of details, of the calls. */
  readonly share: number
  /** The operator knows. */
  readonly accepted: boolean
}

/** Reckons for every app; what is equal is reckoned once, however many apps there are. */
export function outlooksOf(config: Config): readonly Outlook[] {
  const alike = new Map<string, { readonly apps: AppConfig[]; readonly facts: readonly GroupFacts[] }>()
  for (const [app, facts] of factsOf(config)) {
    const key = JSON.stringify([facts, app.plan, app.acceptLoss])
    const known = alike.get(key)
    if (known) known.apps.push(app)
    else alike.set(key, { apps: [app], facts })
  }
  return [...alike.values()].map(({ apps, facts }) => {
    const groups = facts.map(forecastGroup)
    return { apps, groups, losses: lossesOf(groups, apps[0]!) }
  })
}

/** A stream with several granularities counts with the one that loses most. */
function lossesOf(groups: readonly GroupForecast[], { acceptLoss }: AppConfig): readonly Loss[] {
  const shares = new Map<AnalyticsStreamName, number>()
  for (const { stream, lost } of groups.flatMap(({ streams }) => streams)) {
    const name = stream as AnalyticsStreamName
    if (lost > 0) shares.set(name, Math.max(lost, shares.get(name) ?? 0))
  }
  return [...shares].map(([stream, share]) => ({ stream, share, accepted: acceptLoss.includes(stream) }))
}

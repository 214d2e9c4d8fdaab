import { groupOfStream } from '../../config/allowance.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { FIRST_LEAD } from '../../engine/window-following.ts'
import { LOOK_EVERY_MS } from '../../engine/window-source.ts'
import type { AnalyticsGroup } from '../../provider/analytics/index.ts'
import { windowStreamNames } from '../../streams/stream.ts'
import { analyticsSettings } from '../analytics-settings.ts'
import { analyticsScope } from '../wiring/counters.ts'

/**
 * Seconds from a mark until the daemon has certainly asked for what the mark begins with: it looks for marks now and
 * then, and what leaves the reach first is asked for first, a question for each series of all apps that share the budget,
 * as slowly as the budget lasts.
 */
export function leadOf(config: Config, app: AppConfig, group: AnalyticsGroup): number {
  const scope = analyticsScope(config, app)
  const sharing = config.apps.filter(each => analyticsScope(config, each) === scope)
  const series = sharing.reduce((sum, each) => sum + seriesIn(config, each, group), 0)
  const { rates } = analyticsSettings(config, app).limits[group]!
  const spacing = Math.max(0, ...rates.map(({ window, requests }) => window / requests))
  return Math.ceil(LOOK_EVERY_MS / 1_000 + FIRST_LEAD + Math.max(1, series) * spacing)
}

function seriesIn(config: Config, app: AppConfig, group: AnalyticsGroup): number {
  const { windows } = analyticsSettings(config, app)
  return windowStreamNames
    .filter(name => groupOfStream[name] === group)
    .reduce((sum, name) => sum + (windows[name]?.series.length ?? 0), 0)
}

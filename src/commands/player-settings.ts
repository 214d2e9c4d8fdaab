import { isDrained } from '../config/availability.ts'
import type { AppConfig, Config } from '../config/config.ts'
import type { GroupLimit, StreamSettings } from '../engine/settings.ts'
import { perMinute, perSecond } from '../provider/limits.ts'
import { type PlayerGroup, playerGroups } from '../provider/players/index.ts'
import { counterScope } from './wiring/counters.ts'

/** How the cloud players of an app are listed; undefined where they are not. */
export function playerStream(config: Config, app: AppConfig): StreamSettings | undefined {
  const settings = app.streams['cloud-players']
  if (settings === 'off' || !isDrained(config, app, 'cloud-players')) return undefined
  const { every } = settings
  return { activeEvery: every, idleEvery: every, memory: 0, concurrency: 1 }
}

/** What may be asked of the cloud player service for an app; nothing where it has no key or there is no service. */
export function playerLimits(
  config: Config,
  app: AppConfig,
): Readonly<Partial<Record<PlayerGroup, GroupLimit>>> {
  if (!config.provider.players || !app.rest) return {}
  const scope = playerScope(config, app)
  return Object.fromEntries(playerGroups.map(group => [group, groupLimit(app, group, scope)] as const))
}

/** Whose counter an app's requests to the cloud player service are debited to. */
function playerScope({ provider }: Config, app: AppConfig): string {
  return counterScope(provider.players?.counters, app)
}

function groupLimit({ limits }: AppConfig, group: PlayerGroup, scope: string): GroupLimit {
  const { perSecond: second, perMinute: minute, concurrency } = limits[group]
  const rates = [perSecond(second), ...(minute === undefined ? [] : [perMinute(minute)])]
  return { scope, rates, concurrency, counted: 'ledger' }
}

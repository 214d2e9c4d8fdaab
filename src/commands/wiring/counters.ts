import { createHash } from 'node:crypto'
import { appsText } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf, ratesOf } from '../../config/limits.ts'
import { type AnalyticsGroup, analyticsGroups } from '../../provider/analytics/index.ts'
import { type Rate, strictest } from '../../provider/limits.ts'
import { type PlayerGroup, playerGroups } from '../../provider/players/index.ts'
import { countText } from '../../telemetry/wording.ts'
import { windowText } from '../cli/output.ts'

const groupsOf = { analytics: analyticsGroups, players: playerGroups } as const
type Service = keyof typeof groupsOf

/** The apps that draw on one counter, with what the plan or the limits of each allow. */
interface Counter {
  readonly service: Service
  readonly group: string
  readonly apps: AppConfig[]
  /** Rates of the apps, each once. */
  readonly rates: Map<string, readonly Rate[]>
}

const known = new WeakMap<Config, ReadonlyMap<string, Counter>>()

/**
 * Whose counter an app's requests of a service are debited to: the credential's, told by a digest of its key that tells
 * nothing of it, or the app's own where the operator knows that the provider counts so.
 */
export function counterScope({ provider }: Config, { id, rest }: AppConfig, service: Service): string {
  if (provider[service]?.counters === 'app' || !rest) return id
  // Loading the configuration has read the key, wherever it lies.
  const [key = ''] = rest.key.known()
  return `key:${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
}

/**
 * How often the apps that share an app's counter may ask together: one counter has one rate, and where they have
 * different plans or limits only the strictest is inside every reading. `own`: what the app itself is allowed, or would be.
 */
export function sharedRates(
  config: Config,
  app: AppConfig,
  group: AnalyticsGroup | PlayerGroup,
  own: readonly Rate[],
): readonly Rate[] {
  const service = isOfPlayers(group) ? 'players' : 'analytics'
  const counter = countersOf(config).get(`${counterScope(config, app, service)} ${group}`)
  const mine = JSON.stringify(allowedTo(app, service, group))
  const others = [...(counter?.rates ?? [])].filter(([key]) => key !== mine)
  return strictest([...own, ...others.flatMap(([, rates]) => rates)])
}

function isOfPlayers(group: string): group is PlayerGroup {
  return playerGroups.some(each => each === group)
}

function allowedTo(app: AppConfig, service: Service, group: string): readonly Rate[] | undefined {
  return service === 'players' ? ratesOf(app.limits[group]!) : allowanceOf(app, group)?.rates
}

/** Where apps of different plans or limits share counters: one sentence for each key. */
export function mixedPlans(config: Config): readonly string[] {
  const mixed = [...countersOf(config)].filter(([, { rates }]) => rates.size > 1)
  const byScope = Map.groupBy(mixed, ([key]) => key.split(' ')[0]!)
  return [...byScope.values()].map(counters => {
    const apps = new Set(counters.flatMap(([, { apps }]) => apps.map(({ id }) => id)))
    const groups = counters.map(([, { group, rates }]) => `${group} (${inWords([...rates.values()].flat())})`)
    const services = new Set(counters.map(([, { service }]) => `provider.${service}.counters: app`))
    return (
      `${appsText([...apps])} have one REST key and different limits, so the strictest hold for all of them together: ` +
      `${groups.join(', ')}; if the provider counts each app by itself, say so with ${[...services].join(' and ')}`
    )
  })
}

function countersOf(config: Config): ReadonlyMap<string, Counter> {
  const made = known.get(config) ?? findCounters(config)
  known.set(config, made)
  return made
}

function findCounters(config: Config): ReadonlyMap<string, Counter> {
  const counters = new Map<string, Counter>()
  const services = (['analytics', 'players'] as const).filter(service => config.provider[service])
  const counted = services.flatMap(service => groupsOf[service].map(group => ({ service, group })))
  for (const app of config.apps.filter(({ rest }) => rest)) {
    for (const { service, group } of counted) {
      const rates = allowedTo(app, service, group)
      if (!rates) continue
      const key = `${counterScope(config, app, service)} ${group}`
      const counter: Counter = counters.get(key) ?? { service, group, apps: [], rates: new Map() }
      counter.apps.push(app)
      counter.rates.set(JSON.stringify(rates), rates)
      counters.set(key, counter)
    }
  }
  return counters
}

function inWords(rates: readonly Rate[]): string {
  return strictest(rates)
    .map(({ requests, window }) => `${countText(requests)} ${windowText(window)}`)
    .join(', ')
}

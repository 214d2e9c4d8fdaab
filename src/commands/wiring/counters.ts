import { createHash } from 'node:crypto'
import { appsText } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf } from '../../config/limits.ts'
import { type AnalyticsGroup, analyticsGroups } from '../../provider/analytics/index.ts'
import { type Rate, strictest } from '../../provider/limits.ts'
import { countText } from '../../telemetry/wording.ts'
import { windowText } from '../cli/output.ts'

/** The apps that draw on one counter of call analytics, with what the plan of each allows. */
interface Counter {
  readonly group: AnalyticsGroup
  readonly apps: AppConfig[]
  /** Rates of the plans, each once. */
  readonly rates: Map<string, readonly Rate[]>
}

const known = new WeakMap<Config, ReadonlyMap<string, Counter>>()

/**
 * Whose counter an app's requests are debited to: the credential's, told by a digest of its key that tells nothing of
 * it, or the app's own where the operator knows that the provider counts so.
 */
export function counterScope(counters: 'credential' | 'app' | undefined, { id, rest }: AppConfig): string {
  if (counters === 'app' || !rest) return id
  // Loading the configuration has read the key, wherever it lies.
  const [key = ''] = rest.key.known()
  return `key:${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
}

/** Whose counter an app's analytics requests are debited to. */
export function analyticsScope({ provider }: Config, app: AppConfig): string {
  return counterScope(provider.analytics?.counters, app)
}

/**
 * How often the apps that share an app's counter may ask together: one counter has one rate, and where they have
 * different plans only the strictest is inside every reading. `own`: what the app itself is allowed, or would be.
 */
export function sharedRates(
  config: Config,
  app: AppConfig,
  group: AnalyticsGroup,
  own: readonly Rate[],
): readonly Rate[] {
  const counter = countersOf(config).get(`${analyticsScope(config, app)} ${group}`)
  const mine = JSON.stringify(allowanceOf(app, group)?.rates)
  const others = [...(counter?.rates ?? [])].filter(([key]) => key !== mine)
  return strictest([...own, ...others.flatMap(([, rates]) => rates)])
}

/** Where apps of different plans share counters: one sentence for each key. */
export function mixedPlans(config: Config): readonly string[] {
  const mixed = [...countersOf(config)].filter(([, { rates }]) => rates.size > 1)
  const byScope = Map.groupBy(mixed, ([key]) => key.split(' ')[0]!)
  return [...byScope.values()].map(counters => {
    const apps = new Set(counters.flatMap(([, { apps }]) => apps.map(({ id }) => id)))
    const groups = counters.map(([, { group, rates }]) => `${group} (${inWords([...rates.values()].flat())})`)
    return (
      `${appsText([...apps])} have one REST key and different limits, so the strictest hold for all of them together: ` +
      `${groups.join(', ')}; if the provider counts each app by itself, say so with provider.analytics.counters: app`
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
  for (const app of config.apps) {
    if (!app.rest || !config.provider.analytics) continue
    const scope = analyticsScope(config, app)
    for (const group of analyticsGroups) {
      const allowance = allowanceOf(app, group)
      if (!allowance) continue
      const key = `${scope} ${group}`
      const counter: Counter = counters.get(key) ?? { group, apps: [], rates: new Map() }
      counter.apps.push(app)
      counter.rates.set(JSON.stringify(allowance.rates), allowance.rates)
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

import { type Family, families } from '../provider/operation.ts'
import type { Stream, StreamName } from '../streams/stream.ts'
import type { AppConfig, Config } from './config.ts'
import { allowanceOf } from './limits.ts'

type Settled = Pick<Config, 'provider' | 'apps' | 'streams'>

/** What each service asks of an app, and how people speak of it. */
export const services = {
  classroom: { section: 'classroom', keys: ['uid', 'token'], words: 'classrooms are' },
  analytics: { section: 'rest', keys: ['key', 'secret'], words: 'call analytics is' },
  players: { section: 'rest', keys: ['key', 'secret'], words: 'cloud players are' },
} as const satisfies Readonly<Record<Family, unknown>>

/** Names of the credentials of a service, as in `rest.key and rest.secret`. */
export function credentialsOf(service: Family): string {
  const { section, keys } = services[service]
  return keys.map(key => `${section}.${key}`).join(' and ')
}

export function streamsOn(config: Settled, app: AppConfig): readonly Stream[] {
  return Object.values(config.streams).filter(({ name }) => isDrained(config, app, name))
}

export function isDrained(config: Settled, app: AppConfig, stream: StreamName): boolean {
  return app.streams[stream] !== 'off' && whyOff(config, app, stream) === undefined
}

/** Why a stream is not drained that nobody has switched off, as in "is off: ..."; undefined where it is. */
export function whyOff({ provider, streams }: Settled, app: AppConfig, name: StreamName): string | undefined {
  const { operation, needs = [] } = streams[name]!
  const { family, limitGroup } = operation
  const missing = whyUnreachable({ provider }, app, family)
  if (missing !== undefined) return missing
  if (!hasAccess(app, limitGroup, family)) return noAccess(app)
  const parent = needs.find(
    need => app.streams[need] === 'off' || !hasAccess(app, streams[need]!.operation.limitGroup, family),
  )
  return parent === undefined ? undefined : `the stream ${parent} is off`
}

/** What is missing to ask a service for an app; undefined where nothing is. */
export function whyUnreachable(
  { provider }: Pick<Config, 'provider'>,
  app: AppConfig,
  service: Family,
): string | undefined {
  if (!provider[service]) return `provider.${service}.url is not given`
  return app[services[service].section] ? undefined : `the app has no ${credentialsOf(service)}`
}

export function noAccess({ plan }: AppConfig): string {
  return `the plan ${plan} has no access`
}

/** Only the limits of call analytics follow from the plan. */
function hasAccess(app: AppConfig, group: string, family: Family): boolean {
  return family !== 'analytics' || allowanceOf(app, group) !== undefined
}

/**
 * What is off though nobody has switched it off, in sentences for people: one for all apps that are alike, however
 * many there are.
 */
export function offTexts(config: Settled): readonly string[] {
  const { provider, apps, streams } = config
  const all = Object.values(streams)
  const isWanted = (service: Family) =>
    all.some(
      ({ name, operation }) => operation.family === service && apps.some(app => app.streams[name] !== 'off'),
    )
  const missing = families
    .filter(service => !provider[service] && isWanted(service))
    .map(service => `${services[service].words} off: provider.${service}.url is not given`)
  const served = all.filter(({ operation }) => provider[operation.family]).map(({ name }) => name)
  const told = apps.flatMap(app => offTextsOf(config, app, served).map(text => ({ text, app: app.id })))
  return [
    ...missing,
    ...[...Map.groupBy(told, ({ text }) => text)].map(
      ([text, alike]) => `${appsText(alike.map(({ app }) => app))}: ${text}`,
    ),
  ]
}

function offTextsOf(config: Settled, app: AppConfig, served: readonly StreamName[]): readonly string[] {
  const off = served
    .filter(name => app.streams[name] !== 'off')
    .flatMap(name => {
      const reason = whyOff(config, app, name)
      return reason === undefined ? [] : [{ name, reason }]
    })
  return [...Map.groupBy(off, ({ reason }) => reason)].map(([reason, alike]) => {
    const names = alike.map(({ name }) => name).join(', ')
    return `${names} ${alike.length === 1 ? 'is' : 'are'} off: ${reason}`
  })
}

const namedApps = 3

/** Apps as a person reads them, however many there are. */
export function appsText(apps: readonly string[]): string {
  const [first] = apps
  if (apps.length === 1) return `app ${first}`
  const more = apps.length > namedApps ? ', ...' : ''
  return `${apps.length} apps (${apps.slice(0, namedApps).join(', ')}${more})`
}

import type { StreamName } from '../streams/stream.ts'
import { allowanceOf, analyticsStreamNames, groupOfStream } from './allowance.ts'
import type { AnalyticsStreamName, AppConfig, Config, ServiceName } from './config.ts'
import { streamNames } from './schema/streams.ts'

type Settled = Pick<Config, 'provider' | 'apps'>

const isOfAnalytics: ReadonlySet<StreamName> = new Set(analyticsStreamNames)

/** The service that a stream is drained from. */
export function serviceOf(stream: StreamName): ServiceName {
  if (stream === 'cloud-players') return 'players'
  return isOfAnalytics.has(stream) ? 'analytics' : 'classroom'
}

/**
 * Why a stream that nobody has switched off is not drained. `service`: there is no address; `credentials`: the app
 * has none; `plan`: its plan has no access; `calls`: the list of calls that it works on is not drained.
 */
export type OffReason = 'service' | 'credentials' | 'plan' | 'calls'

/** The streams of call analytics that are drained for an app. */
export function analyticsStreamsOn(config: Settled, app: AppConfig): readonly AnalyticsStreamName[] {
  return analyticsStreamNames.filter(name => isDrained(config, app, name))
}

export function isDrained(config: Settled, app: AppConfig, stream: StreamName): boolean {
  return app.streams[stream] !== 'off' && whyOff(config, app, stream) === undefined
}

/** Undefined for a stream that is drained, or would be if nobody had switched it off. */
export function whyOff({ provider }: Settled, app: AppConfig, stream: StreamName): OffReason | undefined {
  const service = serviceOf(stream)
  if (!provider[service]) return 'service'
  if (!(service === 'classroom' ? app.classroom : app.rest)) return 'credentials'
  const group = groupOfStream[stream as AnalyticsStreamName]
  if (service !== 'analytics') return undefined
  if (!allowanceOf(app, group)) return 'plan'
  const needsCalls = stream === 'call-sessions' || stream === 'call-metrics'
  if (needsCalls && (app.streams.calls === 'off' || !allowanceOf(app, 'call-search'))) return 'calls'
  return undefined
}

const namedApps = 3

/**
 * What is off though nobody has switched it off, in sentences for people: one for all apps that are alike, however
 * many there are.
 */
export function offTexts(config: Settled): readonly string[] {
  const services = (['classroom', 'analytics', 'players'] as const)
    .filter(service => !config.provider[service] && config.apps.some(app => isWanted(app, service)))
    .map(service => `${serviceWords[service]} off: provider.${service}.url is not given`)
  const alike = new Map<string, string[]>()
  for (const app of config.apps) {
    for (const text of offTextsOf(config, app)) {
      const apps = alike.get(text)
      if (apps) apps.push(app.id)
      else alike.set(text, [app.id])
    }
  }
  return [...services, ...[...alike].map(([text, apps]) => `${appsText(apps)}: ${text}`)]
}

const serviceWords = {
  classroom: 'classrooms are',
  analytics: 'call analytics is',
  players: 'cloud players are',
} as const

/** Whether any stream of a service is not switched off. */
function isWanted({ streams }: AppConfig, service: ServiceName): boolean {
  return streamNames.some(name => serviceOf(name) === service && streams[name] !== 'off')
}

function offTextsOf(config: Settled, app: AppConfig): readonly string[] {
  const alike = new Map<string, StreamName[]>()
  for (const name of streamNames) {
    const reason = app.streams[name] === 'off' ? undefined : whyOff(config, app, name)
    if (!reason || reason === 'service') continue
    const text = reasonText(reason, app, serviceOf(name))
    alike.set(text, [...(alike.get(text) ?? []), name])
  }
  return [...alike].map(
    ([text, streams]) => `${streams.join(', ')} ${streams.length === 1 ? 'is' : 'are'} off: ${text}`,
  )
}

/** Completes the sentence "is off: ..." about a stream of a service. */
export function reasonText(reason: OffReason, { plan }: AppConfig, service: ServiceName): string {
  switch (reason) {
    case 'service':
      return `provider.${service}.url is not given`
    case 'credentials':
      return service === 'classroom'
        ? 'the app has no classroom.uid and classroom.token'
        : 'the app has no rest.key and rest.secret'
    case 'plan':
      return `the plan ${plan} has no access`
    case 'calls':
      return 'the stream calls is off'
  }
}

/** Apps as a person reads them, however many there are. */
export function appsText(apps: readonly string[]): string {
  const [first] = apps
  if (apps.length === 1) return `app ${first}`
  const more = apps.length > namedApps ? ', ...' : ''
  return `${apps.length} apps (${apps.slice(0, namedApps).join(', ')}${more})`
}

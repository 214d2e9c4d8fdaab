import { allowanceOf, analyticsStreamNames, groupOfStream } from './allowance.ts'
import type { AnalyticsStreamName, AppConfig, Config } from './config.ts'

type Settled = Pick<Config, 'provider' | 'apps'>

/** Streams that ask for a key and a secret. */
export type KeyedStreamName = AnalyticsStreamName | 'cloud-players'

const keyedStreamNames: readonly KeyedStreamName[] = [...analyticsStreamNames, 'cloud-players']

/**
 * Why a stream that nobody has switched off is not drained. `service`: there is no address; `credentials`: the app
 * has none; `plan`: its plan has no access; `calls`: the list of calls that it works on is not drained.
 */
export type OffReason = 'service' | 'credentials' | 'plan' | 'calls'

/** The streams of call analytics that are drained for an app. */
export function analyticsStreamsOn(config: Settled, app: AppConfig): readonly AnalyticsStreamName[] {
  return analyticsStreamNames.filter(
    name => app.streams[name] !== 'off' && whyOff(config, app, name) === undefined,
  )
}

/** Whether the cloud players of an app are drained. */
export function arePlayersOn(config: Settled, app: AppConfig): boolean {
  return app.streams['cloud-players'] !== 'off' && whyOff(config, app, 'cloud-players') === undefined
}

/** Undefined for a stream that is drained, or would be if nobody had switched it off. */
export function whyOff(
  { provider }: Settled,
  app: AppConfig,
  stream: KeyedStreamName,
): OffReason | undefined {
  if (!(stream === 'cloud-players' ? provider.players : provider.analytics)) return 'service'
  if (!app.rest) return 'credentials'
  if (stream === 'cloud-players') return undefined
  if (!allowanceOf(app, groupOfStream[stream])) return 'plan'
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
  const { analytics, players } = config.provider
  const services = [
    ...(analytics ? [] : ['call analytics is off: provider.analytics.url is not given']),
    ...(players || config.apps.every(({ streams }) => streams['cloud-players'] === 'off')
      ? []
      : ['cloud players are off: provider.players.url is not given']),
  ]
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

function offTextsOf(config: Settled, app: AppConfig): readonly string[] {
  const byReason = new Map<OffReason, KeyedStreamName[]>()
  for (const name of keyedStreamNames) {
    const reason = app.streams[name] === 'off' ? undefined : whyOff(config, app, name)
    if (reason && reason !== 'service') byReason.set(reason, [...(byReason.get(reason) ?? []), name])
  }
  return [...byReason].map(([reason, streams]) => {
    const subject = `${streams.join(', ')} ${streams.length === 1 ? 'is' : 'are'} off`
    return `${subject}: ${reasonText(reason, app)}`
  })
}

/** Completes the sentence "is off: ..." about a stream of call analytics. */
export function reasonText(reason: OffReason, { plan }: AppConfig): string {
  switch (reason) {
    case 'service':
      return 'provider.analytics.url is not given'
    case 'credentials':
      return 'the app has no rest.key and rest.secret'
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

import { allowanceOf, analyticsStreamNames, groupOfStream } from './allowance.ts'
import type { AnalyticsStreamName, AppConfig, Config } from './config.ts'

type Settled = Pick<Config, 'provider' | 'apps'>

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

/** Undefined for a stream that is drained, or would be if nobody had switched it off. */
export function whyOff(
  { provider }: Settled,
  app: AppConfig,
  stream: AnalyticsStreamName,
): OffReason | undefined {
  if (!provider.analytics) return 'service'
  if (!app.rest) return 'credentials'
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
  if (!config.provider.analytics) return ['call analytics is off: provider.analytics.url is not given']
  const alike = new Map<string, string[]>()
  for (const app of config.apps) {
    for (const text of offTextsOf(config, app)) {
      const apps = alike.get(text)
      if (apps) apps.push(app.id)
      else alike.set(text, [app.id])
    }
  }
  return [...alike].map(([text, apps]) => `${appsText(apps)}: ${text}`)
}

function offTextsOf(config: Settled, app: AppConfig): readonly string[] {
  const byReason = new Map<OffReason, AnalyticsStreamName[]>()
  for (const name of analyticsStreamNames) {
    const reason = app.streams[name] === 'off' ? undefined : whyOff(config, app, name)
    if (reason) byReason.set(reason, [...(byReason.get(reason) ?? []), name])
  }
  return [...byReason].map(([reason, streams]) => {
    const subject = `${streams.join(', ')} ${streams.length === 1 ? 'is' : 'are'} off`
    return `${subject}: ${reasonText(reason, app)}`
  })
}

/** Completes the sentence "is off: ...". */
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

function appsText(apps: readonly string[]): string {
  const [first] = apps
  if (apps.length === 1) return `app ${first}`
  const more = apps.length > namedApps ? ', ...' : ''
  return `${apps.length} apps (${apps.slice(0, namedApps).join(', ')}${more})`
}

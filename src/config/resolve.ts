import type { StreamName } from '../streams/stream.ts'
import type { AppConfig, Config, DatabaseConfig, StreamSettings } from './config.ts'
import { type Environment, substitute } from './environment.ts'
import type { Settings } from './schema/index.ts'
import { defaultLimits, type GroupLimits } from './schema/limits.ts'
import { defaultDatabaseUrl } from './schema/sections.ts'
import { type AllStreams, defaultStreams } from './schema/streams.ts'
import { Secret } from './secret.ts'
import type { SecretCollector } from './secret-collector.ts'

type AppSettings = Settings['apps'][number]

/** Makes the configuration that the program uses of settings that the schema has accepted. */
export function resolveConfig(
  settings: Settings,
  collector: SecretCollector,
  env: Environment,
): Omit<Config, 'warnings'> {
  const { http, notifications, log, schedule, provider, retention } = settings
  return {
    database: databaseConfig(settings.database, collector, env),
    http,
    notifications,
    log,
    schedule,
    provider: {
      classroom: provider.classroom,
      analytics: provider.analytics,
      players: provider.players,
      proxy: proxyAddress(provider, collector),
    },
    retention,
    apps: settings.apps.map((app, i) => appConfig(app, i, settings, collector)),
  }
}

function databaseConfig(
  { url, urlFile, ...rest }: Settings['database'],
  collector: SecretCollector,
  env: Environment,
): DatabaseConfig {
  const fallback = substitute(defaultDatabaseUrl, env)
  const text = url ?? (fallback.ok ? fallback.text : undefined)
  if (urlFile === undefined && !URL.parse(text ?? '')?.password)
    return { url: Secret.of(text ?? ''), ...rest }
  return { url: collector.take(['database', 'url'], { text, file: urlFile }), ...rest }
}

function proxyAddress(
  { proxy, proxyFile }: Settings['provider'],
  collector: SecretCollector,
): Secret | undefined {
  if (proxyFile !== undefined) return collector.take(['provider', 'proxy'], { file: proxyFile })
  if (proxy === undefined) return undefined
  return URL.parse(proxy)?.password
    ? collector.take(['provider', 'proxy'], { text: proxy })
    : Secret.of(proxy)
}

function appConfig(app: AppSettings, i: number, settings: Settings, collector: SecretCollector): AppConfig {
  const { id, region: regions, plan, rooms, classroom, rest, notifications, expect, acceptLoss } = app
  const path = ['apps', i]
  return {
    id,
    region: regions[0],
    regions,
    plan,
    rooms,
    rest: rest && {
      key: collector.take([...path, 'rest', 'key'], { text: rest.key, file: rest.keyFile }),
      secret: collector.take([...path, 'rest', 'secret'], { text: rest.secret, file: rest.secretFile }),
    },
    classroom: classroom && {
      // A user ID alone opens nothing, so a file that others can read may hold it without a warning.
      uid: classroom.uid
        ? Secret.of(classroom.uid)
        : collector.take([...path, 'classroom', 'uid'], { file: classroom.uidFile }),
      token: collector.take([...path, 'classroom', 'token'], {
        text: classroom.token,
        file: classroom.tokenFile,
        command: classroom.tokenCommand,
      }),
    },
    notifications: notifications && {
      secret: collector.take([...path, 'notifications', 'secret'], {
        text: notifications.secret,
        file: notifications.secretFile,
      }),
    },
    streams: streamSettings(settings.streams, app.streams),
    limits: groupLimits(settings.limits, app.limits),
    expect,
    acceptLoss,
  }
}

type StreamLayer = Settings['streams']

/** An app that gives settings of its own switches on what the file has switched off. */
function streamSettings(file: StreamLayer, app: StreamLayer): StreamSettings {
  const of = <Name extends StreamName>(name: Name) =>
    layered<AllStreams[Name]>(
      defaultStreams[name],
      file[name] as Layer<AllStreams[Name]>,
      app[name] as Layer<AllStreams[Name]>,
    )
  const names = Object.keys(defaultStreams) as StreamName[]
  return Object.fromEntries(names.map(name => [name, of(name)])) as unknown as StreamSettings
}

type Layer<T> = { readonly [K in keyof T]?: T[K] | undefined } | 'off' | undefined

function layered<T extends object>(defaults: T, file: Layer<T>, app: Layer<T>): T | 'off' {
  if ((app ?? file) === 'off') return 'off'
  return filled(filled(defaults, file === 'off' ? undefined : file), app === 'off' ? undefined : app)
}

function filled<T extends object>(
  base: T,
  layer: { readonly [K in keyof T]?: T[K] | undefined } | undefined,
): T {
  const said = Object.entries(layer ?? {}).filter(([, value]) => value !== undefined)
  return { ...base, ...Object.fromEntries(said) }
}

function groupLimits(file: Settings['limits'], app: Settings['limits']): GroupLimits {
  const of = (group: keyof GroupLimits) => filled(filled(defaultLimits[group], file[group]), app[group])
  const groups = Object.keys(defaultLimits) as (keyof GroupLimits)[]
  return Object.fromEntries(groups.map(group => [group, of(group)])) as unknown as GroupLimits
}

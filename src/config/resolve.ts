import { mapValues } from '../settings/leaf.ts'
import type { Streams } from '../streams/index.ts'
import type { StreamName } from '../streams/stream.ts'
import type { AppConfig, Config, DatabaseConfig } from './config.ts'
import { type Environment, substitute } from './environment.ts'
import { defaultLimits, type GroupLimit } from './limits.ts'
import type { Settings } from './schema/index.ts'
import { defaultDatabaseUrl } from './schema/sections.ts'
import { Secret } from './secret.ts'
import type { SecretCollector } from './secret-collector.ts'

type AppSettings = Settings['apps'][number]

/** Makes the configuration that the program uses of settings that the schema has accepted. */
export function resolveConfig(
  settings: Settings,
  streams: Streams,
  collector: SecretCollector,
  env: Environment,
): Omit<Config, 'warnings'> {
  const defaults = mapValues(streams, ({ settings }): object => settings.parse({}))
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
    apps: settings.apps.map((app, i) => appConfig(app, i, settings, defaults, collector)),
    streams,
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

function appConfig(
  app: AppSettings,
  i: number,
  settings: Settings,
  defaults: Readonly<Record<StreamName, object>>,
  collector: SecretCollector,
): AppConfig {
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
    streams: mapValues(defaults, (each, name) => layered(each, settings.streams[name], app.streams[name])),
    limits: mapValues(
      defaultLimits,
      (each, group) => layered(each, settings.limits[group], app.limits[group]) as object as GroupLimit,
    ),
    expect,
    acceptLoss,
  }
}

/** What a layer says; undefined keys are left to those below. */
type Layer = Readonly<Record<string, unknown>>

/** An app that gives settings of its own switches on what the file has switched off. */
function layered(defaults: object, file: Layer | 'off' | undefined, app: Layer | 'off' | undefined) {
  if ((app ?? file) === 'off') return 'off'
  const said = [file, app].flatMap(layer => (layer === 'off' ? [] : Object.entries(layer ?? {})))
  return { ...defaults, ...Object.fromEntries(said.filter(([, value]) => value !== undefined)) }
}

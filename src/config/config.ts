import type { Region } from '../provider/classroom/fields.ts'
import type { Family } from '../provider/operation.ts'
import { Cron } from '../settings/cron.ts'
import { mapValues } from '../settings/leaf.ts'
import type { Streams } from '../streams/index.ts'
import type { StreamName } from '../streams/stream.ts'
import { tables } from '../tables/index.ts'
import { shortName } from '../tables/table.ts'
import { defaultLimits, type SaidLimit, type SaidLimits } from './limits.ts'
import type { Path } from './problem.ts'
import type { Settings } from './schema.ts'
import { Secret, type SecretCollector } from './secret.ts'
import { defaultDatabaseUrl } from './sections.ts'
import { type Environment, substitute } from './syntax.ts'

/** The configuration as the program uses it: checked, complete, all durations in milliseconds. */
export interface Config
  extends Pick<Settings, 'http' | 'metrics' | 'notifications' | 'log' | 'schedule' | 'store'> {
  readonly database: DatabaseConfig
  readonly provider: ProviderConfig
  readonly apps: readonly AppConfig[]
  /** How long rows are kept, ms: by table, of classrooms and calls altogether. */
  readonly retention: Readonly<Record<string, number | 'forever'>>
  /** The streams that it may speak of. */
  readonly streams: Streams
  /** What should be mended but does not prevent a start; one line each, fit for people. */
  readonly warnings: readonly string[]
}

type AddressKey = 'url' | 'directUrl' | 'readUrl'

interface DatabaseConfig extends Omit<Settings['database'], AddressKey | `${AddressKey}File`> {
  /** The word `embedded`, or an address that may hold a password. */
  readonly url: Secret
  /** Address of Postgres itself, where `url` is that of a pooler. */
  readonly directUrl: Secret | undefined
  /** Address of a read replica. */
  readonly readUrl: Secret | undefined
}

interface ProviderConfig extends Pick<Settings['provider'], Family> {
  /** Address of the proxy on the way out; it may hold a password. */
  readonly proxy: Secret | undefined
}

export interface AppConfig
  extends Pick<
    Settings['apps'][number],
    'id' | 'timeZone' | 'userLink' | 'plan' | 'rooms' | 'expect' | 'acceptLoss'
  > {
  /** The first of its regions, where there are several. */
  readonly region: Region
  readonly regions: readonly Region[]
  readonly rest: { readonly key: Secret; readonly secret: Secret } | undefined
  readonly classroom: { readonly uid: Secret; readonly token: Secret } | undefined
  /** With what the provider signs notifications; undefined where none are taken. */
  readonly notifications: { readonly secret: Secret } | undefined
  /** Settings of each stream, or `off`; the app's own, else the file's, else the defaults. */
  readonly streams: Readonly<Record<StreamName, object | 'off'>>
  /** Limits of each group; the app's own, else the file's, else the defaults. */
  readonly limits: SaidLimits
}

/** Makes the configuration that the program uses of settings that the schema has accepted. */
export function resolveConfig(
  settings: Settings,
  streams: Streams,
  collector: SecretCollector,
  env: Environment,
): Omit<Config, 'warnings'> {
  const { database, provider, http, metrics, notifications, log, schedule, retention, store } = settings
  const defaults = mapValues(streams, ({ settings }): object => settings.parse({}))
  return {
    ...{ http, metrics, notifications, log, schedule, store, retention: byTable(retention) },
    database: databaseConfig(database, collector, env),
    provider: {
      classroom: provider.classroom,
      analytics: provider.analytics,
      players: provider.players,
      proxy: withPassword(provider, 'proxy', ['provider'], collector),
    },
    apps: settings.apps.map((app, i): AppConfig => {
      const { region: regions, streams: own, limits, ...rest } = app
      return {
        ...rest,
        expect: app.expect,
        region: regions[0],
        regions,
        ...credentials(app, ['apps', i], collector),
        streams: mapValues(defaults, (each, name) =>
          zoned(layered(each, timed(settings.streams[name], own[name]), own[name]), app.timeZone),
        ),
        limits: mapValues(
          defaultLimits,
          (each, group) => layered(each, settings.limits[group], limits[group]) as object as SaidLimit,
        ),
      }
    }),
    streams,
  }
}

function byTable({ classroom, calls, players, notifications, deadLetters, ...kept }: Settings['retention']) {
  const partitioned = tables.flatMap(table =>
    table.partitioned ? [[shortName(table), kept[table.partitioned.keptAs]] as const] : [],
  )
  const aging = { dead_letter: deadLetters, notification: notifications, cloud_player_change: players }
  return { ...Object.fromEntries(partitioned), ...aging, classroom, calls }
}

function databaseConfig(
  { url, urlFile, directUrl, directUrlFile, readUrl, readUrlFile, ...rest }: Settings['database'],
  collector: SecretCollector,
  env: Environment,
): DatabaseConfig {
  const fallback = substitute(defaultDatabaseUrl, env)
  const said = { url: url ?? (fallback.ok ? fallback.text : ''), urlFile }
  return {
    ...rest,
    url: withPassword(said, 'url', ['database'], collector)!,
    directUrl: withPassword({ directUrl, directUrlFile }, 'directUrl', ['database'], collector),
    readUrl: withPassword({ readUrl, readUrlFile }, 'readUrl', ['database'], collector),
  }
}

/** An address is a secret only where it holds a password. */
function withPassword<K extends string>(
  said: Readonly<Partial<Record<K | `${K}File`, unknown>>>,
  key: K,
  base: Path,
  collector: SecretCollector,
): Secret | undefined {
  const { [key]: text, [`${key}File` as const]: file } = said as Readonly<Record<string, string | undefined>>
  if (file === undefined && text === undefined) return undefined
  const isSecret = file !== undefined || URL.parse(text!)?.password
  return isSecret ? collector.take(base, said, key) : Secret.of(text!)
}

function credentials(
  { rest, classroom, notifications }: Settings['apps'][number],
  path: Path,
  collector: SecretCollector,
): Pick<AppConfig, 'rest' | 'classroom' | 'notifications'> {
  const take = (said: object, section: string, key: string) =>
    collector.take([...path, section], said as Readonly<Record<string, unknown>>, key)
  return {
    rest: rest && { key: take(rest, 'rest', 'key'), secret: take(rest, 'rest', 'secret') },
    classroom: classroom && {
      // A user ID alone opens nothing, so a file that others can read may hold it without a warning.
      uid: classroom.uid ? Secret.of(classroom.uid) : take(classroom, 'classroom', 'uid'),
      token: take(classroom, 'classroom', 'token'),
    },
    notifications: notifications && { secret: take(notifications, 'notifications', 'secret') },
  }
}

/** What a layer says; undefined keys are left to those below. */
type Layer = Readonly<Record<string, unknown>>

/** What the file says of a stream, without the moments of which the app's own interval takes the place. */
function timed(file: Layer | 'off' | undefined, app: Layer | 'off' | undefined) {
  const says = (key: string) => typeof app === 'object' && app[key] !== undefined
  if (typeof file !== 'object' || !['every', 'activeEvery', 'idleEvery'].some(says)) return file
  return { ...file, cron: undefined }
}

/** Moments by the clocks of the app. */
function zoned(settings: Layer | 'off', timeZone: string): Layer | 'off' {
  if (settings === 'off' || !(settings.cron instanceof Cron)) return settings
  return { ...settings, cron: settings.cron.in(timeZone) }
}

/** An app that gives settings of its own switches on what the file has switched off. */
function layered(defaults: object, file: Layer | 'off' | undefined, app: Layer | 'off' | undefined) {
  if ((app ?? file) === 'off') return 'off'
  const said = [file, app].flatMap(layer => (layer === 'off' ? [] : Object.entries(layer ?? {})))
  return { ...defaults, ...Object.fromEntries(said.filter(([, value]) => value !== undefined)) }
}

/**
 * Plain texts of all secrets revealed so far, pairs as basic authentication joins them, for the filter that keeps them
 * out of logs and errors; ask again after a secret was read anew.
 */
export function knownSecrets({ database, provider, apps }: Config): readonly string[] {
  return [
    ...[database.url, database.directUrl, database.readUrl].flatMap(
      url => url?.known().flatMap(addressSecrets) ?? [],
    ),
    ...(provider.proxy?.known() ?? []).flatMap(addressSecrets),
    ...apps.flatMap(({ classroom, rest, notifications }) => [
      ...(classroom ? [...classroom.uid.known(), ...classroom.token.known()] : []),
      ...(notifications?.secret.known() ?? []),
      ...(rest ? [...rest.key.known(), ...rest.secret.known(), ...pairs(rest.key, rest.secret)] : []),
    ]),
  ]
}

function pairs(key: Secret, secret: Secret): readonly string[] {
  return key.known().flatMap(user => secret.known().map(password => `${user}:${password}`))
}

/** An address without a password tells nothing that a log must not say. */
function addressSecrets(address: string): readonly string[] {
  const { username = '', password = '' } = URL.parse(address) ?? {}
  if (password === '') return []
  return [address, password, decoded(password), `${decoded(username)}:${decoded(password)}`]
}

/** What is written as it is stays so, as a percent sign that begins no escape. */
export function decoded(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, escaped => {
    try {
      return decodeURIComponent(escaped)
    } catch {
      return escaped
    }
  })
}

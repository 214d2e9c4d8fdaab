import type { Region } from '../provider/classroom/fields.ts'
import type { Streams } from '../streams/index.ts'
import type { StreamName } from '../streams/stream.ts'
import type { GroupLimits } from './limits.ts'
import type { Settings } from './schema/index.ts'
import type { Secret } from './secret.ts'

/** The configuration as the program uses it: checked, complete, all durations in milliseconds. */
export interface Config extends Pick<Settings, 'http' | 'notifications' | 'log' | 'schedule' | 'retention'> {
  readonly database: DatabaseConfig
  readonly provider: ProviderConfig
  readonly apps: readonly AppConfig[]
  /** The streams that it may speak of. */
  readonly streams: Streams
  /** What should be mended but does not prevent a start; one line each, fit for people. */
  readonly warnings: readonly string[]
}

export interface DatabaseConfig extends Omit<Settings['database'], 'url' | 'urlFile'> {
  /** The word `embedded`, or an address that may hold a password. */
  readonly url: Secret
}

export interface ProviderConfig {
  readonly classroom: Settings['provider']['classroom']
  readonly analytics: Settings['provider']['analytics']
  readonly players: Settings['provider']['players']
  /** Address of the proxy on the way out; it may hold a password. */
  readonly proxy: Secret | undefined
}

export interface AppConfig
  extends Pick<Settings['apps'][number], 'id' | 'plan' | 'rooms' | 'expect' | 'acceptLoss'> {
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
  readonly limits: GroupLimits
}

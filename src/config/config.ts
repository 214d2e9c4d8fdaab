import type { Region } from '../provider/classroom/identifiers.ts'
import type { StreamName } from '../streams/stream.ts'
import type { plans } from './schema/apps.ts'
import type { GroupLimits } from './schema/limits.ts'
import type { logLevels } from './schema/sections.ts'
import type { StreamCadences } from './schema/streams.ts'
import type { Secret } from './secret.ts'

/** The configuration as the program uses it: checked, complete, all durations in milliseconds. */
export interface Config {
  readonly database: DatabaseConfig
  readonly http: { readonly listen: { readonly host: string; readonly port: number } }
  readonly log: { readonly level: LogLevel }
  readonly schedule: { readonly housekeeping: string }
  readonly provider: ProviderConfig
  readonly apps: readonly AppConfig[]
  /** What should be mended but does not prevent a start; one line each, fit for people. */
  readonly warnings: readonly string[]
}

export type LogLevel = (typeof logLevels)[number]

export interface DatabaseConfig {
  /** The word `embedded`, or an address that may hold a password. */
  readonly url: Secret
  readonly dataDir: string
  readonly poolSize: number
  readonly statementTimeout: number
  readonly lockTimeout: number
  /** The empty string for none. */
  readonly role: string
}

export interface ProviderConfig {
  readonly classroom: ClassroomService
  readonly analytics: { readonly url: string } | undefined
  readonly players: { readonly url: string } | undefined
}

export interface ClassroomService {
  /** Without a trailing slash. */
  readonly url: string
  readonly tokenHeader: string
  readonly uidHeader: string
  readonly widgetPath: 'without-region' | 'with-region'
  readonly submitter: 'operator' | 'fromUser'
  readonly sequenceScope: 'room' | 'app'
  readonly roomMemory: number
  readonly deadline: number
  readonly maxBodyBytes: number
  readonly insecure: boolean
}

export type Plan = (typeof plans)[number]

export interface AppConfig {
  readonly id: string
  readonly region: Region
  readonly plan: Plan
  readonly rest: { readonly key: Secret; readonly secret: Secret } | undefined
  readonly classroom: { readonly uid: Secret; readonly token: Secret }
  readonly rooms: readonly string[]
  /** Settings of each stream, or `off`; the app's own, else the file's, else the defaults. */
  readonly streams: StreamSettings
  /** Limits of each group; the app's own, else the file's, else the defaults. */
  readonly limits: GroupLimits
}

export type StreamSettings = { readonly [Name in StreamName]: StreamCadences[Name] | 'off' }

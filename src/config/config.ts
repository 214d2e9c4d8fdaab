import type { AnalyticsLimitReading, ParameterNames } from '../provider/analytics/index.ts'
import type { Region } from '../provider/classroom/fields.ts'
import type { Plan } from '../provider/limits.ts'
import type { PlayerLimitReading } from '../provider/players/index.ts'
import type { StreamName, SubstreamName, WindowStreamName } from '../streams/stream.ts'
import type { GroupLimits } from './schema/limits.ts'
import type { logLevels } from './schema/sections.ts'
import type { AllStreams } from './schema/streams.ts'
import type { Secret } from './secret.ts'

/** The configuration as the program uses it: checked, complete, all durations in milliseconds. */
export interface Config {
  readonly database: DatabaseConfig
  readonly http: { readonly listen: { readonly host: string; readonly port: number } }
  /** Where notifications are taken, if any app has a secret for them. */
  readonly notifications: { readonly listen: { readonly host: string; readonly port: number } }
  readonly log: { readonly level: LogLevel }
  readonly schedule: { readonly housekeeping: string }
  readonly provider: ProviderConfig
  /** How long rows of a table are kept, ms. */
  readonly retention: Readonly<Record<RetainedTable, number | 'forever'>>
  readonly apps: readonly AppConfig[]
  /** What should be mended but does not prevent a start; one line each, fit for people. */
  readonly warnings: readonly string[]
}

/** Tables that lose their oldest rows. */
export type RetainedTable =
  | 'session_metric'
  | 'usage_realtime'
  | 'quality_realtime'
  | 'dead_letter'
  | 'notification'
  | 'cloud_player_change'

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
  readonly classroom: ClassroomService | undefined
  readonly analytics: AnalyticsService | undefined
  readonly players: PlayersService | undefined
  /** Address of the proxy on the way out; it may hold a password. */
  readonly proxy: Secret | undefined
}

export type ServiceName = Exclude<keyof ProviderConfig, 'proxy'>

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

export interface AnalyticsService extends ParameterNames {
  /** Without a trailing slash. */
  readonly url: string
  readonly deadline: number
  readonly maxBodyBytes: number
  readonly insecure: boolean
  /** Whose requests the provider counts together. */
  readonly counters: 'credential' | 'app'
  /** Which endpoints share a counter. */
  readonly limits: AnalyticsLimitReading
}

export interface PlayersService {
  /** Without a trailing slash. */
  readonly url: string
  readonly deadline: number
  readonly maxBodyBytes: number
  readonly insecure: boolean
  /** Whose requests the provider counts together. */
  readonly counters: 'credential' | 'app'
  /** How the two limits of Create and of List are read. */
  readonly limits: PlayerLimitReading
  readonly paths: Readonly<Record<'create' | 'delete' | 'list', string>>
  /** Headers of a notification that carry its HMAC, by SHA-1 and by SHA-256. */
  readonly signatureHeader: string
  readonly signatureHeaderV2: string
}

/** What an operator expects of an app's calls. */
export interface ExpectedCalls {
  readonly callsPerDay: number
  readonly usersPerCall: number
  readonly callMinutes: number
}

export type AnalyticsStreamName = WindowStreamName | SubstreamName

export interface AppConfig {
  readonly id: string
  /** The first of its regions, where there are several. */
  readonly region: Region
  readonly regions: readonly Region[]
  readonly plan: Plan
  readonly rest: { readonly key: Secret; readonly secret: Secret } | undefined
  readonly classroom: { readonly uid: Secret; readonly token: Secret } | undefined
  /** With what the provider signs notifications; undefined where none are taken. */
  readonly notifications: { readonly secret: Secret } | undefined
  readonly rooms: readonly string[]
  /** Settings of each stream, or `off`; the app's own, else the file's, else the defaults. */
  readonly streams: StreamSettings
  /** Limits of each group; the app's own, else the file's, else the defaults. */
  readonly limits: GroupLimits
  readonly expect: ExpectedCalls | undefined
  /** Streams of which data may be lost. */
  readonly acceptLoss: readonly AnalyticsStreamName[]
}

export type StreamSettings = { readonly [Name in StreamName]: AllStreams[Name] | 'off' }

import type { Clock } from '../../src/clock/clock.ts'
import type { AnalyticsGroup } from '../../src/provider/analytics/index.ts'
import type { Plan, PlanLimits } from '../../src/provider/limits.ts'
import type { FaultRule } from './faults.ts'
import type { Deliver } from './players/deliver.ts'
import { noQuirks, type Quirks } from './quirks.ts'
import { defaultSwitches, type Switches } from './switches.ts'

export interface AppOptions {
  readonly id: string
  readonly uid: string
  readonly token: string
  /** Of the call analytics; `premium` where absent. */
  readonly plan?: Plan
  /** What the plan of this app allows otherwise than the document says. */
  readonly limits?: Readonly<Partial<Record<AnalyticsGroup, Partial<PlanLimits>>>>
  /** Credential of call analytics and cloud players, which several apps may have in common; without it it has neither. */
  readonly rest?: { readonly key: string; readonly secret: string }
  /** Makes tokens for the channels of cloud players; where absent, tokens are not looked at. */
  readonly certificate?: string
  /** Signs the notifications about cloud players; without it there are none. */
  readonly notifications?: { readonly secret: string }
}

/** Classes that go on side by side, each followed by the next one. */
export interface SchoolProfile {
  readonly kind: 'school'
  readonly classes: number
  readonly students: number
  readonly lessonMinutes: number
  readonly breakMinutes: number
  /** Events a minute in each class, besides coming and going. */
  readonly eventsPerMinute: number
  /** How long before the start the first bells ring; absent: long enough for some classes to be over. */
  readonly historyMinutes?: number
  /** How long each room is open, its class not started, before its bell rings; absent: it opens with the bell. */
  readonly earlyMinutes?: number
}

/** Everything is there at the start, and nothing happens afterwards. */
export interface BacklogProfile {
  readonly kind: 'backlog'
  readonly rooms: number
  readonly eventsPerRoom: number
}

/** Open rooms in which nothing happens. */
export interface IdleProfile {
  readonly kind: 'idle'
  readonly rooms: number
}

/** Calls without classrooms, made up when someone asks for them: cheap for days of ten thousand. */
export interface CallsProfile {
  readonly kind: 'calls'
  readonly callsPerDay: number
  /** In each call. */
  readonly users: number
  /** Length of a call; a single one has between half and one and a half of it. */
  readonly minutes: number
  /** Before the sandbox is made, in which there were calls already. */
  readonly days: number
}

export type Profile = SchoolProfile | BacklogProfile | IdleProfile | CallsProfile

export interface Settings {
  readonly clock: Clock
  readonly seed: number | string
  /** Seconds of the world in one second of the clock. */
  readonly speed: number
  readonly profile: Profile
  readonly apps: readonly AppOptions[]
  readonly switches: Switches
  readonly quirks: Quirks
  readonly faults: readonly FaultRule[]
  readonly tokenHeader: string
  readonly uidHeader: string
  /** Headers of notifications: HMAC-SHA1 and HMAC-SHA256 of the body, in hexadecimal. */
  readonly signatureHeader: string
  readonly signatureHeaderV2: string
  /** Brings notifications to the customer; without it they are not made. */
  readonly deliver?: Deliver | undefined
}

/** What may be left out takes its default. */
export type SandboxOptions = { readonly clock: Clock } & Partial<
  Omit<Settings, 'clock' | 'switches' | 'quirks'>
> & { readonly switches?: Partial<Switches>; readonly quirks?: Partial<Quirks> }

export const defaultSchool: SchoolProfile = {
  kind: 'school',
  classes: 24,
  students: 12,
  lessonMinutes: 45,
  breakMinutes: 5,
  eventsPerMinute: 12,
}

export const demoApp = {
  id: 'demo',
  uid: 'penstock',
  token: 'demo-token',
  plan: 'premium',
  rest: { key: 'demo-key', secret: 'demo-secret' },
  notifications: { secret: 'demo-notification-secret' },
} as const satisfies AppOptions

export function settle(options: SandboxOptions): Settings {
  return {
    seed: 1,
    speed: 1,
    profile: defaultSchool,
    apps: [demoApp],
    faults: [],
    tokenHeader: 'x-svc-token',
    uidHeader: 'x-svc-uid',
    signatureHeader: 'x-svc-signature',
    signatureHeaderV2: 'x-svc-signature-v2',
    ...options,
    switches: { ...defaultSwitches, ...options.switches },
    quirks: { ...noQuirks, ...options.quirks },
  }
}

import type { Clock } from '../clock/clock.ts'
import type { FaultRule } from './faults.ts'
import { noOddities, type Oddities } from './oddities.ts'
import { defaultSwitches, type Switches } from './switches.ts'

export interface AppOptions {
  readonly id: string
  readonly uid: string
  readonly token: string
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

export type Profile = SchoolProfile | BacklogProfile | IdleProfile

export interface Settings {
  readonly clock: Clock
  readonly seed: number | string
  /** Seconds of the world in one second of the clock. */
  readonly speed: number
  readonly profile: Profile
  readonly apps: readonly AppOptions[]
  readonly switches: Switches
  readonly oddities: Oddities
  readonly faults: readonly FaultRule[]
  readonly tokenHeader: string
  readonly uidHeader: string
}

/** What may be left out takes its default. */
export type SandboxOptions = { readonly clock: Clock } & Partial<
  Omit<Settings, 'clock' | 'switches' | 'oddities'>
> & { readonly switches?: Partial<Switches>; readonly oddities?: Partial<Oddities> }

export const defaultSchool: SchoolProfile = {
  kind: 'school',
  classes: 24,
  students: 12,
  lessonMinutes: 45,
  breakMinutes: 5,
  eventsPerMinute: 12,
}

export const demoApp: AppOptions = { id: 'demo', uid: 'penstock', token: 'demo-token' }

export function settle(options: SandboxOptions): Settings {
  return {
    seed: 1,
    speed: 1,
    profile: defaultSchool,
    apps: [demoApp],
    faults: [],
    tokenHeader: 'x-svc-token',
    uidHeader: 'x-svc-uid',
    ...options,
    switches: { ...defaultSwitches, ...options.switches },
    oddities: { ...noOddities, ...options.oddities },
  }
}

import type { AppOptions, SchoolProfile, Switches } from '../../sandbox/src/index.ts'
import { type CallFault, callFaults } from './call-faults.ts'
import { drawSpells, type Spell } from './spells.ts'
import { drawSwitches, isDrawn, pick, share } from './world.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** What happens to the machines themselves, at moments of its own. */
export const machineFaults = [
  ...(['restart of the database', 'failover', 'hand-over', 'clock jump'] as const),
] as const
export type MachineFault = (typeof machineFaults)[number]

/** What the provider does amiss for minutes. */
export const providerFaults = ['spells'] as const
export type ProviderFault = (typeof providerFaults)[number]

export type FaultClass = CallFault | MachineFault | ProviderFault
export const faultClasses: readonly FaultClass[] = [...callFaults, ...machineFaults, ...providerFaults]

/** What a run must be like whatever its seed says. */
export interface Demands {
  readonly switches?: Partial<Switches>
  readonly faults?: readonly FaultClass[]
  /** Classes that it must not have. */
  readonly without?: readonly FaultClass[]
  readonly plan?: Plan
  readonly processes?: number
}

type Plan = 'starter' | 'standard' | 'premium' | 'enterprise'

/** The world of one run, and how the daemon is told of it. */
export interface Drawn {
  readonly switches: Switches
  readonly profile: SchoolProfile
  readonly apps: readonly (AppOptions & { readonly plan: Plan })[]
  readonly processes: number
  readonly classes: readonly FaultClass[]
  readonly spells: readonly Spell[]
  /** The configuration, as an operator would write it. */
  readonly config: string
}

/** Classes are shorter than in life, so that a few hours hold many lives of a room. */
const profile: SchoolProfile = {
  kind: 'school',
  classes: 2,
  students: 4,
  lessonMinutes: 8,
  breakMinutes: 2,
  eventsPerMinute: 8,
  historyMinutes: 3,
}
const providerMemory = 12 * minute
const roomMemory = 9 * minute

/** Each draw has chance of its own, so that a new one changes nothing in the others. `length` of the faulty phase, ms. */
export function draw(seed: number, length: number, demands: Demands): Drawn {
  const switches = drawAll(seed, demands)
  const classes = faultClasses.filter(
    one => (demands.faults?.includes(one) || isDrawn(seed, one)) && !demands.without?.includes(one),
  )
  const plan =
    demands.plan ?? pick<Plan>(seed, 'plan', ['standard', 'premium', 'premium', 'enterprise', 'starter'])
  const apps = pick(seed, 'apps', [['alpha'], ['alpha', 'beta']]).map((id, n) => ({
    ...{ id, uid: 'penstock', token: `token-${id}` },
    plan:
      n > 0 && isDrawn(seed, 'two plans') ? pick<Plan>(seed, 'other plan', ['standard', 'premium']) : plan,
    rest: isDrawn(seed, 'one key')
      ? { key: 'key', secret: 'secret' }
      : { key: `key-${id}`, secret: 'secret' },
    notifications: { secret: secretOf(id) },
  }))
  return {
    ...{ switches, profile, apps, classes },
    processes: demands.processes ?? 1 + Math.floor(share(seed, 'processes') * 3),
    spells: classes.includes('spells')
      ? drawSpells(
          seed,
          length,
          apps.map(({ id }) => id),
        )
      : [],
    config: configOf(seed, switches, apps),
  }
}

export function secretOf(app: string): string {
  return `notifications of ${app}`
}

function drawAll(seed: number, demands: Demands): Switches {
  const drawn: Switches = {
    ...drawSwitches(seed),
    roomMemorySeconds: providerMemory / second,
    metricSeconds: 30,
    ...demands.switches,
  }
  // What the feed tells of a room whose log nobody ever reads could be of any room that had its name.
  const isTold = drawn.roomReuse === 'off' || drawn.mutedRooms !== 'for-good'
  return isTold ? drawn : { ...drawn, mutedRooms: 'none' }
}

/** Where the daemon looks for rooms: it may be told of several regions that all know the same. */
const regions = { one: ['eu', '[eu, ap]'], two: ['[eu, ap]'] } as const

function configOf(seed: number, switches: Switches, apps: Drawn['apps']): string {
  const region = pick(seed, 'configured regions', regions[switches.regions])
  const each = apps.map(
    ({ id, plan, rest }) => `
  - id: ${id}
    region: ${region}
    plan: ${plan}
    rest: { key: ${rest!.key}, secret: ${rest!.secret} }
    classroom: { uid: penstock, token: token-${id} }
    notifications: { secret: ${secretOf(id)} }`,
  )
  const channels = isDrawn(seed, 'live channels') ? ', channels: live' : ''
  return `
database: { url: embedded, poolSize: 4 }
provider:
  classroom: { url: http://127.0.0.1:1, roomMemory: ${roomMemory / minute}m }
  analytics: { url: http://127.0.0.1:1, limits: ${pick(seed, 'told limits', ['joint', 'joint'])} }
  players: { url: http://127.0.0.1:1 }
schedule: { housekeeping: "*/10 * * * *" }
streams:
  app-events: { every: 20s }
  room-events: { activeEvery: 30s, idleEvery: 5m }
  popup-quiz: { activeEvery: 30s, idleEvery: 5m }
  poll: { activeEvery: 30s, idleEvery: 5m }
  recordings: { activeEvery: 1m, idleEvery: 5m }
  resources: { activeEvery: 1m, idleEvery: 5m }
  cloud-players: { every: 30s }
  realtime-usage: { metrics: [userCount]${channels} }
  realtime-quality: { metrics: [networkDelay]${channels} }
apps:${each.join('')}
`
}

/** How long after the faults have ended everything must be well, ms. */
export const healingTime = 2 * hour

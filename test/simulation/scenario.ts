import type { AppOptions, FaultRule, SchoolProfile, Switches } from '../../sandbox/src/index.ts'
import { defaultLimits } from '../../src/config/limits.ts'
import { regionalScope } from '../../src/engine/ports.ts'
import type { AppSettings, EngineSettings, StreamSettings } from '../../src/engine/settings.ts'
import { classroomCodes } from '../../src/provider/classroom/index.ts'
import { perSecond } from '../../src/provider/limits.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import { roomStreamNames } from '../support/streams.ts'
import type { FaultClass } from './faults.ts'
import { drawSwitches, isDrawn, pick, share } from './world.ts'

const second = 1_000
const minute = 60 * second

/** What a run must be like whatever its seed says. */
export interface Demands {
  readonly switches?: Partial<Switches>
  readonly faults?: readonly FaultClass[]
  /** How long a process that stands still does so at least, ms. */
  readonly shortestStall?: number
  /** Without the app's feed the first room of each class is known beforehand, and no other is found. */
  readonly streams?: readonly StreamName[]
  readonly profile?: Partial<SchoolProfile>
}

/** The world of one run and how the daemon is set up for it. */
export interface Scenario {
  readonly switches: Switches
  /** What the provider answers amiss, now and then, until faults are over. */
  readonly refusals: readonly FaultRule[]
  /** For as long as this, ms from the beginning, a page of a maintenance answers in the place of the first app. */
  readonly maintenance: { readonly from: number; readonly to: number } | undefined
  readonly profile: SchoolProfile
  readonly apps: readonly AppOptions[]
  readonly streams: readonly StreamName[]
  readonly settings: EngineSettings
}

/** Classes are shorter here than in life, so that a few hours hold many lives of a room. */
const profile: SchoolProfile = {
  kind: 'school',
  classes: 2,
  students: 4,
  lessonMinutes: 8,
  breakMinutes: 2,
  eventsPerMinute: 20,
  historyMinutes: 3,
}
const providerMemory = 12 * minute
const roomMemory = 9 * minute

const bothApps = ['alpha', 'beta'].map(
  (id): AppOptions => ({
    id,
    uid: 'penstock',
    token: `token-${id}`,
  }),
)

/** How long after the faults have ended everything must be well, ms. */
export const healingTime = 18 * minute

export function drawScenario(seed: number, demands: Demands, length: number): Scenario {
  const apps = bothApps.slice(0, pick(seed, 'apps', [1, 2]))
  const drawn: Switches = {
    ...drawSwitches(seed),
    roomMemorySeconds: providerMemory / second,
    ...demands.switches,
  }
  // What the feed tells of a room whose log nobody ever reads could be of any room that had its name.
  const isTold = drawn.roomReuse === 'off' || drawn.mutedRooms !== 'for-good'
  const switches = isTold ? drawn : { ...drawn, mutedRooms: 'none' as const }
  const { streams = ['app-events', ...roomStreamNames] } = demands
  const rooms = streams.includes('app-events') ? [] : firstRooms[switches.roomReuse]
  return {
    ...{ switches, apps, streams },
    refusals: [
      ...pick(seed, 'feed is not there', [[], [notThere], [{ ...notThere, code: 20404100 }]]),
      ...(isDrawn(seed, 'unreadable') ? unreadable : []),
      ...(isDrawn(seed, 'refused') ? [refused] : []),
    ],
    maintenance: drawMaintenance(seed, length, switches),
    profile: { ...profile, ...demands.profile },
    settings: {
      ...settingsFor(apps, streams, rooms, pick(seed, 'configured regions', configured[switches.regions])),
      mostRooms: pick(seed, 'mostRooms', [10_000, 3]),
    },
  }
}

/** The feed of the app says now and then that it is not there; with a code, that a classroom is not. */
const notThere: FaultRule = { kind: 'status', operation: 'appEvents', status: 404, rate: 0.1 }

/** Logs that cannot be read now and then, and lists that are left out. */
const unreadable: readonly FaultRule[] = [
  { kind: 'malformed', operation: 'roomEvents', rate: 0.1 },
  { kind: 'no-data', operation: 'resources', rate: 0.05 },
]

/** A log is refused now and then, as a muted room's would be. */
const refused: FaultRule = {
  kind: 'status',
  operation: 'roomEvents',
  status: 403,
  code: classroomCodes.muted,
  rate: 0.01,
}

/** Names that the school gives to the rooms of its two classes. */
const firstRooms = {
  on: ['algebra-7b-0', 'physics-10a-1'],
  off: ['algebra-7b-0-1', 'physics-10a-1-1'],
} as const

/** Where the daemon looks for rooms: it may be told of several regions that all know the same. */
const configured = { one: [[], ['eu', 'ap']], two: [['eu', 'ap']] } as const

/** With the longest stall there is time left to read what an ended room holds; after a mute there would be none. */
const maintenanceLasts = 5 * minute

function drawMaintenance(seed: number, length: number, { mutedRooms }: Switches): Scenario['maintenance'] {
  const isFair = length >= maintenanceLasts && mutedRooms !== 'for-a-while'
  if (!isFair || !isDrawn(seed, 'maintenance')) return undefined
  const from = Math.round(share(seed, 'maintenance/from') * (length - maintenanceLasts))
  return { from, to: from + maintenanceLasts }
}

function settingsFor(
  apps: readonly AppOptions[],
  streams: readonly StreamName[],
  rooms: readonly string[],
  regions: readonly string[],
): Omit<EngineSettings, 'mostRooms'> {
  return {
    apps: apps.map(({ id }) => appSettings(id, streams, rooms, regions)),
    reading: { submitter: 'operator', sequenceScope: 'room' },
    roomMemory,
    deadline: 30 * second,
    shards: 8,
    renewEvery: 10 * second,
    housekeeping: '*/10 * * * *',
    drainDeadline: 8 * second,
  }
}

/** Requests a second, as the configuration has them unless told: a feed that tells one event an answer keeps up. */
const feedRate = defaultLimits['classroom-feed']!.perSecond!

/** How long a shard stays owned without a renewal, ms. */
export const ownershipTtl = 40 * second

function appSettings(
  id: string,
  streams: readonly StreamName[],
  rooms: readonly string[],
  regions: readonly string[],
): AppSettings {
  const room: StreamSettings = {
    activeEvery: 30 * second,
    idleEvery: 5 * minute,
    memory: roomMemory,
    concurrency: 4,
  }
  const feed: StreamSettings = { ...room, activeEvery: 20 * second, idleEvery: 20 * second }
  return {
    id,
    region: 'eu',
    regions: regions.map(name => ({ name, limits: limitsOf(id, name) })),
    rooms,
    streams: Object.fromEntries(streams.map(name => [name, name === 'app-events' ? feed : room])),
    windows: {},
    details: {},
    limits: limitsOf(id),
  }
}

function limitsOf(id: string, region = ''): AppSettings['limits'] {
  const scope = regionalScope(id, region)
  return {
    classroom: { scope, rates: [perSecond(50)], concurrency: 4, counted: 'process' },
    'classroom-feed': { scope, rates: [perSecond(feedRate)], concurrency: 1, counted: 'ledger' },
  }
}

import {
  type AppOptions,
  type Quirks,
  roster,
  type SchoolProfile,
  type Switches,
} from '../../sandbox/src/index.ts'
import { configOf, mapOwn, secretOf } from './configuration.ts'
import { type Aim, type CallFault, callFaults } from './faults.ts'
import { documentedSeries, maxima, type Plan } from './oracle/contract.ts'
import type { Selection } from './oracle/selection.ts'
import type { Off } from './oracle/switched-off.ts'
import type { Turn } from './oracle/zones.ts'
import { drawSpells, type Spell, type Unreadable } from './spells.ts'
import { drawQuirks, drawSwitches, isDrawn, pick, type Seed, share } from './world.ts'

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

/** When a run begins, ms since the epoch: Monday, 5 January 2026, 08:00 UTC. */
export const monday = Date.UTC(2026, 0, 5, 8)

/**
 * `restart`: it is away for so long; `hold`: somebody else holds the heads of all budgets for so long; `setAhead`: its clock
 * is set, and is so far ahead of the world's from then on; `failOver`: what it stores for so long is lost at the end.
 */
export type DatabaseMoment = readonly [
  at: number,
  what: 'restart' | 'hold' | 'setAhead' | 'failOver',
  ms: number,
]

/** Whoever has the slot at that moment stands still for so long. */
export type Standstill = readonly [at: number, slot: string, ms: number]

/** At each of the minutes of each of the hours. */
export interface DayMoments {
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
}

/** When clocks are changed there in the years of the runs, by the law of the place. */
export const zones = {
  'America/New_York': [
    { from: Number.NEGATIVE_INFINITY, hours: -4 },
    { from: Date.UTC(2025, 10, 2, 6), hours: -5 },
    { from: Date.UTC(2026, 2, 8, 7), hours: -4 },
    { from: Date.UTC(2026, 10, 1, 6), hours: -5 },
  ],
  'Asia/Shanghai': [{ from: Number.NEGATIVE_INFINITY, hours: 8 }],
} as const satisfies Record<string, readonly Turn[]>
type Zone = keyof typeof zones

/** An app that has a smaller plan from a moment of the run on, ms: the configuration says so, and half a minute later it holds. */
export interface Lowered {
  readonly app: string
  readonly at: number
  readonly plan: Exclude<Plan, 'own'>
}

/** What a run must be like whatever its seed says. */
export interface Demands {
  /** Whose chances it has: what is left open of two worlds must not be alike in both. */
  readonly world?: string
  /** In place of `monday`. */
  readonly start?: number
  readonly switches?: Partial<Switches>
  readonly faults?: readonly FaultClass[]
  /** Classes that it must not have. */
  readonly without?: readonly FaultClass[]
  readonly plan?: Plan
  readonly processes?: number
  /** At one time: what a run costs grows with them. */
  readonly classes?: number | undefined
  readonly apps?: readonly string[]
  readonly profile?: Partial<SchoolProfile>
  readonly quirks?: Partial<Quirks>
  /** In place of those that are drawn. */
  readonly spells?: readonly Spell[]
  /** Moments of which no question to an operation is ever answered so that anybody could read it. */
  readonly unreadable?: readonly Unreadable[]
  /** Mean time between two players of an app, ms. */
  readonly playersEvery?: number
  /** Channels in which every other one of them plays. */
  readonly playersIn?: readonly string[]
  /** Players are made and ended with the program's own client, and not past it. */
  readonly byHand?: boolean
  /** Beside each notification comes one that its secret has not signed. */
  readonly forgedNotices?: boolean
  /** Somebody asks for insights of each app in turn, so often, ms. */
  readonly handAsks?: number
  /** Somebody has a room read again whose log was asked for just now, so often, ms. */
  readonly marksEvery?: number
  /** Somebody changes a classroom of the first app, so often, ms. */
  readonly teachEvery?: number
  /** People of the first class of each app are asked for by themselves, in the whole project. */
  readonly ofUsers?: boolean
  /** Everything is kept for thirty hours: when all is well it is waited until a part of it is older. */
  readonly ages?: boolean
  /** Neither names nor chats are kept. */
  readonly isDiscreet?: boolean
  /** When all is well somebody has fetched once more what was given up, and then takes people out of what is stored. */
  readonly wishes?: boolean
  /** So many bytes an answer of call analytics may have, by the configuration. */
  readonly answerBytes?: number
  /** Mean time between two processes that are told to end, ms; an hour where absent. */
  readonly handOverEvery?: number
  /** What befalls the database at certain moments of the run, ms. */
  readonly database?: readonly DatabaseMoment[]
  /** When processes stand still, and for how long, ms. */
  readonly standstills?: readonly Standstill[]
  /** When whoever holds a shard is taken for dead by somebody who takes none, ms. */
  readonly lapses?: readonly number[]
  /** How far the clock of each process is ahead of the world's from its start, ms. */
  readonly ahead?: number
  /** Each class of fault that it has is sure to strike. */
  readonly isThorough?: boolean
  /** It heals for so long at least, unless somebody says otherwise, ms. */
  readonly calm?: number
  readonly aim?: Aim
  /** For so many seconds after its end a range is searched again for calls that turn up late; an hour where absent. */
  readonly callLateness?: number
  /** Of one app metrics are fetched only of calls with so many users, of more from a moment of the run on. */
  readonly selection?: Selection
  /** Where the days of the apps begin and end; as in UTC where absent. */
  readonly zone?: Zone
  /** When the configuration is changed: from then on it allows half as much in a short while, ms. */
  readonly tightenedAt?: number
  /** Plans of single apps, in place of `plan`. */
  readonly plans?: Readonly<Record<string, Plan>>
  readonly lowered?: Lowered
  /** All apps have one credential. */
  readonly sharedKey?: boolean
  /** Each app has a credential of its own. */
  readonly ownKeys?: boolean
  /** Streams of single apps that are switched off from one moment of the run to another, ms. */
  readonly switchedOff?: readonly Off[]
  /** Products whose quality is asked for, where not that of Native alone. */
  readonly products?: readonly string[]
  /** The configuration leaves a tenth of a day's requests of a plan to others, and says nothing else of its limits. */
  readonly spares?: boolean
  /** How often the feed is asked while it tells something, ms; every minute where absent. */
  readonly feedEvery?: number
  /** When the provider takes other secrets of all apps, ms: half a minute later the files have them. */
  readonly rotations?: readonly number[]
  /** Calls are searched for at these moments of each day, by the clocks of the zone, and not every minute. */
  readonly callsAt?: DayMoments
  /** Servers among the users of calls are not asked for. */
  readonly withoutServers?: boolean
  /** When nobody is there for some minutes, where all is well before that, ms. */
  readonly restsAt?: number
  /** When classes go on once more, where all is well and nobody was there in between, ms. */
  readonly goesOnAt?: number
  /** In the end everyone is taken out who was in the room that was used most often. */
  readonly forgetsRoom?: boolean
  /** When a process comes to its shards no more, though it reaches the database, and for how long, ms. */
  readonly severed?: readonly Standstill[]
}

/** The world of one run, and how the daemon is told of it. */
export interface Drawn {
  readonly switches: Switches
  /** Strange content, where there is any. */
  readonly quirks: Partial<Quirks>
  readonly profile: SchoolProfile
  readonly apps: readonly DrawnApp[]
  readonly processes: number
  readonly classes: readonly FaultClass[]
  readonly spells: readonly Spell[]
  readonly unreadable: readonly Unreadable[]
  /** The configuration, as an operator would write it. */
  readonly config: string
  readonly zone?: Zone | undefined
  /** Who is asked for one by one in real time. */
  readonly users: readonly number[]
  readonly selection?: Selection | undefined
  /** What becomes of it while the daemons run, in the order of the moments, ms. */
  readonly changes: readonly { readonly at: number; readonly config: string }[]
  /** How often it has players listed, ms. */
  readonly listEvery: number
  /** Questions of real time that it leads to, where not all that is documented is asked. */
  readonly series?: Readonly<Record<string, readonly string[]>>
}

/** `contract` is its plan, or limits of its own. */
export type DrawnApp = AppOptions & { readonly contract: Plan }

/** How much goes on, and how often it is looked at. */
export interface Pace {
  readonly profile: SchoolProfile
  /** For which the provider knows a room that ended, and what the daemon is told of it, ms. */
  readonly providerMemory: number
  readonly roomMemory: number
  readonly metricSeconds: number
  readonly streams: string
  /** How often players are listed, ms. */
  readonly listEvery: number
  /** What real time is asked for; all that is documented where absent. */
  readonly realtime?: { readonly usage: string; readonly quality: string }
}

/** Classes are shorter and louder than in life, so that an hour holds many lives of a room, and many events. */
const busy: Pace = {
  profile: {
    kind: 'school',
    classes: 6,
    students: 4,
    lessonMinutes: 2.5,
    breakMinutes: 0.5,
    eventsPerMinute: 40,
    historyMinutes: 2.5,
  },
  providerMemory: 12 * minute,
  roomMemory: 9 * minute,
  metricSeconds: 30,
  streams: `
  room-events: { activeEvery: 2m, idleEvery: 5m }
  popup-quiz: { activeEvery: 3m, idleEvery: 6m }
  poll: { activeEvery: 3m, idleEvery: 6m }
  recordings: { activeEvery: 3m, idleEvery: 6m }
  resources: { activeEvery: 3m, idleEvery: 6m }`,
  listEvery: minute,
  realtime: { usage: 'userCount', quality: 'networkDelay' },
}

/** Of a day and longer it is the budgets of a day that count, and what expires. */
const slow: Pace = {
  profile: { ...busy.profile, classes: 2, lessonMinutes: 30, breakMinutes: 30, eventsPerMinute: 4 },
  providerMemory: 60 * minute,
  roomMemory: 45 * minute,
  metricSeconds: 20,
  streams: `
  room-events: { activeEvery: 2m, idleEvery: 15m }
  popup-quiz: { activeEvery: 5m, idleEvery: 20m }
  poll: { activeEvery: 5m, idleEvery: 20m }
  recordings: { activeEvery: 5m, idleEvery: 20m }
  resources: { activeEvery: 5m, idleEvery: 20m }`,
  listEvery: 2 * minute,
}

/** As many classes at a time as the daily requests of the plan can measure: what is over has to be measured, too. */
const mostClasses: Readonly<Record<Plan, number>> = {
  ...{ standard: 4, premium: 6, enterprise: 12, starter: 8, own: 3 },
}

/**
 * Where each answer holds one event, a loud class is nothing but requests. The place of a room that is used again stands
 * empty until the provider has forgotten the class before.
 */
function profileOf(
  pace: Pace,
  { listShape, feedShape, roomReuse }: Switches,
  plans: readonly Plan[],
): SchoolProfile {
  const { profile } = pace
  const isOneByOne = listShape === 'item' || feedShape.startsWith('object')
  if (isOneByOne) return { ...profile, classes: 2, eventsPerMinute: 8 }
  if (pace === slow) return profile
  const most = Math.min(...plans.map(plan => mostClasses[plan]))
  return { ...profile, classes: roomReuse === 'on' ? 3 * most : most }
}

function paceOf(length: number): Pace {
  return length > 8 * hour ? slow : busy
}

/** Each draw has chance of its own, so that a new one changes nothing in the others. `length` of the faulty phase, ms. */
export function draw(number: number, length: number, demands: Demands): Drawn {
  const seed: Seed = demands.world === undefined ? number : `${number} ${demands.world}`
  const pace = paceOf(length)
  const switches = drawAll(seed, pace, demands)
  const classes = faultClasses.filter(
    one => (demands.faults?.includes(one) || isDrawn(seed, one)) && !demands.without?.includes(one),
  )
  const plan =
    demands.plan ??
    pick<Plan>(seed, 'plan', ['standard', 'premium', 'premium', 'enterprise', 'enterprise', 'starter'])
  const other =
    !demands.plan && isDrawn(seed, 'two plans')
      ? pick<Plan>(seed, 'other plan', ['standard', 'premium'])
      : plan
  const ids = demands.apps ?? pick(seed, 'apps', [['alpha'], ['alpha', 'beta']])
  const apps = ids.map((id, n) => ({
    ...{ id, uid: 'penstock', token: `token-${id}` },
    ...onTerms(demands.plans?.[id] ?? (n > 0 ? other : plan)),
    rest:
      demands.sharedKey || (!demands.ownKeys && isDrawn(seed, 'one key'))
        ? { key: 'key', secret: 'secret' }
        : { key: `key-${id}`, secret: 'secret' },
    notifications: { secret: secretOf(id) },
  }))
  const profile = {
    ...profileOf(
      pace,
      switches,
      apps.map(({ contract }) => contract),
    ),
    ...(demands.classes && { classes: demands.classes * (switches.roomReuse === 'on' ? 3 : 1) }),
    ...demands.profile,
  }
  const configAt = (at: number) => configOf(seed, pace, switches, apps, { ...demands, users, at })
  const users = demands.ofUsers ? ids.flatMap(id => usersOf(`${number}/${id}`, profile)) : []
  return {
    ...{ switches, apps, classes, profile, quirks: demands.quirks ?? drawQuirks(seed) },
    listEvery: pace.listEvery,
    processes: demands.processes ?? 1 + Math.floor(share(seed, 'processes') * 3),
    spells: classes.includes('spells') ? (demands.spells ?? drawSpells(seed, length, ids)) : [],
    unreadable: demands.unreadable ?? [],
    ...{ config: configAt(0), zone: demands.zone, users, selection: demands.selection },
    changes: changesOf(demands, length).map(at => ({ at, config: configAt(at) })),
    ...((pace.realtime || demands.products) && {
      series: {
        ...seriesOf(pace),
        ...(demands.products && { 'quality-insight': ofProducts(demands.products) }),
      },
    }),
  }
}

/** When the configuration is changed while the daemons run, ms. */
function changesOf(
  { tightenedAt, lowered, selection, switchedOff = [] }: Demands,
  length: number,
): readonly number[] {
  const moments = [
    tightenedAt,
    lowered?.at,
    selection?.narrowed?.at,
    ...switchedOff.flatMap(({ from, to }) => [from, to]),
  ]
  const known = moments.filter(at => at !== undefined && at > 0 && at <= length) as number[]
  return [...new Set(known)].toSorted((a, b) => a - b)
}

function seriesOf({ realtime }: Pace): Readonly<Record<string, readonly string[]>> {
  if (!realtime) return {}
  return {
    'realtime-usage': [`Native/${realtime.usage}`],
    'realtime-quality': [`Native/${realtime.quality}`],
  }
}

function ofProducts(products: readonly string[]): readonly string[] {
  const metrics = documentedSeries['quality-insight'].map(series => series.slice(series.indexOf('/') + 1))
  return products.flatMap(product => metrics.map(metric => `${product}/${metric}`))
}

/** Two more than one question may name, of those who are in the first class of a school, lesson after lesson. */
function usersOf(school: string, { students }: SchoolProfile): readonly number[] {
  return roster(`${school}/0`, students)
    .slice(0, maxima.uids + 2)
    .map(({ uid }) => uid)
}

/** What the sandbox is told of an app's plan, and of limits in its place. */
function onTerms(contract: Plan): Pick<DrawnApp, 'contract' | 'plan' | 'limits'> {
  if (contract !== 'own') return { contract, plan: contract }
  return { contract, plan: 'enterprise', limits: mapOwn(terms => terms) }
}

function drawAll(seed: Seed, { providerMemory, metricSeconds }: Pace, demands: Demands): Switches {
  const own = { roomMemorySeconds: providerMemory / second, metricSeconds, ...demands.switches }
  const drawn: Switches = { ...drawSwitches(seed), ...own }
  // What the feed tells of a room whose log nobody ever reads could be of any room that had its name.
  const isTold = drawn.roomReuse === 'off' || drawn.mutedRooms !== 'for-good'
  return isTold ? drawn : { ...drawn, mutedRooms: 'none' }
}

/** Where the daemon looks for rooms: it may be told of several regions that all know the same. */
/** How long after the faults have ended everything must be well, ms. */
export const healingTime = 2 * hour

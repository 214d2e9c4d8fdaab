import type { Quirks, SchoolProfile, Switches } from '../../sandbox/src/index.ts'
import { type Aim, type CallFault, callFaults } from './faults.ts'
import type { Plan } from './oracle/contract.ts'
import type { Selection } from './oracle/selection.ts'
import type { Off } from './oracle/switched-off.ts'
import type { Turn } from './oracle/zones.ts'
import type { Spell, Unreadable } from './spells.ts'

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

/** By these nothing is lost: answers are slow, processes end as they are told to, and statements come in each other's way. */
export const borne: ReadonlySet<FaultClass> = new Set(['latency', 'hand-over', 'serialization failure'])

/** When a run begins, ms since the epoch: Monday, 5 January 2026, 08:00 UTC. */
export const monday = Date.UTC(2026, 0, 5, 8)

/**
 * `restart`: it is away for so long; `hold`: somebody else holds the heads of all budgets for so long; `setAhead`: its clock
 * is set, and is so far ahead of the world's from then on; `failOver`: what it stores for so long is lost at the end;
 * `putBack`: so it is, and nothing but what is missing tells of it.
 */
export type DatabaseMoment = readonly [
  at: number,
  what: 'restart' | 'hold' | 'setAhead' | 'failOver' | 'putBack',
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
export type Zone = keyof typeof zones

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
  /** How often the resources of a room are listed while something happens in it, ms; every three minutes where absent. */
  readonly resourcesEvery?: number
  /** Somebody collects the figures that daemons export, so often, ms; in the end alone where absent. */
  readonly collectEvery?: number
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

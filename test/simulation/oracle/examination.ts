import type { Sandbox } from '../../../sandbox/src/index.ts'
import type { Spell, Unreadable } from '../spells.ts'
import type { Plan } from './contract.ts'
import type { Create, Hand } from './hands.ts'
import type { Lesson } from './lessons.ts'
import type { Mark } from './marks.ts'
import type { Selection } from './selection.ts'
import type { Standstill } from './standstills.ts'
import type { Off } from './switched-off.ts'
import type { Wanted } from './wanted.ts'
import type { Turn } from './zones.ts'

/**
 * What is wrong. `lost`: there is or was, the provider served it, and neither a row nor the gap ledger has it; `duplicate`:
 * stored beside what there is, or twice; `different`: stored otherwise than it is; `gap`: a row of the gap ledger that is
 * missing, too wide or of something else; `complete`: said to be whole and is not, or the other way round; `owed`: could
 * be had and is still owed when all is over; `fence`: written by who did not own it.
 */
export interface Finding {
  readonly kind:
    | 'lost'
    | 'duplicate'
    | 'different'
    | 'gap'
    | 'complete'
    | 'limit'
    | 'debit'
    | 'owed'
    | 'metric'
    | 'fence'
  readonly text: string
}

/** Moments, ms since the epoch: a day has so many answers that each event cannot have a list of them. */
export type Moments = Pick<ReadonlySet<number>, 'has'>

/** What an oracle is given: the world, the rows, and what was done to both. Times are ms since the epoch, virtual. */
export interface Examination {
  readonly sandbox: Sandbox
  /** Asks on a session of its own, with none of the daemon's code. */
  readonly rows: <Row>(text: string) => Promise<readonly Row[]>
  readonly start: number
  /** Since when nothing goes wrong any more. */
  readonly healed: number
  readonly end: number
  readonly apps: readonly {
    readonly id: string
    readonly plan: Plan
    readonly regions: readonly string[]
  }[]
  /** What the provider answered amiss, and when. */
  readonly faults: readonly Spell[]
  /** Moments of which it can never tell. */
  readonly unreadable?: readonly Unreadable[]
  /** Processes were killed or stood still. */
  readonly isInterrupted: boolean
  /** Nothing broke but what the provider answered: each answer that can be read was stored. */
  readonly isCalm?: boolean
  /** Nothing broke at all: answers are slow at most, and processes end as they are told to. */
  readonly isUnbroken?: boolean
  /** The network delays nothing. */
  readonly isPrompt?: boolean
  /** Processes stood still, with what they knew of the time. */
  readonly isPaused?: boolean
  /** How often a room is asked, as the configuration says: its log, and what else belongs to it, ms. */
  readonly roomsEvery?: Readonly<
    Record<'events' | 'others', { readonly active: number; readonly idle: number }>
  >
  /** Healing is over: whatever could be had must be there. */
  readonly isEnd: boolean
  /** Between these moments what was stored was lost with the history of the database. */
  readonly rewound?: readonly { readonly from: number; readonly to: number }[]
  /** When the database took no sessions. */
  readonly outages?: readonly { readonly from: number; readonly to: number }[]
  /** How far the clocks of processes were ahead of the world's, ms, and from when to when; all are right where absent. */
  readonly clocks?: readonly { readonly from: number; readonly to: number; readonly ahead: number }[]
  /** Processes, with the numbers of their requests among the arrivals, when they stood still, and when they ended. */
  readonly askers?: readonly {
    readonly name: string
    readonly arrived: readonly number[]
    readonly stoodStill?: readonly Standstill[]
    readonly diedAt?: number
  }[]
  /** Players that were made and destroyed with the program's client. */
  readonly hands?: readonly Hand[]
  /** Rooms that somebody wanted to be read again. */
  readonly marks?: readonly Mark[]
  /** What somebody wanted to be fetched once more. */
  readonly wanted?: readonly Wanted[]
  /** Of which calls of an app metrics are fetched; of all where absent. */
  readonly selection?: Selection
  /** What they sent to make players. */
  readonly creates?: readonly Create[]
  /** What people did in classrooms. */
  readonly lessons?: readonly Lesson[]
  /** Letters that somebody had tried again, and that closed. */
  readonly closedLetters?: number
  /** Numbers of their requests among all that arrived: nobody stores what these are answered. */
  readonly byHand?: readonly number[]
  /** Others make and delete players too, with the same credentials. */
  readonly isShared?: boolean
  /** Streams that are on, of a run that has not all of them. */
  readonly streams?: readonly string[]
  /** Whether the operator knows that endpoints with one table of limits count apart; `joint` where it is not said. */
  readonly counters?: 'joint' | 'split'
  /** For so many seconds after its end a range is searched again for late calls, where an operator said so. */
  readonly callLateness?: number
  /** Who is asked for one by one in real time. */
  readonly users?: readonly number[]
  /** How far the clocks of the apps are ahead of UTC; as in UTC where absent. */
  readonly turns?: readonly Turn[]
  /** When the configuration was changed so that it allows half as much in a short while. */
  readonly tightenedAt?: number
  /** When an app was said to have the plan that is told of it here, and which it had before. */
  readonly lowered?: { readonly app: string; readonly at: number; readonly from: Plan }
  /** From when to when streams of single apps were switched off. */
  readonly switchedOff?: readonly Off[]
  /** The configuration leaves a tenth of a day's requests to others, and says nothing else of limits. */
  readonly spares?: boolean
  /** Neither names nor chats are kept. */
  readonly isDiscreet?: boolean
  /** Servers among the users of calls are not asked for. */
  readonly withoutServers?: boolean
  /** Moments at which calls are searched for, of a run in which that is not done every minute, ms since the epoch. */
  readonly callsAt?: readonly number[]
  /** How often feeds are asked while they tell something, ms, where that is oftener than otherwise. */
  readonly feedEvery?: number
  /** How often resources of a room are listed while something happens in it, ms, where an operator said so. */
  readonly resourcesEvery?: number
  /** So many bytes an answer of call analytics may have, where an operator said so; a large one has more. */
  readonly answerBytes?: number
  /** How often players are listed, ms; every minute where nobody said so. */
  readonly listEvery?: number
  /** Questions of insights and real time by stream, of a run that does not ask the documented ones of each. */
  readonly series?: Readonly<Record<string, readonly string[]>>
}

import type { Arrival } from '../../../sandbox/src/index.ts'
import { type AnalyticsGroup, groupOf } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

/** A question of call analytics that arrived, of a daemon's. */
export interface Asked {
  readonly app: string
  readonly operation: string
  readonly group: AnalyticsGroup
  readonly query: URLSearchParams
  /** The range in it, Unix seconds. */
  readonly from: number
  readonly to: number
  /** When it arrived, ms since the epoch. */
  readonly time: number
  /** `served`: answered as the world was; `empty`: with everything taken out; `none`: no answer of use left. */
  readonly answer: 'served' | 'empty' | 'none'
  /** The answer was a large one. */
  readonly isWeighty: boolean
}

/** Faults that change nothing of what an answer says. */
const harmless: ReadonlySet<string | undefined> = new Set([undefined, 'latency', 'drip', 'weighty'])

export const askedOf = onceEach(readAsked)

/** What is made of an examination once: nothing happens while it lasts. */
export function onceEach<Made>(make: (examination: Examination) => Made): (examination: Examination) => Made {
  const known = new WeakMap<Examination, { readonly made: Made }>()
  return examination => {
    const { made } = known.get(examination) ?? { made: make(examination) }
    known.set(examination, { made })
    return made
  }
}

function readAsked({ sandbox, byHand, answerBytes }: Examination): readonly Asked[] {
  const ofHands = new Set(byHand)
  return sandbox.arrivals.list(0, sandbox.arrivals.count).flatMap(arrival => {
    const { n, app, operation = '', target, time } = arrival
    const group = groupOf[operation]
    if (!group || app === undefined || ofHands.has(n)) return []
    const query = new URL(target, 'http://provider').searchParams
    const [from, to] = [
      Number(query.get('start_ts') ?? query.get('startTs')),
      Number(query.get('end_ts') ?? query.get('endTs')),
    ]
    const isWeighty = arrival.fault === 'weighty'
    const answer = isWeighty && answerBytes !== undefined ? 'none' : answerOf(arrival)
    return [{ app, operation, group, query, from, to, time, answer, isWeighty }]
  })
}

/** Questions about a room that arrived, whatever was answered where `isMeant` does not say which, in their order. */
export function askedOfRooms(
  { sandbox }: Pick<Examination, 'sandbox'>,
  isMeant: (arrival: Arrival) => boolean = () => true,
): (app: string, operation: string, room: string) => readonly Arrival[] {
  const asked = Map.groupBy(
    sandbox.arrivals.list(0, sandbox.arrivals.count).filter(isMeant),
    ({ app, operation, target }) =>
      `${app} ${operation} ${decodeURIComponent(/\/rooms\/([^/?]+)/.exec(target)?.[1] ?? '')}`,
  )
  return (app, operation, room) => asked.get(`${app} ${operation} ${room}`) ?? []
}

/** Only what lies in `data` can be taken out of an answer, and calls do not. */
function answerOf({ operation = '', fault, refusal, status }: Arrival): Asked['answer'] {
  if (refusal !== undefined || status !== 200) return 'none'
  if (fault === 'empty') return operation.startsWith('call') ? 'served' : 'empty'
  return harmless.has(fault) ? 'served' : 'none'
}

/** A time as people read it; in Unix seconds. */
export function say(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

interface Told {
  readonly kind: Finding['kind']
  readonly texts: string[]
  count: number
}

/** The first of what was found, and how much more of it there is: a table may be wrong in every row. */
export class Findings {
  readonly #found = new Map<string, Told>()

  /** `about`: what is alike in all of them. */
  add(kind: Finding['kind'], about: string, text: string): void {
    const known = this.#found.get(`${kind} ${about}`) ?? { kind, texts: [], count: 0 }
    this.#found.set(`${kind} ${about}`, known)
    known.count += 1
    if (known.texts.length < mostTold) known.texts.push(`${about}: ${text}`)
  }

  list(): readonly Finding[] {
    return [...this.#found.values()].flatMap(({ kind, texts, count }) =>
      texts.map((text, n) => {
        const others = count - mostTold
        const isLast = n === texts.length - 1 && others > 0
        return { kind, text: isLast ? `${text} (and ${others} more)` : text }
      }),
    )
  }
}

const mostTold = 5

import { type Call, type CallSession, type CallSource, goesOn } from '../calls.ts'
import { hashOf, hashOn, shareOf } from '../hash.ts'
import type { CallsProfile } from '../options.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Hours whose calls are kept, so that the pages of one search do not make them up again and again. */
const keptHours = 26
const channels = 200
const people = 2_000
/** Shares of the calls that have a recorder, and of the people who lose the connection and come back. */
const recorded = 0.05
const droppedOut = 0.1

/**
 * Calls that follow from a seed alone, hour by hour: equally many in each, at any moment of it. A call id tells
 * the hour and the place within it, so that one call is found at once. They know of no pause of the world: what
 * was due meanwhile has happened at its end.
 */
export class CallLoad implements CallSource {
  readonly #seed: string
  readonly #profile: CallsProfile
  readonly #first: number
  readonly #hours = new Map<number, readonly Call[]>()

  constructor(load: { readonly seed: string; readonly profile: CallsProfile; readonly origin: number }) {
    this.#seed = load.seed
    this.#profile = load.profile
    this.#first = Math.floor((load.origin - load.profile.days * day) / hour)
  }

  *during(from: number, to: number): Iterable<Call> {
    const longest = 1.5 * this.#profile.minutes * minute
    const first = Math.max(this.#first, Math.floor((from - longest) / hour))
    for (let number = first; number * hour <= to; number++) {
      for (const call of this.#hour(number)) if (goesOn(call, from, to)) yield call
    }
  }

  find(callId: string): Call | undefined {
    if (!/^[0-9a-f]{32}$/.test(callId)) return undefined
    const number = Number.parseInt(callId.slice(0, 8), 16)
    const call = this.#isPlayed(number) && this.#hour(number)[Number.parseInt(callId.slice(8, 16), 16)]
    return call && call.callId === callId ? call : undefined
  }

  countUntil(now: number): number {
    const current = Math.floor(now / hour)
    if (current < this.#first) return 0
    const whole = this.#countBefore(current) - this.#countBefore(this.#first)
    return whole + this.#hour(current).filter(call => call.createdAt <= now).length
  }

  #isPlayed(number: number): boolean {
    return number >= this.#first && number < this.#first + 1_000_000
  }

  #countBefore(number: number): number {
    return Math.floor((number * this.#profile.callsPerDay) / 24)
  }

  #hour(number: number): readonly Call[] {
    const known = this.#hours.get(number)
    if (known) return known
    const count = this.#countBefore(number + 1) - this.#countBefore(number)
    const moments = Array.from({ length: count }, (_, n) => {
      return Math.floor(shareOf(hashOf(this.#seed, number, n)) * hour)
    }).sort((a, b) => a - b)
    const calls = moments.map((moment, index) => this.#compose(number, index, moment))
    this.#hours.set(number, calls)
    if (this.#hours.size > keptHours) this.#hours.delete(this.#hours.keys().next().value!)
    return calls
  }

  #compose(number: number, index: number, moment: number): Call {
    const hash = hashOf(this.#seed, number, 'call', index)
    const { minutes, users } = this.#profile
    const createdAt = number * hour + moment
    const length = Math.floor((0.5 + shareOf(hashOn(hash, 2))) * minutes * minute)
    return composedCall({
      callId: [number, index, hash, hashOn(hash, 3)].map(hex).join(''),
      cname: `channel-${hashOn(hash, 4) % channels}`,
      createdAt,
      destroyedAt: createdAt + length,
      users,
      hash,
    })
  }
}

/** A call whose sessions are made up when someone looks at them. */
export function composedCall(
  parts: Omit<Call, 'sessions'> & { readonly users: number; readonly hash: number },
): Call {
  const { users, hash, ...call } = parts
  let sessions: CallSession[] | undefined
  return {
    ...call,
    get sessions() {
      sessions ??= composeSessions(call, users, hash)
      return sessions
    },
  }
}

function composeSessions(call: Omit<Call, 'sessions'>, users: number, hash: number): CallSession[] {
  const { createdAt, destroyedAt = createdAt } = call
  const length = destroyedAt - createdAt
  const sid = (n: number) => `${call.callId.slice(0, 24)}${hex(hashOn(hash, 1_000_000 + n))}`
  const sessions: CallSession[] = []
  const add = (session: Pick<CallSession, 'uid' | 'user' | 'speaks'>, from: number, to: number) => {
    const joinedAt = createdAt + Math.floor(from * length)
    sessions.push({
      sid: sid(sessions.length),
      ...session,
      joinedAt,
      leftAt: createdAt + Math.floor(to * length),
    })
  }
  const firstPerson = hashOn(hash, 5) % people
  for (let n = 0; n < users; n++) {
    const own = hashOn(hash, 100 + n)
    const person = {
      uid: 10_001 + ((firstPerson + n) % people),
      user: 'person',
      speaks: n === 0 || own % 4 === 0,
    } as const
    const join = n === 0 ? 0 : 0.2 * shareOf(own)
    const leave = n === 0 ? 1 : 1 - 0.1 * shareOf(hashOn(own, 1))
    if (n > 0 && shareOf(hashOn(own, 2)) < droppedOut) {
      add(person, join, 0.5)
      add(person, 0.55, leave)
    } else add(person, join, leave)
  }
  if (shareOf(hashOn(hash, 6)) < recorded) add({ uid: 9_001, user: 'recorder', speaks: false }, 0.1, 1)
  return sessions.sort((a, b) => a.joinedAt - b.joinedAt)
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0')
}

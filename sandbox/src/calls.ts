/** What people and recorders do in channels. All times are Unix milliseconds of the world, UTC. */
export interface Call {
  /** Unique within an app. */
  readonly callId: string
  readonly cname: string
  readonly createdAt: number
  /** Undefined while nobody knows when it ends; may lie in the future where the whole call is known before. */
  destroyedAt: number | undefined
  /** In the order of joining. */
  readonly sessions: CallSession[]
}

/** One stay in a call; whoever comes back has another one under the same uid. */
export interface CallSession {
  readonly sid: string
  readonly uid: number
  readonly joinedAt: number
  leftAt: number | undefined
  /** A recorder is a server of the customer. */
  readonly user: 'person' | 'recorder'
  readonly speaks: boolean
}

/** Calls that are made up when someone asks for them. */
export interface CallSource {
  /** Those that go on at some moment from `from` to `to`. */
  during(from: number, to: number): Iterable<Call>
  find(callId: string): Call | undefined
  /** How many have begun by then. */
  countUntil(now: number): number
}

/** Every call of one app, whether or not it has begun yet. */
export class Calls implements CallSource {
  readonly #kept = new Map<string, Call>()
  #made: CallSource | undefined

  add(call: Call): void {
    this.#kept.set(call.callId, call)
  }

  addSource(source: CallSource): void {
    this.#made = source
  }

  *during(from: number, to: number): Iterable<Call> {
    for (const call of this.#kept.values()) if (goesOn(call, from, to)) yield call
    if (this.#made) yield* this.#made.during(from, to)
  }

  find(callId: string): Call | undefined {
    return this.#kept.get(callId) ?? this.#made?.find(callId)
  }

  countUntil(now: number): number {
    const kept = [...this.#kept.values()].filter(call => call.createdAt <= now).length
    return kept + (this.#made?.countUntil(now) ?? 0)
  }
}

export function goesOn(call: Call, from: number, to: number): boolean {
  return call.createdAt <= to && (call.destroyedAt ?? Number.POSITIVE_INFINITY) >= from
}

/** The moment, where it is not after `now`. */
export function past(moment: number | undefined, now: number): number | undefined {
  return moment !== undefined && moment <= now ? moment : undefined
}

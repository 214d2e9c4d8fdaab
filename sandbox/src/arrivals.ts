import type { ViolationKind } from './violations.ts'

export interface Arrival {
  /** From 1, without gaps. */
  readonly n: number
  /** The clock's Unix milliseconds, not the world's. */
  readonly time: number
  /** Undefined where no operation has this method and path. */
  readonly operation: string | undefined
  readonly app: string | undefined
  readonly method: string
  readonly target: string
  /** Name and port that it was sent to. */
  readonly host: string
  /** Undefined where the connection ended without an answer, and while the answer is on its way. */
  status: number | undefined
  /** Kind of the fault that struck. */
  fault: string | undefined
  /** The message with which call analytics or cloud players refused it. */
  refusal: string | undefined
  /** Rules of the documents that it broke. */
  broken: readonly ViolationKind[]
}

/** Every request that ever came, in order. Nothing is taken out or changed once it is answered. */
export class Arrivals {
  readonly #log: Arrival[] = []

  add(arrival: Pick<Arrival, 'time' | 'operation' | 'app' | 'method' | 'target' | 'host'>): Arrival {
    const n = this.#log.length + 1
    const unanswered = { status: undefined, fault: undefined, refusal: undefined, broken: [] }
    const added: Arrival = { n, ...arrival, ...unanswered }
    this.#log.push(added)
    return added
  }

  get count(): number {
    return this.#log.length
  }

  /** Those numbered above `after`, at most `most`. */
  list(after: number, most: number): readonly Arrival[] {
    return this.#log.slice(after, after + most)
  }
}

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
  /** Undefined where the connection ended without an answer, and while the answer is on its way. */
  status: number | undefined
  /** Kind of the fault that struck. */
  fault: string | undefined
  /** The message with which call analytics or cloud players refused it. */
  refusal: string | undefined
}

/** Every request that ever came, in order. Nothing is taken out or changed once it is answered. */
export class Arrivals {
  readonly #log: Arrival[] = []

  add(arrival: Omit<Arrival, 'n' | 'status' | 'fault' | 'refusal'>): Arrival {
    const n = this.#log.length + 1
    const added: Arrival = { n, ...arrival, status: undefined, fault: undefined, refusal: undefined }
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

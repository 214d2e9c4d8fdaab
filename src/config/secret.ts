import { inspect } from 'node:util'

/** A secret could not be had. `key` is where the configuration speaks of it; the reason never holds what was read. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
  readonly key: string
  readonly reason: string
  constructor(key: string, reason: string) {
    super(`${key}: ${reason}`)
    this.key = key
    this.reason = reason
  }
}

const redacted = '[redacted]'
/** Values that are remembered for the log filter: a rotated token may still turn up in an answer. */
const remembered = 4

/**
 * A secret that cannot be printed by accident: as text, as JSON and in the inspector it is `[redacted]`.
 * `read` is asked once, and again after each `refresh`.
 */
export class Secret {
  readonly #read: () => Promise<string>
  #reading: Promise<string> | undefined
  #seen: readonly string[]

  private constructor(read: () => Promise<string>, seen: readonly string[]) {
    this.#read = read
    this.#seen = seen
  }

  /** A secret that stands in the configuration or in the environment; refreshing it changes nothing. */
  static of(text: string): Secret {
    return new Secret(async () => text, [text])
  }

  /** A secret that is read from outside, for the first time when it is first asked for. */
  static from(read: () => Promise<string>): Secret {
    return new Secret(read, [])
  }

  /** The plain text. Throws SecretError when it cannot be read; the next call tries again. */
  reveal(): Promise<string> {
    this.#reading ??= this.#load()
    return this.#reading
  }

  /** Lets the next `reveal` read the secret anew: its file may have changed, its token may have expired. */
  refresh(): void {
    this.#reading = undefined
  }

  /** Plain texts that were revealed so far, latest first, for a filter that keeps them out of logs. */
  known(): readonly string[] {
    return this.#seen
  }

  toString(): string {
    return redacted
  }

  toJSON(): string {
    return redacted
  }

  [inspect.custom](): string {
    return redacted
  }

  #load(): Promise<string> {
    const reading = this.#read().then(
      text => {
        this.#seen = [text, ...this.#seen.filter(seen => seen !== text)].slice(0, remembered)
        return text
      },
      (error: unknown) => {
        if (this.#reading === reading) this.#reading = undefined
        throw error
      },
    )
    return reading
  }
}

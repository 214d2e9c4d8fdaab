import { setImmediate } from 'node:timers/promises'

/** Work that takes long: it yields after each few milliseconds of it. */
export type Steps<T> = Generator<undefined, T, void>

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Lets everything else that waits have its turn between two steps. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await setImmediate()
  }
}

/** Lets so many pieces of work go on at one time; the others wait for their turn. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

export function createTurns(most: number): Turns {
  const waiting: (() => void)[] = []
  let under = 0
  return async work => {
    if (under >= most) await new Promise<void>(resolve => waiting.push(resolve))
    else under += 1
    try {
      return await work()
    } finally {
      // Whoever waits takes the place over.
      const next = waiting.shift()
      if (next) next()
      else under -= 1
    }
  }
}

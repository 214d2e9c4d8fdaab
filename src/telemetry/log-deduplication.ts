import type { Clock } from '../clock/clock.ts'

/** Messages that were left out within one window. */
export interface LeftOut<Level> {
  readonly level: Level
  readonly message: string
  readonly count: number
}

export interface LogDeduplication<Level> {
  /** Whether one more of this message may be written. */
  readonly admit: (level: Level, message: string) => 'write' | 'leave_out'
  /** What was left out in windows that have ended; each is told once. */
  readonly ended: () => readonly LeftOut<Level>[]
  /** What was left out so far, in windows that go on as well. */
  readonly all: () => readonly LeftOut<Level>[]
}

const window = 60_000

/** Messages are constants of the program, so more than this many would be a mistake somewhere. */
const mostMessages = 1_000

interface Count<Level> {
  readonly level: Level
  readonly message: string
  readonly since: number
  readonly written: number
  readonly leftOut: number
}

/** Lets at most `limit` equal messages a minute through and counts the others. Starts no timer. */
export function createLogDeduplication<Level extends string>(
  clock: Clock,
  limit: number,
): LogDeduplication<Level> {
  const counts = new Map<string, Count<Level>>()
  let nextSweep = clock.monotonic() + window

  const take = (which: (count: Count<Level>) => boolean): readonly LeftOut<Level>[] => {
    const taken = [...counts].filter(([, count]) => which(count))
    for (const [key] of taken) counts.delete(key)
    return taken.flatMap(([, { level, message, leftOut }]) => {
      return leftOut > 0 ? [{ level, message, count: leftOut }] : []
    })
  }

  return {
    admit(level, message) {
      const key = `${level} ${message}`
      const count = counts.get(key) ?? { level, message, since: clock.monotonic(), written: 0, leftOut: 0 }
      const write = count.written < limit
      counts.set(key, {
        ...count,
        written: count.written + (write ? 1 : 0),
        leftOut: count.leftOut + (write ? 0 : 1),
      })
      return write ? 'write' : 'leave_out'
    },
    ended() {
      const now = clock.monotonic()
      if (now < nextSweep && counts.size < mostMessages) return []
      const ended = take(({ since }) => now - since >= window || counts.size >= mostMessages)
      nextSweep = Math.min(now + window, ...[...counts.values()].map(({ since }) => since + window))
      return ended
    },
    all: () => take(() => true),
  }
}

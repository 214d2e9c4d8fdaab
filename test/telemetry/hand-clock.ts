import type { Clock } from '../../src/clock/clock.ts'

export interface HandClock extends Clock {
  readonly advance: (ms: number) => Promise<void>
}

/** A clock that a test moves by hand; it begins at 2026-01-01T00:00:00Z. */
export function handClock(): HandClock {
  let passed = 0
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>()
  return {
    now: () => Date.parse('2026-01-01T00:00:00Z') + passed,
    monotonic: () => passed,
    sleep(ms, signal) {
      return new Promise(resolve => {
        const sleeper = { until: passed + ms, wake: () => wake() }
        const wake = () => {
          sleepers.delete(sleeper)
          resolve()
        }
        if (signal?.aborted || ms <= 0) return resolve()
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake, { once: true })
      })
    },
    async advance(ms) {
      passed += ms
      for (const { until, wake } of [...sleepers]) if (until <= passed) wake()
      await new Promise(resolve => setImmediate(resolve))
    },
  }
}

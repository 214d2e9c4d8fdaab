import { systemClock } from '../clock/system.ts'

/** A repetition this soon is the same key press: npm passes on to its script what the terminal has sent it already. */
const ECHO_MS = 500

/**
 * Resolves at the first SIGTERM or SIGINT. A second one ends the process at once, for whoever cannot wait for the
 * drain.
 */
export function untilSignal(signal?: AbortSignal): Promise<'signal' | 'aborted'> {
  return new Promise(resolve => {
    let askedAt: number | undefined
    const onSignal = () => {
      const now = systemClock.monotonic()
      if (askedAt !== undefined && now - askedAt > ECHO_MS) process.exit(1)
      askedAt ??= now
      resolve('signal')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    signal?.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}

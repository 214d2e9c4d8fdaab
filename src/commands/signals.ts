import { systemClock } from '../clock/system.ts'
import { outputLost } from './output.ts'

/** A repetition this soon is the same key press: npm passes on to its script what the terminal has sent it already. */
const ECHO_MS = 500

/** Why a command that goes on until it is told to stop does stop. */
export type Ending = 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'output lost' | 'time is up'

/**
 * Resolves when a command should end: at SIGTERM, SIGINT or SIGHUP, when nobody reads its output any more, or when
 * `timeUp` aborts. A second SIGTERM or SIGINT ends the process at once, for whoever cannot wait for the drain. A hang-up
 * never does: the terminal and the shell in it both send one.
 */
export function untilToldToStop(timeUp?: AbortSignal): Promise<Ending> {
  return new Promise(resolve => {
    let askedAt: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      const now = systemClock.monotonic()
      if (askedAt !== undefined && now - askedAt > ECHO_MS) process.exit(1)
      askedAt ??= now
      resolve(signal as 'SIGTERM' | 'SIGINT')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    process.on('SIGHUP', () => resolve('SIGHUP'))
    const onAbort = (signal: AbortSignal | undefined, ending: Ending) => {
      if (signal?.aborted) resolve(ending)
      signal?.addEventListener('abort', () => resolve(ending), { once: true })
    }
    onAbort(outputLost, 'output lost')
    onAbort(timeUp, 'time is up')
  })
}

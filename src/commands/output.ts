import { exitFailed } from './exit.ts'

const lost = new AbortController()

/** Aborted once standard output leads nowhere: `head` has seen enough, or the terminal is gone. */
export const outputLost: AbortSignal = lost.signal

/**
 * Lets a command outlive whoever reads it. What it has begun (a database, a migration, pages in hand) must be brought
 * to an end all the same, so it is not cut off; it only ends as failed. Nobody is left to be told why.
 */
export function watchOutput(): void {
  process.stdout.on('error', () => {
    process.exitCode ||= exitFailed
    lost.abort()
  })
  process.stderr.on('error', () => {})
}

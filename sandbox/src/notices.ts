import type { Clock } from '../../src/clock/clock.ts'
import type { Deliver } from './players/deliver.ts'
import type { Sandbox } from './sandbox.ts'

/** How long the provider waits for the answer to a notification, ms. */
const patience = 10_000

/** Milliseconds between two looks at a world that nobody else may be looking at. */
const lookEvery = 250

/** Posts the notifications of a sandbox to `url`, following no redirect. Rejects where no answer comes in time. */
export function postTo(url: string, clock: Clock): Deliver {
  return async (_, { headers, body }) => {
    const ended = new AbortController()
    void clock.sleep(patience, ended.signal).then(() => ended.abort())
    try {
      const { signal } = ended
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      await response.body?.cancel()
      return response.status
    } finally {
      ended.abort()
    }
  }
}

/** Lets the world of a sandbox go on until the signal aborts: it keeps no timer, and notifications leave when it moves. */
export async function keepMoving({ universe }: Sandbox, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    universe.advance()
    await clock.sleep(lookEvery, signal)
  }
}

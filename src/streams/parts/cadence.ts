import type { z } from 'zod'
import { section } from '../../settings/leaf.ts'
import { duration } from '../../settings/values.ts'

/** How often a feed or a list of the whole app is asked. */
export function appCadence(every: z.ZodType<number, string | undefined>) {
  const settings = section({ every })
  return {
    settings,
    cadence: (said: z.output<typeof settings>) => ({ activeEvery: said.every, idleEvery: said.every }),
  }
}

/** How often a room is asked. */
export function roomCadence(activeEvery: string) {
  const settings = section({
    activeEvery: duration('1s', '1h')
      .prefault(activeEvery)
      .describe('How often a room is asked while something happens in it.'),
    idleEvery: duration('1s', '7d')
      .prefault('1h')
      .describe('How often a room is asked while nothing happens in it.'),
  })
  return { settings, cadence: (said: z.output<typeof settings>) => said }
}

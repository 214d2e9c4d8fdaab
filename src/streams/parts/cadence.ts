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

/** How often a feed is asked. */
export function feedCadence(usual: string) {
  const settings = section({
    every: duration('500ms', '1m')
      .prefault(usual)
      .describe('How often the app is asked what is new in all its rooms.'),
    idleEvery: duration('500ms', '1m')
      .prefault(usual)
      .describe(
        'How often at least while nothing happens in any room: intervals grow up to this, and end with the first event. ' +
          'Worth raising with hundreds of apps; a tenth of the time for which the provider knows a room is the most.',
      ),
  })
  return {
    settings,
    cadence: (said: z.output<typeof settings>) => ({
      activeEvery: said.every,
      idleEvery: Math.max(said.every, said.idleEvery),
    }),
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

import type { z } from 'zod'
import { longestPause, type Pace } from '../../planning/cadence.ts'
import type { RangeLimits } from '../../planning/windows.ts'
import { type Cron, cron } from '../../settings/cron.ts'
import { type Alternatives, section } from '../../settings/leaf.ts'
import { duration, formatDuration } from '../../settings/values.ts'
import type { Around, Cadence, Mistake } from '../stream.ts'

/** How often something is asked, as settings say it. */
export interface Said {
  /** ms. */
  readonly every: number
  readonly cron?: Cron | undefined
}

/** The key beside an interval that says the moments instead. */
export function cronKey(instead = 'every') {
  return {
    cron: cron()
      .optional()
      .describe(
        `Moments at which it is asked, as a cron expression such as 0 4 * * *, instead of ${instead}; by the clocks of the app's timeZone. It is also asked when Penstock starts.`,
      ),
  }
}

/** An interval and moments exclude each other. */
export function orCron(...intervals: readonly string[]): { readonly alternatives: readonly Alternatives[] } {
  return { alternatives: intervals.map(key => ({ keys: [key, 'cron'], need: 'optional' })) }
}

/** A section whose `every` moments may take the place of. */
export function pacedSection<S extends z.core.$ZodLooseShape>(shape: S) {
  return section(shape, orCron('every'))
}

/** How often the work queue of a substream is gone through. */
export function roundKeys() {
  return {
    every: duration('0s', '1d')
      .prefault('0s')
      .describe(
        'How long after one round through its work queue the next begins; 0s: as soon as there is work.',
      ),
    ...cronKey(),
  }
}

/** The pace that settings say. */
export function paceOf({ every, cron }: Said): Pace {
  return cron ? { every: cron.longestPause, moments: cron } : { every }
}

/** How messages name the pace: its key, it with its length, and what helps where that is too long. */
export function pausesOf({ every, cron }: Said) {
  const isWhole = cron && `cron (pauses of up to ${formatDuration(cron.longestPause)})`
  return {
    key: cron ? 'cron' : 'every',
    text: isWhole ?? `every (${formatDuration(every)})`,
    remedy: cron ? '; name more moments' : '',
  }
}

/** What comes right after one time must still be had at the next, also when it had to wait for another stream. */
export function pauseMistakes(
  { every, cron }: Said,
  allowed: RangeLimits | undefined,
  { before }: Around,
): readonly Mistake[] {
  const pause = paceOf({ every, cron }).every
  const most = allowed ? (allowed.availableData - allowed.dataDelay) * 1_000 : Number.POSITIVE_INFINITY
  if (pause === 0 || pause + before < most) return []
  const { key, text, remedy } = pausesOf({ every, cron })
  const both =
    before > 0
      ? `${text} and the pauses before it (${formatDuration(before)}) must together be`
      : `${text} must be`
  const why = `${both} shorter than what can be asked for (${formatDuration(most)}): as it is, the time between would be lost`
  return [{ settings: [key], limit: 'any', text: `${why}${remedy}` }]
}

function cadenceOf(said: Said, idleEvery = said.every): Omit<Cadence, 'memory'> {
  const { every, moments } = paceOf(said)
  return moments ? { activeEvery: every, idleEvery: every, moments } : { activeEvery: every, idleEvery }
}

/** How often a list of the whole app is asked. */
export function appCadence(every: z.ZodType<number, string | undefined>) {
  const settings = pacedSection({ every, ...cronKey() })
  return { settings, cadence: (said: z.output<typeof settings>) => cadenceOf(said) }
}

/** How often a feed is asked. */
export function feedCadence(usual: string) {
  const settings = section(
    {
      every: duration('500ms', '1m')
        .prefault(usual)
        .describe('How often the app is asked what is new in all its rooms.'),
      idleEvery: duration('500ms', '1m')
        .prefault('30s')
        .describe(
          'How often at least while nothing happens in any room: intervals grow up to this, and end with the first event. ' +
            'They do not grow in hours of the week in which there were classes within the last four weeks. ' +
            'A tenth of the time for which the provider knows a room is the most.',
        ),
      ...cronKey('every and idleEvery'),
    },
    orCron('every', 'idleEvery'),
  )
  type Settings = z.output<typeof settings>
  return {
    settings,
    cadence: (said: Settings) => cadenceOf(said, Math.max(said.every, said.idleEvery)),
    mistakes: ({ cron }: Settings, _: unknown, { roomMemory }: Around) =>
      tooRare(cron, longestPause('feed', roomMemory), 'every and idleEvery'),
  }
}

/** How often a room is asked. */
export function roomCadence(activeEvery: string) {
  const settings = section(
    {
      activeEvery: duration('1s', '1h')
        .prefault(activeEvery)
        .describe('How often a room is asked while something happens in it.'),
      idleEvery: duration('1s', '7d')
        .prefault('1h')
        .describe('How often a room is asked while nothing happens in it.'),
      ...cronKey('activeEvery and idleEvery'),
    },
    orCron('activeEvery', 'idleEvery'),
  )
  type Settings = z.output<typeof settings>
  return {
    settings,
    cadence: ({ activeEvery: every, idleEvery, cron }: Settings) => cadenceOf({ every, cron }, idleEvery),
    mistakes: ({ cron }: Settings, _: unknown, { roomMemory }: Around) =>
      tooRare(cron, longestPause('room', roomMemory), 'activeEvery and idleEvery'),
  }
}

/** What came last in a room must be read before the provider forgets the room. */
function tooRare(cron: Cron | undefined, most: number, intervals: string): readonly Mistake[] {
  if (!cron || cron.longestPause <= most) return []
  const text =
    `${pausesOf({ every: 0, cron }).text} must leave ${formatDuration(Math.floor(most / 1_000) * 1_000)} at most, ` +
    `because the provider forgets rooms (provider.classroom.roomMemory): name more moments, or say ${intervals} instead`
  return [{ settings: ['cron'], text }]
}

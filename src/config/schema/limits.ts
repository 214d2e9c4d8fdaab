import { section } from './leaf.ts'
import { count } from './values.ts'

/** How much may be asked of one limit group of the provider. */
export interface GroupLimit {
  /** Requests in any second. */
  readonly perSecond: number
  /** Requests under way at once. */
  readonly concurrency: number
}

export interface GroupLimits {
  /** All classroom operations of an app. */
  readonly classroom: GroupLimit
  /** The feed of an app, which may give each event once only. */
  readonly 'classroom-feed': Pick<GroupLimit, 'perSecond'>
}

/** The provider documents no limits for classrooms: these are polite. */
export const defaultLimits: GroupLimits = {
  classroom: { perSecond: 50, concurrency: 8 },
  'classroom-feed': { perSecond: 2 },
}

function perSecond(limit: number) {
  return count(1, 10_000).optional().describe('Requests in any second, at most.').meta({ default: limit })
}

export const limits = section(
  {
    classroom: section(
      {
        perSecond: perSecond(defaultLimits.classroom.perSecond),
        concurrency: count(1, 256)
          .optional()
          .describe('Requests under way at once, at most.')
          .meta({ default: defaultLimits.classroom.concurrency }),
      },
      { noun: 'limit' },
    )
      .optional()
      .describe('All classroom requests of one app. The provider documents no limit; this is polite.'),
    'classroom-feed': section(
      { perSecond: perSecond(defaultLimits['classroom-feed'].perSecond) },
      { noun: 'limit' },
    )
      .optional()
      .describe('Requests of the stream app-events, for one app.'),
  },
  { noun: 'limit group' },
)

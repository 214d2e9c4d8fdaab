import type { AnalyticsGroup } from '../../provider/analytics/index.ts'
import { type PlayerGroup, playerGroups, playerRates } from '../../provider/players/index.ts'
import { section } from '../../settings/leaf.ts'
import { count, duration } from '../../settings/values.ts'

/** How much may be asked of one limit group of the provider. */
export interface GroupLimit {
  /** Requests in any second. */
  readonly perSecond: number
  /** Requests under way at once. */
  readonly concurrency: number
}

/** What an operator says of a group whose limits follow from the plan; durations in ms. */
export interface PlanOverride {
  readonly perSecond?: number | undefined
  readonly perMinute?: number | undefined
  readonly perDay?: number | undefined
  readonly availableData?: number | undefined
  readonly timeFrame?: number | undefined
  readonly dataDelay?: number | undefined
  readonly concurrency: number
}

/** How much may be asked of the cloud player service. */
export interface PlayerLimit extends GroupLimit {
  /** Requests in any minute; absent where the provider counts none. */
  readonly perMinute?: number
}

export interface GroupLimits
  extends Readonly<Record<AnalyticsGroup, PlanOverride>>,
    Readonly<Record<PlayerGroup, PlayerLimit>> {
  /** All classroom operations of an app. */
  readonly classroom: GroupLimit
  /** The feed of an app, which may give each event once only. */
  readonly 'classroom-feed': Pick<GroupLimit, 'perSecond'>
}

/** Requests to the cloud player service under way at once. */
const playerConcurrency = 2

/** As documented. */
function playerLimit(group: PlayerGroup): PlayerLimit {
  const within = (window: number) => playerRates[group].find(rate => rate.window === window)?.requests
  const perMinute = within(60)
  const limit = { perSecond: within(1)!, concurrency: playerConcurrency }
  return perMinute === undefined ? limit : { ...limit, perMinute }
}

/**
 * The provider documents no limits for classrooms: these are polite. Those of call analytics follow from the plan,
 * those of cloud players are the same in all.
 */
export const defaultLimits: GroupLimits = {
  classroom: { perSecond: 50, concurrency: 8 },
  'classroom-feed': { perSecond: 20 },
  'call-search': { concurrency: 4 },
  'call-details': { concurrency: 4 },
  'usage-insight': { concurrency: 2 },
  'quality-insight': { concurrency: 2 },
  realtime: { concurrency: 2 },
  ...each(playerLimit),
}

function each<L>(make: (group: PlayerGroup) => L): Readonly<Record<PlayerGroup, L>> {
  return Object.fromEntries(playerGroups.map(group => [group, make(group)])) as Record<PlayerGroup, L>
}

function perSecond(limit: number) {
  return count(1, 10_000).optional().describe('Requests in any second, at most.').meta({ default: limit })
}

function concurrency(limit: number) {
  return count(1, 256).optional().describe('Requests under way at once, at most.').meta({ default: limit })
}

/** Left out, the documented number of the plan holds. */
function planLimits(group: AnalyticsGroup, meaning: string) {
  const shape = {
    perSecond: count(1, 10_000)
      .optional()
      .describe('Requests in any second, at most. Left out: as documented.'),
    perMinute: count(1, 100_000)
      .optional()
      .describe('Requests in any minute, at most. Left out: as documented.'),
    perDay: count(1, 10_000_000)
      .optional()
      .describe('Requests in any 24 hours, at most. Left out: as documented.'),
    availableData: duration('1m', '3650d')
      .optional()
      .describe('How far back data are served. Left out: as documented.'),
    timeFrame: duration('1m', '3650d')
      .optional()
      .describe('Longest range of one request. Left out: as documented.'),
    dataDelay: duration('0s', '30d').optional().describe('How old data must be. Left out: as documented.'),
    concurrency: concurrency(defaultLimits[group].concurrency),
  }
  return section(shape, { noun: 'limit' }).optional().describe(meaning)
}

/** Those that are counted by the minute as well. */
function listLimits(group: 'players-list' | 'players-list-all', meaning: string) {
  const { perSecond: second, perMinute = 0, concurrency: atOnce } = defaultLimits[group]
  const shape = {
    perSecond: perSecond(second),
    perMinute: count(1, 100_000)
      .optional()
      .describe('Requests in any minute, at most.')
      .meta({ default: perMinute }),
    concurrency: concurrency(atOnce),
  }
  return section(shape, { noun: 'limit' }).optional().describe(meaning)
}

function changeLimits(group: Exclude<PlayerGroup, `players-list${string}`>, meaning: string) {
  const { perSecond: second, concurrency: atOnce } = defaultLimits[group]
  const shape = { perSecond: perSecond(second), concurrency: concurrency(atOnce) }
  return section(shape, { noun: 'limit' }).optional().describe(meaning)
}

export const limits = section(
  {
    classroom: section(
      {
        perSecond: perSecond(defaultLimits.classroom.perSecond),
        concurrency: concurrency(defaultLimits.classroom.concurrency),
      },
      { noun: 'limit' },
    )
      .optional()
      .describe(
        'All classroom requests of one app, in each of its regions. The provider documents no limit; this is polite.',
      ),
    'classroom-feed': section(
      { perSecond: perSecond(defaultLimits['classroom-feed'].perSecond) },
      { noun: 'limit' },
    )
      .optional()
      .describe(
        'Requests of the stream app-events, for one app, in each of its regions. It asks as fast as this while an answer is full and tells something new.',
      ),
    'call-search': planLimits('call-search', 'Requests of the stream calls.'),
    'call-details': planLimits(
      'call-details',
      'Requests of the streams call-sessions and call-metrics, together.',
    ),
    'usage-insight': planLimits('usage-insight', 'Requests of the stream usage-insight.'),
    'quality-insight': planLimits('quality-insight', 'Requests of the stream quality-insight.'),
    realtime: planLimits(
      'realtime',
      'Requests of the streams realtime-usage and realtime-quality, together.',
    ),
    'players-create': changeLimits(
      'players-create',
      'Players that are created; all of them, unless provider.players.limits is split.',
    ),
    'players-create-unnamed': changeLimits(
      'players-create-unnamed',
      'Players that are created without a name, where provider.players.limits is split.',
    ),
    'players-delete': changeLimits('players-delete', 'Players that are destroyed.'),
    'players-list': listLimits(
      'players-list',
      'Lists of players; all of them, unless provider.players.limits is split: then those of each channel.',
    ),
    'players-list-all': listLimits(
      'players-list-all',
      'Lists of all players, those of the stream cloud-players among them, where provider.players.limits is split.',
    ),
  } satisfies Readonly<Record<keyof GroupLimits, unknown>>,
  { noun: 'limit group' },
)

export const plans = ['starter', 'standard', 'premium', 'enterprise', 'own'] as const
export type Plan = (typeof plans)[number]

/** What the provider's documents and field notes say in numbers, written down a second time. */

export interface Rate {
  readonly requests: number
  /** Length of the window, seconds. */
  readonly window: number
}

/** What may be asked for, seconds. All bounds are strict. */
export interface Bounds {
  readonly availableData: number
  readonly timeFrame: number
  readonly dataDelay: number
}

export interface Allowance extends Bounds {
  readonly rates: readonly Rate[]
}

/** Half as much as these allow in a short while: what an operator leaves to others. */
export function tightened(rates: readonly Rate[]): readonly Rate[] {
  return rates.map(({ requests, window }) => ({
    requests: window > minute ? requests : Math.floor(requests / 2),
    window,
  }))
}

/** Window of the requests of a day, seconds. */
export const perDay = 86_400

/** A tenth of a day's requests is left to others. */
export function spared(rates: readonly Rate[]): readonly Rate[] {
  return rates.map(({ requests, window }) => ({
    requests: window === perDay ? Math.floor(requests * 0.9) : requests,
    window,
  }))
}

type ByPlan = Readonly<Partial<Record<Plan, Allowance>>>

const minute = 60
const hour = 60 * minute
const day = 24 * hour

const perSecondAndDay = (second: number, ofDay: number): readonly Rate[] => [
  { requests: second, window: 1 },
  { requests: ofDay, window: day },
]
const perMinuteAndDay = (ofMinute: number, ofDay: number): readonly Rate[] => [
  { requests: ofMinute, window: minute },
  { requests: ofDay, window: day },
]

/**
 * By group of endpoints that have a table in common; a plan that is absent has no access. `own` are limits that one
 * customer agreed on, which no document has: they reach back so little that an hour sees much of it end.
 */
export const analyticsLimits = {
  'call-search': {
    standard: {
      rates: perSecondAndDay(1, 1_000),
      availableData: 3 * day,
      timeFrame: 8 * hour,
      dataDelay: minute,
    },
    premium: {
      rates: perSecondAndDay(3, 2_000),
      availableData: 7 * day,
      timeFrame: 16 * hour,
      dataDelay: minute,
    },
    enterprise: {
      rates: perSecondAndDay(10, 10_000),
      availableData: 15 * day,
      timeFrame: 24 * hour,
      dataDelay: minute,
    },
    own: {
      rates: perSecondAndDay(3, 5_000),
      availableData: 90 * minute,
      timeFrame: 30 * minute,
      dataDelay: minute,
    },
  },
  'call-details': {
    standard: {
      rates: perSecondAndDay(1, 1_000),
      availableData: day,
      timeFrame: hour,
      dataDelay: 5 * minute,
    },
    premium: {
      rates: perSecondAndDay(3, 2_000),
      availableData: 7 * day,
      timeFrame: 3 * hour,
      dataDelay: 5 * minute,
    },
    enterprise: {
      rates: perSecondAndDay(10, 10_000),
      availableData: 15 * day,
      timeFrame: 6 * hour,
      dataDelay: 5 * minute,
    },
    own: {
      rates: perSecondAndDay(3, 20_000),
      availableData: 40 * minute,
      timeFrame: 20 * minute,
      dataDelay: 2 * minute,
    },
  },
  'usage-insight': {
    premium: {
      rates: perMinuteAndDay(3, 40),
      availableData: 14 * day,
      timeFrame: 3 * day,
      dataDelay: 12 * hour,
    },
    enterprise: {
      rates: perMinuteAndDay(10, 60),
      availableData: 30 * day,
      timeFrame: 7 * day,
      dataDelay: 6 * hour,
    },
    own: {
      rates: perMinuteAndDay(10, 24),
      availableData: 4 * day,
      timeFrame: 3 * day,
      dataDelay: 6 * hour,
    },
  },
  'quality-insight': {
    premium: {
      rates: perMinuteAndDay(3, 40),
      availableData: 14 * day,
      timeFrame: 3 * day,
      dataDelay: 6 * hour,
    },
    enterprise: {
      rates: perMinuteAndDay(10, 60),
      availableData: 30 * day,
      timeFrame: 7 * day,
      dataDelay: 6 * hour,
    },
    own: {
      rates: perMinuteAndDay(10, 2_880),
      availableData: 4 * day,
      timeFrame: 3 * day,
      dataDelay: 6 * hour,
    },
  },
  realtime: {
    premium: {
      rates: perMinuteAndDay(3, 480),
      availableData: 40 * minute,
      timeFrame: 40 * minute,
      dataDelay: 40,
    },
    enterprise: {
      rates: perMinuteAndDay(10, 1_440),
      availableData: 60 * minute,
      timeFrame: 60 * minute,
      dataDelay: 20,
    },
    own: {
      rates: perMinuteAndDay(10, 2_880),
      availableData: 20 * minute,
      timeFrame: 20 * minute,
      dataDelay: 20,
    },
  },
} as const satisfies Readonly<Record<string, ByPlan>>

export type AnalyticsGroup = keyof typeof analyticsLimits

/** Endpoints in the strictest reading: those of one table count together. */
export const groupOf: Readonly<Record<string, AnalyticsGroup>> = {
  callSearch: 'call-search',
  callSessions: 'call-details',
  callMetrics: 'call-details',
  usageInsight: 'usage-insight',
  qualityInsight: 'quality-insight',
  realtimeUsage: 'realtime',
  realtimeQuality: 'realtime',
}

export function allowanceOf(group: AnalyticsGroup, plan: Plan): Allowance | undefined {
  const plans: ByPlan = analyticsLimits[group]
  return plans[plan]
}

/** Most of what one question of call analytics may name. */
export const maxima = { page_size: 100, sids: 20, uids: 10 } as const

/**
 * In a project: creations and destroys a second, and of lists a second and a minute. The scope of the second limits of
 * creating and listing is not shown, so the first ones hold for all unless the two are known to be apart.
 */
export const playerLimits: Readonly<Record<string, readonly Rate[]>> = {
  createPlayer: [{ requests: 2, window: 1 }],
  deletePlayer: [{ requests: 100, window: 1 }],
  listPlayers: [
    { requests: 2, window: 1 },
    { requests: 15, window: minute },
  ],
}

/** Streams of which one value is promised for each step of time. */
export const promising = [
  { stream: 'usage-insight', operation: 'usageInsight', group: 'usage-insight' },
  { stream: 'quality-insight', operation: 'qualityInsight', group: 'quality-insight' },
  { stream: 'realtime-usage', operation: 'realtimeUsage', group: 'realtime' },
  { stream: 'realtime-quality', operation: 'realtimeQuality', group: 'realtime' },
] as const
export type PromisingStream = (typeof promising)[number]['stream']

const usage = [
  ...['userCount', 'sessionCount', 'channelCount', 'peakCurrentChannels', 'peakCurrentUsers'],
  ...['totalDuration', 'totalVideoDuration', 'totalAudioDuration'],
]
const quality = [
  ...['joinSuccessRate', 'joinSuccessIn5sRate', 'audioFreezeRate', 'videoFreezeRate', 'networkDelay'],
]
const byHourAndDay = (series: string) => [`${series}/hour`, `${series}/day`]

/** What is asked where the configuration says nothing else. */
export const documentedSeries: Readonly<Record<PromisingStream, readonly string[]>> = {
  'usage-insight': usage.flatMap(byHourAndDay),
  'quality-insight': quality.map(metric => `Native/${metric}`).flatMap(byHourAndDay),
  'realtime-usage': ['Native/userCount', 'Native/channelCount'],
  'realtime-quality': quality.map(metric => `Native/${metric}`),
}

/** After so long a value of insights is read again, because it is computed again, and then at the next round; seconds. */
export const insightLateness = { 'usage-insight': 60 * hour, 'quality-insight': 64 * hour } as const
export const insightRound = 6 * hour

/** What is asked of the provider for each stream. */
export const operationOf: Readonly<Record<string, string>> = {
  'app-events': 'appEvents',
  'room-events': 'roomEvents',
  'popup-quiz': 'popupQuiz',
  poll: 'poll',
  recordings: 'recordings',
  resources: 'resources',
  'cloud-players': 'listPlayers',
  calls: 'callSearch',
  'call-sessions': 'callSessions',
  'call-metrics': 'callMetrics',
  'usage-insight': 'usageInsight',
  'quality-insight': 'qualityInsight',
  'realtime-usage': 'realtimeUsage',
  'realtime-quality': 'realtimeQuality',
}

import type { z } from 'zod'
import { type AnalyticsGroup, analyticsGroups, analyticsLimits } from '../provider/analytics/index.ts'
import type { PlanLimits, Rate } from '../provider/limits.ts'
import { type PlayerGroup, playerGroups, playerRates } from '../provider/players/index.ts'
import { mapKeys, mapValues, section } from '../settings/leaf.ts'
import { count, duration } from '../settings/values.ts'
import { layerOf } from '../settings/walk.ts'
import type { Streams } from '../streams/index.ts'

/** How much may be asked of one limit group; durations in ms. What is undefined the provider does not count. */
export interface SaidLimit {
  readonly perSecond?: number | undefined
  readonly perMinute?: number | undefined
  readonly perDay?: number | undefined
  readonly availableData?: number | undefined
  readonly timeFrame?: number | undefined
  readonly dataDelay?: number | undefined
  /** Requests under way at once. */
  readonly concurrency: number
}

type LimitGroup = AnalyticsGroup | PlayerGroup | 'classroom' | 'classroom-feed'
export type SaidLimits = Readonly<Record<string, SaidLimit>>

const rates = {
  perSecond: { window: 1, most: 10_000, words: 'Requests in any second, at most.' },
  perMinute: { window: 60, most: 100_000, words: 'Requests in any minute, at most.' },
  perDay: { window: 86_400, most: 10_000_000, words: 'Requests in any 24 hours, at most.' },
} as const
type RateKey = keyof typeof rates
const rateKeys = Object.keys(rates) as readonly RateKey[]

const ranges = {
  availableData: duration('1m', '3650d')
    .optional()
    .describe('How far back data are served. Left out: as documented.'),
  timeFrame: duration('1m', '3650d')
    .optional()
    .describe('Longest range of one request. Left out: as documented.'),
  dataDelay: duration('0s', '30d').optional().describe('How old data must be. Left out: as documented.'),
}
const rangeKeys = Object.keys(ranges) as readonly (keyof typeof ranges)[]

function rate(key: RateKey, fallback: number) {
  return count(1, rates[key].most).prefault(`${fallback}`).describe(rates[key].words)
}

function concurrency(fallback: number) {
  return count(1, 256).prefault(`${fallback}`).describe('Requests under way at once, at most.')
}

/** Left out, the documented number of the plan holds. */
function planLimits(group: AnalyticsGroup) {
  const ofPlan = ({ most, words }: (typeof rates)[RateKey]) =>
    count(1, most).optional().describe(`${words} Left out: as documented.`)
  return {
    ...mapValues(rates, ofPlan),
    ...ranges,
    concurrency: concurrency(group.startsWith('call-') ? 4 : 2),
  }
}

/** As documented. */
function playerLimits(group: PlayerGroup) {
  const documented = rateKeys.flatMap(key => {
    const found = playerRates[group].find(({ window }) => window === rates[key].window)
    return found ? [[key, rate(key, found.requests)] as const] : []
  })
  return { ...Object.fromEntries(documented), concurrency: concurrency(2) }
}

/** The provider documents no limits for classrooms: these are polite. */
const groups: Readonly<Record<string, z.ZodObject>> = mapValues(
  {
    classroom: { perSecond: rate('perSecond', 50), concurrency: concurrency(8) },
    'classroom-feed': { perSecond: rate('perSecond', 20) },
    ...mapKeys(analyticsGroups, planLimits),
    ...mapKeys(playerGroups, playerLimits),
  },
  shape => section(shape),
)

/** What holds where nobody says anything. */
export const defaultLimits: SaidLimits = mapValues(groups, group => ({
  concurrency: 1,
  ...(group.parse({}) as Partial<SaidLimit>),
}))

/** Limits by group, as the whole file or an app says them. */
export function limitLayer(streams: Streams) {
  const meanings: Readonly<Record<string, string>> = meaningsOf(streams)
  return section(
    mapValues(groups, (group, name) => layerOf(group, 'limit').optional().describe(meanings[name]!)),
    { noun: 'limit group' },
  )
}

function meaningsOf(streams: Streams): Readonly<Record<LimitGroup, string>> {
  const namesOf = (group: string) =>
    Object.values(streams)
      .filter(({ operation }) => operation.limitGroup === group)
      .map(({ name }) => name)
  const ofStreams = (group: string) => {
    const names = namesOf(group)
    return names.length === 1
      ? `Requests of the stream ${names[0]}`
      : `Requests of the streams ${names.join(' and ')}, together`
  }
  return {
    classroom:
      'All classroom requests of one app, in each of its regions. The provider documents no limit; this is polite.',
    'classroom-feed': `${ofStreams('classroom-feed')}, for one app, in each of its regions. It asks as fast as this while an answer is full and tells something new.`,
    ...mapKeys(analyticsGroups, group => `${ofStreams(group)}.`),
    'players-create': 'Players that are created; all of them, unless provider.players.limits is split.',
    'players-create-unnamed':
      'Players that are created without a name, where provider.players.limits is split.',
    'players-delete': 'Players that are destroyed.',
    'players-list':
      'Lists of players; all of them, unless provider.players.limits is split: then those of each channel.',
    'players-list-all': `Lists of all players, those of the stream ${namesOf('players-list').join(' and ')} among them, where provider.players.limits is split.`,
  }
}

/** What is said of an app: its plan, and limits in place of the documented ones. */
interface Said {
  readonly plan: keyof (typeof analyticsLimits)[AnalyticsGroup]
  readonly limits: SaidLimits
}

/**
 * What an app may ask of a limit group, in seconds: the documented numbers of its plan, and in their place what the
 * operator says. Undefined where the plan has no access and the operator has not given every number, and for groups
 * that are not counted by plan.
 */
export function allowanceOf({ plan, limits }: Said, group: string): PlanLimits | undefined {
  if (!isOfPlan(group)) return undefined
  const said = limits[group]!
  const documented = analyticsLimits[group][plan]
  if (!documented && missingFrom(said, group).length > 0) return undefined
  const [availableData = 0, timeFrame = 0, dataDelay = 0] = rangeKeys.map(
    key => seconds(said[key]) ?? documented?.[key],
  )
  return { rates: ratesOf(said, documented?.rates ?? []), availableData, timeFrame, dataDelay }
}

function isOfPlan(group: string): group is AnalyticsGroup {
  return Object.hasOwn(analyticsLimits, group)
}

/** What an override of a plan without access must say besides. */
export function missingFrom(said: SaidLimit, group: AnalyticsGroup): readonly (keyof SaidLimit)[] {
  const windows = Object.values(analyticsLimits[group]).flatMap(({ rates }) =>
    rates.map(({ window }) => window),
  )
  const documented = rateKeys.filter(key => windows.includes(rates[key].window))
  return [...documented, ...rangeKeys].filter(key => said[key] === undefined)
}

/** The rates that are said of a group, else those that are documented. */
export function ratesOf(said: SaidLimit, documented: readonly Rate[] = []): readonly Rate[] {
  return rateKeys.flatMap((key): readonly Rate[] => {
    const { window } = rates[key]
    const requests = said[key] ?? documented.find(rate => rate.window === window)?.requests
    return requests === undefined ? [] : [{ requests, window }]
  })
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.floor(ms / 1_000)
}

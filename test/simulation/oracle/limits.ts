import type { Arrival, Sandbox } from '../../../sandbox/src/index.ts'
import {
  type Allowance,
  allowanceOf,
  groupOf,
  maxima,
  type Plan,
  playerLimits,
  type Rate,
  spared,
  tightened,
} from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import { stoodBetween } from './standstills.ts'

/** An arrival, with whom the strictest reading counts it together. */
interface Counted {
  readonly arrival: Arrival
  readonly counter: string
  readonly rates: readonly Rate[]
}

/**
 * Holds all that arrived, of all processes together, against the documents: how often, about which time, about how
 * many things at once.
 */
export async function examineLimits(examination: Examination): Promise<readonly Finding[]> {
  const { sandbox, apps, counters, tightenedAt, spares = false, lowered } = examination
  const plans = new Map(apps.map(({ id, plan }) => [id, plan]))
  const before = new Map(apps.map(({ id, plan }) => [id, lowered?.app === id ? lowered.from : plan]))
  const since = lowered ? lowered.at + onTheirWay : Number.POSITIVE_INFINITY
  const arrivals = sandbox.arrivals.list(0, sandbox.arrivals.count)
  const later = arrivals.filter(({ time }) => time >= since)
  return [
    ...beyondRates(arrivals, sandbox, { plans: before, counters, tightenedAt, spares }),
    ...beyondRates(later, sandbox, { plans, counters, tightenedAt, spares }),
    ...arrivals.flatMap(arrival => {
      const held = () => heldFor(arrival, examination)
      return rulesBroken(arrival, arrival.time >= since ? plans : before, held)
    }),
  ]
}

/** A question is planned and sent within this, but for the time in which its process stands still, ms. */
const life = 30_000

/** How long who asked stood still with the question planned, ms: it cannot know that the question has grown old meanwhile. */
function heldFor({ n, time }: Arrival, { askers = [] }: Examination): number {
  const stills = askers.find(({ arrived }) => arrived.includes(n))?.stoodStill ?? []
  return stoodBetween(stills, time - life, time)
}

/** Who is counted together with whom. */
interface Sharing {
  readonly counters: Examination['counters'] | undefined
  readonly plans: ReadonlyMap<string, Plan>
  readonly tightenedAt: Examination['tightenedAt']
  readonly spares: boolean
}

/** So long requests are on their way that were sent before a configuration was changed, ms. */
const onTheirWay = 15_000

function beyondRates(arrivals: readonly Arrival[], sandbox: Sandbox, sharing: Sharing): readonly Finding[] {
  const counted = arrivals.flatMap(arrival => countedOf(arrival, sandbox, sharing))
  const counters = Map.groupBy(counted, ({ counter }) => counter)
  return [...counters].flatMap(([counter, members]): readonly Finding[] => {
    const times = members.map(({ arrival }) => arrival.time).sort((a, b) => a - b)
    const documented = strictest(members.flatMap(({ rates }) => rates))
    const isOfPlan = groupOf[members[0]!.arrival.operation ?? ''] !== undefined
    const rates = isOfPlan && sharing.spares ? spared(documented) : documented
    const tight = isOfPlan ? tightened(rates) : []
    const since = (sharing.tightenedAt ?? Number.POSITIVE_INFINITY) + onTheirWay
    const later = times.filter(time => time >= since)
    const held = rates.map(rate => ({ rate, ends: endsBeyond(times, rate) }))
    const heldSince = tight.map(rate => ({ rate, ends: endsBeyond(later, rate) }))
    return [...held, ...heldSince].flatMap(({ rate, ends }) => {
      if (ends.length === 0) return []
      const often = `${ends.length} times, first until ${say(ends[0]!)}`
      return [
        {
          kind: 'limit',
          text: `${counter}: more than ${rate.requests} requests within ${rate.window} s, ${often}`,
        },
      ]
    })
  })
}

/** Apps of one credential count together; of their plans the strictest rate holds for all of them. */
function countedOf(
  arrival: Arrival,
  { settings }: Sandbox,
  { plans, counters }: Sharing,
): readonly Counted[] {
  const { app = '', operation = '' } = arrival
  const holder = settings.apps.find(({ id }) => id === app)?.rest?.key ?? app
  const group = groupOf[operation]
  if (group) {
    const sharing = settings.apps.filter(({ id, rest }) => id === app || rest?.key === holder)
    const rates = sharing.flatMap(({ id }) => allowanceOf(group, plans.get(id) ?? 'starter')?.rates ?? [])
    return [{ arrival, counter: `${holder} ${counters === 'split' ? operation : group}`, rates }]
  }
  const rates = playerLimits[operation]
  return rates ? [{ arrival, counter: `${holder} ${operation}`, rates }] : []
}

function strictest(rates: readonly Rate[]): readonly Rate[] {
  const windows = [...new Set(rates.map(({ window }) => window))]
  return windows.map(window => ({
    window,
    requests: Math.min(...rates.filter(rate => rate.window === window).map(({ requests }) => requests)),
  }))
}

/**
 * The ends of all windows with one request too many; `times` rise. Two that are exactly a window apart are in none
 * together. Fixed windows, whatever offset their clock has, are among these: whoever keeps them keeps calendar days too.
 */
export function endsBeyond(times: readonly number[], { requests, window }: Rate): readonly number[] {
  return times.filter((time, n) => {
    const earlier = times[n - requests]
    return earlier !== undefined && time - earlier < window * 1_000
  })
}

function rulesBroken(
  arrival: Arrival,
  plans: ReadonlyMap<string, Plan>,
  held: () => number,
): readonly Finding[] {
  const { app = '', operation = '', target, time } = arrival
  const group = groupOf[operation]
  const plan = plans.get(app)
  if (!group || !plan) return []
  const query = new URL(target, 'http://provider').searchParams
  const allowance = allowanceOf(group, plan)
  const broken = allowance
    ? [...rangeRules(query, allowance, time, held), ...sizeRules(query)]
    : ['no access']
  return broken.map(rule => ({
    kind: 'limit',
    text: `${app} ${operation} at ${say(time)}: ${rule}: ${target}`,
  }))
}

/** The provider may know its time in whole seconds only. */
function rangeRules(
  query: URLSearchParams,
  { availableData, timeFrame, dataDelay }: Allowance,
  time: number,
  held: () => number,
): readonly string[] {
  const [start, end] = [
    Number(query.get('start_ts') ?? query.get('startTs')),
    Number(query.get('end_ts') ?? query.get('endTs')),
  ]
  const isYoung = !(end < Math.floor(time / 1_000) - dataDelay)
  const isTooOldAt = (then: number) => !(start > then / 1_000 - availableData)
  const isOld = isTooOldAt(time) && isTooOldAt(time - held())
  return [
    ...(isYoung ? [`the end is younger than ${dataDelay} s`] : []),
    ...(isOld ? [`the start is older than ${availableData} s`] : []),
    ...(end - start < timeFrame && end >= start ? [] : [`not shorter than ${timeFrame} s`]),
  ]
}

function sizeRules(query: URLSearchParams): readonly string[] {
  const page = query.get('page_size')
  const lists = (['sids', 'uids'] as const).filter(
    name => (query.get(name)?.split(',').length ?? 0) > maxima[name],
  )
  const isHalf = (page === null) !== (query.get('page_no') === null)
  return [
    ...(Number(page ?? 0) > maxima.page_size ? [`more than ${maxima.page_size} on a page`] : []),
    ...(isHalf ? ['page_no and page_size one without the other'] : []),
    ...lists.map(name => `more than ${maxima[name]} ${name}`),
  ]
}

function say(time: number): string {
  return new Date(time).toISOString()
}

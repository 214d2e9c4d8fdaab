import type { Arrival } from '../../../sandbox/src/index.ts'
import { allowanceOf, groupOf, type Plan } from './contract.ts'
import type { Examination, Finding } from './examination.ts'

const second = 1_000
const minute = 60 * second
/** For so long what a refusal taught is not tried again, ms. */
const taught = 9 * minute
/** What was on its way when the refusal was heard: both take four seconds at most, ms. */
const underWay = 10 * second
/** The first answer tells the provider's time; until then a process knows its own clock alone, ms. */
const untold = 15 * second

/** A message beside code 300, and how far a question stays away from the bound that it names, seconds. */
interface Bound {
  readonly message: string
  readonly distance: (asked: Asked) => number
  /** What is refused from farther away tells nothing of it: twice the delay and half of the data are the worst that there is. */
  readonly farthest: (asked: Asked) => number
  /** Clocks are told to the second, and a question is made a little before it is sent, seconds. */
  readonly unsure: number
}

interface Asked {
  readonly start: number
  readonly end: number
  readonly now: number
  readonly availableData: number
  readonly dataDelay: number
}

const bounds: readonly Bound[] = [
  {
    message: 'query latency limit error',
    distance: ({ end, now, dataDelay }) => now - dataDelay - end,
    farthest: ({ dataDelay }) => dataDelay,
    unsure: 5,
  },
  {
    message: 'query time range limit error',
    distance: ({ start, now, availableData }) => start - (now - availableData),
    farthest: ({ availableData }) => availableData / 2,
    unsure: 10,
  },
]

/**
 * What was refused because it is too young, or too old, is not asked for as near to that bound again for a while: by no question of
 * its limit group, for a limit is that of them all.
 */
export function examineBounds({
  sandbox,
  askers = [],
  apps,
  isCalm = false,
}: Examination): readonly Finding[] {
  // Where processes stand still or are killed, nobody knows what they heard.
  if (!isCalm) return []
  const plans = new Map(apps.map(({ id, plan }) => [id, plan]))
  return askers.flatMap(({ name, arrived }) => {
    const arrivals = arrived
      .flatMap(n => sandbox.arrivals.list(n - 1, 1))
      .filter(({ operation = '' }) => operation in groupOf)
    const known = (arrivals[0]?.time ?? 0) + untold
    const questions = Map.groupBy(arrivals, ({ app, operation = '' }) => `${app} ${groupOf[operation]}`)
    return [...questions.values()].flatMap(own =>
      bounds.flatMap(bound => {
        const again = firstAgain(own, bound, { known, plan: plans.get(own[0]!.app ?? '') })
        if (!again) return []
        const text = `${name} ${again.app} ${again.operation}: asked at ${new Date(again.time).toISOString()} as near as what was answered with ${bound.message}`
        return [{ kind: 'limit', text } as const]
      }),
    )
  })
}

/** The first question that comes as near to the bound as one that was refused lately, once that was known. */
function firstAgain(
  arrivals: readonly Arrival[],
  { message, distance, farthest, unsure }: Bound,
  { known, plan }: { readonly known: number; readonly plan: Plan | undefined },
): Arrival | undefined {
  const asked = arrivals.flatMap(arrival => {
    const question = plan && askedBy(arrival, plan)
    return question ? [{ arrival, question, distance: distance(question) }] : []
  })
  const refused = asked.filter(
    ({ arrival: { refusal, time }, distance, question }) =>
      refusal === message && time > known && distance <= farthest(question),
  )
  return asked.find(({ arrival: { time }, distance }) =>
    refused.some(
      before =>
        before.arrival.time + underWay < time &&
        time < before.arrival.time + taught &&
        distance < before.distance + unsure,
    ),
  )?.arrival
}

function askedBy({ target, time, operation = '' }: Arrival, plan: Plan): Asked | undefined {
  const allowance = allowanceOf(groupOf[operation]!, plan)
  if (!allowance) return undefined
  const query = new URL(target, 'http://provider').searchParams
  const said = (...names: readonly string[]) => Number(names.map(name => query.get(name)).find(Boolean))
  const { availableData, dataDelay } = allowance
  return {
    ...{ availableData, dataDelay, now: time / second },
    ...{ start: said('start_ts', 'startTs'), end: said('end_ts', 'endTs') },
  }
}

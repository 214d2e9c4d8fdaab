import type { Debit, Grant, Ledger, Store, WindowCommit } from '../../src/engine/ports.ts'
import type { Ranges } from '../../src/planning/ranges.ts'
import type { Stream, Substream, WindowStream } from '../../src/streams/stream.ts'
import type { EngineParts } from './daemon.ts'
import type { PlanDayOptions, PlanDayResult, PlantedBug } from './plan-day.ts'

const minute = 60_000
const hour = 60 * minute

/** A bug planted around the ports or in the database, to see whether hours of a plan find it. */
export interface PlanMutant {
  readonly title: string
  /** What a run must be like for the bug to matter. */
  readonly run: Partial<PlanDayOptions>
  /** Called once for each run. */
  readonly plant: () => PlantedBug
}

/** Few calls, so that a short run ends with all of them read. */
const few = { callsPerDay: 200, users: 6, minutes: 20, days: 0.5 } as const
/** Every window is final when it is read: what is missed then stays missed. */
const finalAtOnce = `  calls: { every: 1m, allowedLateness: 0s, revisitEvery: 5m }`
const busy: Partial<PlanDayOptions> = { plan: 'standard', length: 0.5 * hour, profile: few, delay: 3_000 }

export const planMutants = {
  'slot-freed-at-send': {
    title: 'a slot of the budget is free one window after the request was sent, not after its answer',
    run: busy,
    plant: () => ({
      patches: [
        { function: 'ingest.take', from: 'least(d.settled_at, d.dead_at)', to: 'd.sent_at' },
        { function: 'ingest.take', from: 'd.dead_at + v_window', to: 'd.sent_at + v_window' },
      ],
    }),
  },
  'fixed-windows': {
    title: 'requests are counted in seconds and minutes of the clock, not in any that long',
    run: { plan: 'premium', length: 0.5 * hour, profile: few, delay: 200 },
    plant: () => ({
      patches: [
        {
          function: 'ingest.take',
          from: 'least(d.settled_at, d.dead_at) > v_now - v_window',
          to: "least(d.settled_at, d.dead_at) >= date_bin(v_window, v_now, '2000-01-01Z')",
        },
      ],
    }),
  },
  'ledger-in-memory': {
    title: 'the ledger forgets with every process that ends',
    run: { plan: 'premium', length: 0.5 * hour, profile: few, kills: 12 },
    plant: () => ({
      alter: (parts, { name }) => ({ ...parts, ledger: ofScope(parts.ledger, scope => `${scope} ${name}`) }),
    }),
  },
  'ledger-of-each-app': {
    title: 'apps that share a credential do not share its budget',
    run: { ...busy, apps: 2 },
    plant: () => ({
      alter: parts => ({
        ...parts,
        ledger: {
          ...parts.ledger,
          take: debit => parts.ledger.take({ ...debit, scope: `${debit.scope} ${debit.app}` }),
        },
      }),
    }),
  },
  'plan-of-each-app': {
    title: 'apps of different plans that share a credential ask as often as the largest of them may',
    run: { ...busy, otherPlan: 'enterprise' },
    plant: () => ({
      alter: parts => ({
        ...parts,
        ledger: {
          ...parts.ledger,
          take: debit => parts.ledger.take({ ...debit, rates: debit.rates.map(tenfold) }),
        },
      }),
    }),
  },
  'immortal-grants': {
    title: 'a grant that was void, as the process stood still, is used all the same',
    run: {
      plan: 'premium',
      length: hour,
      profile: { ...few, callsPerDay: 2_000 },
      delay: 1_000,
      stalls: 1 / 60,
    },
    plant: () => ({ alter: parts => ({ ...parts, ledger: immortal(parts.ledger) }) }),
  },
  'late-by-the-delay': {
    title: 'what is younger than the delay of the plan is asked for',
    run: { ...busy, delay: 200 },
    plant: () => ({
      alter: parts => ({
        ...parts,
        transport: {
          ...parts.transport,
          clockOffset: family => {
            const offset = parts.transport.clockOffset(family)
            return offset && { ...offset, ahead: offset.ahead + minute }
          },
        },
      }),
    }),
  },
  'closed-bounds': {
    title: 'a window is as long as the span, where it must be shorter',
    run: { ...busy, delay: 200 },
    plant: () => ({
      alter: changeStream('calls', (stream: WindowStream) => ({
        request: (app, series, { start, end }, page) =>
          stream.request(app, series, { start, end: end + 1 }, page),
      })),
    }),
  },
  'coverage-before-rows': {
    title: 'a range is marked covered first, and its rows are written after that',
    run: {
      ...busy,
      length: 1.2 * hour,
      profile: { ...few, callsPerDay: 1_000, users: 2 },
      switches: { callSearch: 'start', callLatenessSeconds: 0 },
      streams: finalAtOnce,
      settled: 10 * minute,
      cuts: 1 / 15,
    },
    plant: () => ({ alter: changeStore(coveredFirst) }),
  },
  'has-more-ignored': {
    title: 'the first page of a search is taken for the whole of it',
    run: { ...busy, profile: { ...few, callsPerDay: 1_200, users: 2 } },
    plant: () => ({
      alter: changeStream('calls', (stream: WindowStream) => ({
        read: answer => ({ ...stream.read(answer), hasMore: false, isFull: false }),
      })),
    }),
  },
  'ongoing-covered': {
    title: 'a range is marked covered although a call that began in it goes on',
    run: {
      ...busy,
      length: 1.2 * hour,
      switches: { callSearch: 'start', callLatenessSeconds: 0 },
      streams: finalAtOnce,
    },
    plant: () => ({ alter: changeStore(changeCoverage(({ covers }) => hullOf(covers))) }),
  },
  'final-too-early': {
    title: 'a range is covered as soon as it was read, though calls turn up late',
    run: {
      ...busy,
      length: 1.5 * hour,
      switches: { callSearch: 'start', callLatenessSeconds: 1_800 },
      streams: `  calls: { every: 1m, allowedLateness: 35m, revisitEvery: 5m }`,
      settled: 45 * minute,
    },
    plant: () => ({ alter: changeStore(changeCoverage(({ sees }) => sees)) }),
  },
  'nineteen-sids': {
    title: 'of twenty sessions the metrics of nineteen are asked for',
    run: { ...busy, profile: { ...few, callsPerDay: 60, users: 24 } },
    plant: () => ({
      alter: changeStream('call-metrics', (stream: Substream) => ({
        request: (app, item, page) => {
          const parameters = stream.request(app, item, page)
          return { ...parameters, sids: String(parameters.sids).split(',').slice(0, 19).join() }
        },
      })),
    }),
  },
  'given-up-early': {
    title: 'what still could be asked for is given up, and stands in the gap ledger',
    run: {
      plan: 'premium',
      length: 1.5 * hour,
      profile: few,
      outage: { from: 0.2 * hour, to: 1.1 * hour },
    },
    plant: () => ({
      alter: changeStore(store => ({
        expireWindows: (fence, app, stream, series, edge) =>
          store.expireWindows(fence, app, stream, series, edge + 120),
      })),
    }),
  },
  'points-twice': {
    title: 'values that are read again are stored beside the ones that are there',
    run: { ...busy, cuts: 1 / 10 },
    plant: () => {
      const stored = new Set<string>()
      return { alter: changeStore(store => storedAgain(store, stored)) }
    },
  },
} as const satisfies Readonly<Record<string, PlanMutant>>

export type PlanMutantName = keyof typeof planMutants

/**
 * More refusals of one group in an hour in which less is served teach nothing: to half of the available data it is
 * twenty-five steps of a fiftieth, to the rest a few, and a bound is tried again at one request each.
 */
const TAUGHT_BY = 40

/** What the oracle finds wrong, by its figures; empty when a run went well. */
export function wrongFigures(result: PlanDayResult): Readonly<Record<string, unknown>> {
  const { violations, refusals, refusalsInTightHour, missing, invented, unended, points } = result
  const { wrongGaps, wrongValues, letters, breaches, unfair } = result
  const isEmpty = (counts: object) => Object.values(counts).every(count => count === 0)
  return {
    ...(isEmpty(violations) ? {} : { violations }),
    ...(unfair.length === 0 ? {} : { unfair }),
    ...(refusals === 0 ? {} : { refusals }),
    ...(refusalsInTightHour <= TAUGHT_BY ? {} : { refusalsInTightHour }),
    ...(isEmpty(missing) ? {} : { missing }),
    ...(isEmpty(invented) ? {} : { invented }),
    ...(unended === 0 ? {} : { unended }),
    ...(points.stored === points.expected ? {} : { points }),
    ...(wrongGaps.length === 0 ? {} : { wrongGaps: wrongGaps.length }),
    ...(wrongValues.length === 0 ? {} : { wrongValues: wrongValues.length }),
    ...(isEmpty(letters) ? {} : { letters }),
    ...(breaches.length === 0 ? {} : { breaches: breaches.slice(0, 3) }),
  }
}

type Alter = NonNullable<PlantedBug['alter']>

function changeStore(change: (store: Store) => Partial<Store>): Alter {
  return parts => ({ ...parts, store: { ...parts.store, ...change(parts.store) } })
}

function changeStream<Kind extends Stream>(
  name: Kind['name'],
  change: (stream: Kind) => Partial<Kind>,
): Alter {
  return (parts): EngineParts => ({
    ...parts,
    streams: parts.streams.map(stream =>
      stream.name === name ? { ...stream, ...change(stream as Kind) } : stream,
    ),
  })
}

function changeCoverage(coverage: (page: WindowCommit) => Ranges) {
  return (store: Store): Partial<Store> => ({
    commitWindow: page => store.commitWindow({ ...page, covers: coverage(page) }),
  })
}

/** From the first covered second to the last. */
function hullOf(ranges: Ranges): Ranges {
  const [first, last] = [ranges[0], ranges.at(-1)]
  return first && last ? [{ from: first.from, to: last.to }] : []
}

function coveredFirst({ commitWindow }: Store): Partial<Store> {
  return {
    commitWindow: async page => {
      const moved = await commitWindow({ ...page, rows: {}, work: [] })
      if (moved.outcome !== 'committed') return moved
      const { settles: _, ...rows } = page
      return commitWindow({ ...rows, version: moved.version, covers: [], sees: [], loses: [] })
    },
  }
}

/** Points of an item that was read before come once more, under keys of their own. */
function storedAgain({ commitItem }: Store, stored: Set<string>): Partial<Store> {
  return {
    commitItem: page => {
      const { app, item, rows } = page
      const key = `${app} ${item.stream} ${item.key} ${item.part} ${item.page}`
      const isAgain = stored.has(key)
      stored.add(key)
      const metrics = rows['analytics.session_metric']
      if (!isAgain || !metrics) return commitItem(page)
      const shifted = metrics.map(row => ({ ...row, at: row.at.map(second => second + 1) }))
      return commitItem({ ...page, rows: { ...rows, 'analytics.session_metric': [...metrics, ...shifted] } })
    },
  }
}

function tenfold({ requests, window }: Debit['rates'][number]) {
  return { requests: requests * 10, window }
}

function ofScope(ledger: Ledger, change: (scope: string) => string): Ledger {
  return {
    ...ledger,
    take: debit => ledger.take({ ...debit, scope: change(debit.scope) }),
    budget: (scope, ...rest) => ledger.budget(change(scope), ...rest),
  }
}

/** Whatever was granted and given back unused serves the next request of its group. */
function immortal(ledger: Ledger): Ledger {
  const unused: Grant[] = []
  return {
    ...ledger,
    settle: async (grant, outcome, evidence) => {
      if (outcome === 'refused') unused.push(grant)
      else await ledger.settle(grant, outcome, evidence)
    },
    take: async debit => {
      const index = unused.findIndex(({ scope, group }) => scope === debit.scope && group === debit.group)
      if (index < 0) return ledger.take(debit)
      const [grant] = unused.splice(index, 1)
      const asked = await ledger.take(uncounted(debit))
      return asked.granted === true ? { ...asked, grant: grant! } : asked
    },
  }
}

/** Tells the time as the ledger has it, and costs nothing. */
function uncounted(debit: Debit): Debit {
  return { ...debit, scope: 'nobody', group: 'nothing', rates: [] }
}

import type { Clock } from '../../clock/clock.ts'
import {
  lookBack,
  measurePace,
  type Pace,
  type PacedBudget,
  type Spent,
  spendable,
  timeOfRound,
  waitFor,
  withoutBegun,
} from '../../planning/pacing.ts'
import { type Purpose, purposes } from '../../planning/shares.ts'
import { isTurnOf, standOf } from '../../planning/stands.ts'
import { spacingOf } from '../../provider/limits.ts'
import type { Ledger, Meter } from '../ports.ts'
import type { GroupLimit } from '../settings.ts'

/** Spreads the budget of one limit group over its longest window. */
export interface Pacer {
  /**
   * In how many ms a request for each purpose may be sent by who has `wanted` to ask for; 0 is now. `isUrgent`: some of it
   * is about to expire. Throws StoreUnavailable.
   */
  readonly waits: (
    wanted?: readonly Purpose[],
    isUrgent?: boolean,
  ) => Promise<Readonly<Record<Purpose, number>>>
  /**
   * Requests a second that are left to the app by those that share the budget, as far as they have said what they want; it
   * may say so itself.
   */
  readonly share: (wanted?: number) => number
  /** In how many seconds each series of all apps that share the budget can be asked once, when nothing was asked before. */
  readonly firstRound: () => number
  /** In how many seconds that is done at an even pace. */
  readonly evenRound: () => number
  /** The app begins to ask for something: its turn is over. To be called when that has ended, answered or not. */
  readonly began: () => () => void
}

export type Pacers = ReturnType<typeof createPacers>

interface PacerPorts {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly meter: Meter
}

/** An app that does not come back this long after its wait was over, ms, has nothing to ask for. */
const GRACE_MS = 5_000

/** How long what is said of the pace that lasts is believed, ms: it changes with hours, and takes a look at many debits. */
const LASTING_MS = 60_000

/** A request that was begun is debited within this time, ms, or stands behind something that held it up. */
const BEGUN_MS = 60_000

/** A ledger that tells of fewer debits than before for so long, ms, has lost them: looks that overlap are told in any order. */
const LOST_MS = 60_000

/** Windows shorter than this, seconds, are the ledger's business alone. */
const SHORTEST_PACED = 3_600

/** Windows longer than this, seconds, say nothing of how fast requests may follow each other for a while. */
const LONGEST_FAST = 60

const noWaits = waitsOf(() => 0)
const othersFirst = waitsOf(() => GRACE_MS)

/** Apps that share a credential share its pace. */
export function createPacers({ clock, ledger, meter }: PacerPorts) {
  const paces = createPaces()
  const lasting = new Map<string, { readonly pace: Promise<number | null>; readonly until: number }>()
  /** When requests were begun that the ledger has not heard of, for each budget. */
  const begun = new Map<string, Set<{ readonly at: number }>>()
  /** Requests that an app began since it said last where it stands, for each budget. */
  const turns = new Map<string, Map<string, number>>()
  /** Questions of one round by app, for each budget. */
  const rounds = new Map<string, Map<string, number>>()
  /** Requests a second that each app has said it wants, for each budget. */
  const wishes = new Map<string, Map<string, number>>()

  return {
    /** An app has no part in any budget any more. */
    leave: (app: string) => {
      for (const told of [...rounds.values(), ...wishes.values(), ...turns.values()]) told.delete(app)
    },
    /** `series`: how many questions one round of the group has for this app. */
    of: (app: string, group: string, { scope, rates }: GroupLimit, series: number): Pacer => {
      const longest = rates.toSorted((a, b) => b.window - a.window)[0]
      const fastest = spacingOf(rates.filter(({ window }) => window <= LONGEST_FAST))
      if (!longest || longest.window < SHORTEST_PACED) {
        const round = () => series * fastest
        return {
          ...{ waits: async () => noWaits, share: () => Infinity, began: () => () => {} },
          ...{ firstRound: round, evenRound: round },
        }
      }
      const { requests, window } = longest
      const key = `${scope} ${group}`
      const round = rounds.get(key) ?? new Map<string, number>()
      rounds.set(key, round.set(app, series))
      const wanted = wishes.get(key) ?? new Map<string, number>()
      wishes.set(key, wanted)
      const had = turns.get(key) ?? new Map<string, number>()
      turns.set(key, had)
      const budgetNow = (): PacedBudget => {
        const all = round.values().reduce((sum, each) => sum + each, 0)
        return { requests, window: window * 1_000, series: all }
      }
      const lastingNow = (now: number): Promise<number | null> => {
        const known = lasting.get(key)
        if (known && now < known.until) return known.pace
        const pace = ledger.lastingPace(scope, group, window, spendable(requests))
        lasting.set(key, { pace, until: now + LASTING_MS })
        pace.catch(() => lasting.delete(key))
        return pace
      }
      const underWay = begun.get(key) ?? new Set()
      begun.set(key, underWay)
      /** Those that the ledger has not heard of; each debit since the last look was one of them, the oldest first. */
      const notHeardOf = (heardOf: number, now: number): number => {
        for (const one of [...underWay].slice(0, heardOf)) underWay.delete(one)
        return [...underWay].filter(({ at }) => now - at < BEGUN_MS).length
      }
      return {
        waits: async (wanted = purposes, isUrgent = false) => {
          const budget = budgetNow()
          const asked = clock.monotonic()
          const recent = lookBack(budget)
          const [lasting, spent, stands] = await Promise.all([
            lastingNow(asked),
            ledger.budget(scope, group, window, recent),
            ledger.stands(scope, group),
          ])
          const before = paces.known(key, spent, asked)
          // Apps that share it look at one time, and an older look may be heard of last.
          const spending = { ...spent, total: Math.max(spent.total, before?.total ?? 0), lasting }
          const evenly = (requests * recent) / budget.window
          meter.budget(scope, group, {
            used: spending.used / requests,
            pace: spending.recent / evenly,
            over: recent,
          })
          const measured = measurePace(budget, before, spending, asked)
          paces.set(key, measured)
          const heardOf = before ? spending.total - before.total : 0
          const pace = withoutBegun(measured, notHeardOf(heardOf, asked))
          const waits = waitsOf(purpose => waitFor(budget, pace, spending, purpose))
          const soonest = Math.min(...wanted.map(purpose => waits[purpose]))
          const times = had.get(app) ?? 0
          const own = standOf(app, { times, series, isUrgent }, stands)
          await ledger.stand(scope, group, own, soonest + GRACE_MS)
          had.set(app, (had.get(app) ?? 0) - times)
          return soonest > 0 || isTurnOf(own, stands, pace.common) ? waits : othersFirst
        },
        share: own => {
          if (own !== undefined) wanted.set(app, own)
          const others = [...round.keys()].filter(each => each !== app)
          return leftBy(
            others.map(each => wanted.get(each) ?? Number.POSITIVE_INFINITY),
            requests / window,
          )
        },
        firstRound: () => {
          const budget = budgetNow()
          return budget.series * fastest + timeOfRound(budget) / 1_000
        },
        evenRound: () => (budgetNow().series * window) / requests,
        began: () => {
          const one = { at: clock.monotonic() }
          underWay.add(one)
          had.set(app, (had.get(app) ?? 0) + 1)
          return () => void underWay.delete(one)
        },
      }
    },
  }
}

/** How each budget was paced when it was looked at last. */
function createPaces() {
  const paces = new Map<string, Pace>()
  /** Since when the ledger tells of fewer debits than were known of a budget. */
  const fewerSince = new Map<string, number>()
  return {
    /** Undefined also where the ledger lost what the pace was known by, as one does of which a backup was restored. */
    known: (key: string, { total }: Spent, asked: number): Pace | undefined => {
      const known = paces.get(key)
      if (!known || total >= known.total) {
        fewerSince.delete(key)
        return known
      }
      const since = fewerSince.get(key) ?? asked
      fewerSince.set(key, since)
      return asked - since < LOST_MS ? known : undefined
    },
    set: (key: string, pace: Pace) => void paces.set(key, pace),
  }
}

/** What is left of `all` to one beside others that want so much each, where nobody has more than another who wants it. */
function leftBy(others: readonly number[], all: number): number {
  let left = all
  let sharers = others.length + 1
  for (const wanted of others.toSorted((a, b) => a - b)) {
    if (wanted >= left / sharers) break
    left -= wanted
    sharers -= 1
  }
  return left / sharers
}

function waitsOf(wait: (purpose: Purpose) => number): Readonly<Record<Purpose, number>> {
  return Object.fromEntries(purposes.map(purpose => [purpose, wait(purpose)])) as Record<Purpose, number>
}

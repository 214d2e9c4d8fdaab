import type pg from 'pg'
import {
  type ClockBounds,
  type Debit,
  type Grant,
  type Ledger,
  RefusedRows,
  StoreUnavailable,
  type TakeResult,
} from '../engine/ports.ts'
import type { Spent } from '../planning/pacing.ts'
import type { KnownStand } from '../planning/stands.ts'
import { createBatches } from './batches.ts'
import { query } from './connect.ts'
import { encodeJson } from './encode.ts'
import { bind, bindLate, statement, type Values } from './statement.ts'

const floor = 'to_timestamp(:time_floor::double precision / 1000)'
const ceiling = 'to_timestamp(:time_ceiling::double precision / 1000)'

const take = statement(
  'take',
  `select * from ingest.take(:scope, :group, :app, :operation, :purpose, :shard, :owner, :epoch, :requests::int[],
                             :windows::double precision[], :arrives_within::interval, ${floor}, ${ceiling})`,
)

const takeTogether = statement(
  'take_together',
  'select place, verdict, n, wait_ms, now_ms, ahead_ms from ingest.take_together(:debits::json)',
)

const setBack = statement('set_back', 'select ingest.begin_history(:ago::interval)')

const settle = statement(
  'settle',
  `update ingest.debit d
   set settled_at = case when :outcome <> 'unanswered'
         then greatest(d.sent_at, ingest.settle_time(b, ingest.clock(), ${floor}, ${ceiling})) end,
       outcome = case :outcome when 'unanswered' then 'unread' else :outcome end
   from ingest.budget b
   where d.scope = :scope and d.limit_group = :group and d.n = :n::bigint and d.outcome is null
     and b.scope = d.scope and b.limit_group = d.limit_group`,
)

const spent = statement(
  'spent',
  `select used::int, frees_in_ms as "freesIn", recent::int, total::double precision,
          (select extract(epoch from ingest.budget_time(b, ingest.clock(), to_timestamp(0), '9999-12-31Z') - d.sent_at)::float8 * 1000
           from ingest.budget b
           join ingest.debit d on (d.scope, d.limit_group, d.n) = (b.scope, b.limit_group, b.last_n)
           where b.scope = :scope and b.limit_group = :group) as "sinceLast"
   from ingest.spent(:scope, :group, make_interval(secs => :window::double precision), :recent::interval)`,
)

const lastingPace = statement(
  'lasting_pace',
  `select ingest.lasting_pace(:scope, :group, make_interval(secs => :window::double precision), :requests::int) as pace`,
)

/** Where the clock was set in between, nobody is waited for by what was said before. */
const stands = statement(
  'stands',
  `select app_id as app, as_app as "asApp", as_series as "asSeries", is_urgent as "isUrgent",
          ingest.clock() between said_at and said_at + awaited as "isAwaited"
   from ingest.stand where scope = :scope and limit_group = :group`,
)

const stand = statement(
  'stand',
  `insert into ingest.stand (scope, limit_group, app_id, as_app, as_series, is_urgent, said_at, awaited)
   values (:scope, :group, :app, :as_app, :as_series, :is_urgent, ingest.clock(), :awaited::interval)
   on conflict (scope, limit_group, app_id) do update
   set as_app = excluded.as_app, as_series = excluded.as_series, is_urgent = excluded.is_urgent,
       said_at = excluded.said_at, awaited = excluded.awaited`,
)

interface Taken {
  readonly verdict: 'granted' | 'wait' | 'fenced'
  readonly n: string
  readonly wait_ms: number
  readonly now_ms: number
  readonly ahead_ms: number
}

/** The budget in the database: one for all processes, and still there after a kill. */
export function createLedger(pool: pg.Pool): Ledger {
  return {
    take: createBatches(MOST_TOGETHER, TAKERS, (debits: readonly Debit[]) => takeAll(pool, debits)),
    wasSetBack: async ago => {
      await query(pool, bind(setBack, { ago: `${ago} milliseconds` }))
    },
    settle: async ({ scope, group, n }, outcome, clockBounds) => {
      await query(pool, bind(settle, { scope, group, n, outcome, ...timeValues(clockBounds) }))
    },
    budget: async (scope, group, window, recent) => {
      const values = { scope, group, window, recent: `${recent} milliseconds` }
      const [row] = await query<Spent>(pool, bind(spent, values))
      return row!
    },
    lastingPace: async (scope, group, window, requests) => {
      const values = { scope, group, window, requests }
      const [row] = await query<{ pace: number | null }>(pool, bind(lastingPace, values))
      return row!.pace
    },
    stands: (scope, group) => query<KnownStand>(pool, bind(stands, { scope, group })),
    stand: async (scope, group, { app, asApp, asSeries, isUrgent }, awaited) => {
      await query(
        pool,
        bind(stand, {
          ...{ scope, group, app, as_app: asApp, as_series: asSeries, is_urgent: isUrgent },
          awaited: `${awaited} milliseconds`,
        }),
      )
    },
  }
}

/** Statements that debit at one time: what is asked for while both are under way goes together. */
const TAKERS = 2

/** Debits of one statement at most: each takes the database some tenths of a millisecond. */
const MOST_TOGETHER = 100

/** One that cannot be debited with the others is debited by itself, and holds up nobody. */
async function takeAll(
  pool: pg.Pool,
  together: readonly Debit[],
): Promise<readonly (TakeResult | Promise<TakeResult>)[]> {
  const [first, second] = together
  if (!second) return [await takeAlone(pool, first!)]
  let debits: readonly Asked[] = []
  const values = () => {
    debits = together.map(takeValues)
    return { debits: encodeJson(debits.map(({ values }) => values)) }
  }
  try {
    const rows = await query<TakenTogether>(pool, bindLate(takeTogether, values))
    const byPlace = new Map(rows.map(row => [row.place, row]))
    return together.map((debit, place) => {
      const taken = byPlace.get(place)
      if (!taken || taken.verdict === 'busy') return takeAlone(pool, debit)
      return takeResult(taken, debit, debits[place]!.clockBounds)
    })
  } catch (error) {
    const isOfOne =
      error instanceof RefusedRows || (error instanceof StoreUnavailable && inTheWay.has(error.code))
    if (isOfOne) return together.map(debit => takeAlone(pool, debit))
    throw error
  }
}

async function takeAlone(pool: pg.Pool, debit: Debit): Promise<TakeResult> {
  let asked: Asked | undefined
  const values = () => {
    asked = takeValues(debit, 0)
    return asked.values
  }
  const [taken] = await query<Taken>(pool, bindLate(take, values))
  return takeResult(taken!, debit, asked!.clockBounds)
}

/** SQLSTATEs of a statement that another one stood in the way of: serialization failure, deadlock, lock not available. */
const inTheWay: ReadonlySet<string | undefined> = new Set(['40001', '40P01', '55P03'])

type TakenTogether = (Taken | { readonly verdict: 'busy' }) & { readonly place: number }

/** The values of a debit, and the bounds of the clock among them. */
interface Asked {
  readonly values: Values
  readonly clockBounds: ClockBounds
}

/** To be made when the question leaves: whoever waits for a session would take the wait for a jump of the clock. */
function takeValues(debit: Debit, place: number): Asked {
  const { scope, group, app, operation, purpose, fence, rates, arrivesWithin } = debit
  const clockBounds = debit.clockBounds()
  const values = {
    ...{ place, scope, group, app, operation, purpose, ...fence, ...timeValues(clockBounds) },
    requests: rates.map(rate => rate.requests),
    windows: rates.map(rate => rate.window),
    arrives_within: `${arrivesWithin} milliseconds`,
  }
  return { values, clockBounds }
}

function timeValues({ floor, ceiling }: ClockBounds): Values {
  return { time_floor: floor, time_ceiling: ceiling }
}

function takeResult(taken: Taken, { scope, group }: Debit, clockBounds: ClockBounds): TakeResult {
  switch (taken.verdict) {
    case 'granted': {
      const grant: Grant = { scope, group, n: Number(taken.n), clockBounds }
      return { granted: true, grant, now: taken.now_ms, ahead: taken.ahead_ms }
    }
    case 'wait':
      return { granted: false, wait: taken.wait_ms, now: taken.now_ms, ahead: taken.ahead_ms }
    case 'fenced':
      return { granted: 'fenced' }
  }
}

import type pg from 'pg'
import type { ClockBounds, Debit, Grant, Ledger, TakeResult } from '../engine/ports.ts'
import { query } from './connect.ts'
import { bind, statement, type Values } from './statement.ts'

const floor = 'to_timestamp(:time_floor::double precision / 1000)'
const ceiling = 'to_timestamp(:time_ceiling::double precision / 1000)'

const take = statement(
  'take',
  `select * from ingest.take(:scope, :group, :app, :operation, :purpose, :shard, :owner, :epoch, :requests::int[],
                             :windows::double precision[], :arrives_within::interval, ${floor}, ${ceiling})`,
)

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
  `select used::int, frees_in_ms, recent::int, total::double precision
   from ingest.spent(:scope, :group, make_interval(secs => :window::double precision), :recent::interval)`,
)

interface Taken extends pg.QueryResultRow {
  readonly verdict: 'granted' | 'wait' | 'fenced'
  readonly n: string
  readonly wait_ms: number
  readonly now_ms: number
  readonly ahead_ms: number
}

interface Spent extends pg.QueryResultRow {
  readonly used: number
  readonly frees_in_ms: number | null
  readonly recent: number
  readonly total: number
}

/** The budget in the database: one for all processes, and still there after a kill. */
export function createLedger(pool: pg.Pool): Ledger {
  return {
    take: async debit => {
      const [taken] = await query<Taken>(pool, bind(take, takeValues(debit)))
      return takeResult(taken!, debit)
    },
    settle: async ({ scope, group, n }, outcome, clockBounds) => {
      await query(pool, bind(settle, { scope, group, n, outcome, ...timeValues(clockBounds) }))
    },
    budget: async (scope, group, window, recent) => {
      const values = { scope, group, window, recent: `${recent} milliseconds` }
      const [row] = await query<Spent>(pool, bind(spent, values))
      return { used: row!.used, freesIn: row!.frees_in_ms, recent: row!.recent, total: row!.total }
    },
  }
}

function takeValues(debit: Debit): Values {
  const { scope, group, app, operation, purpose, fence, rates, arrivesWithin, clockBounds } = debit
  return {
    ...{ scope, group, app, operation, purpose, ...fence, ...timeValues(clockBounds) },
    requests: rates.map(rate => rate.requests),
    windows: rates.map(rate => rate.window),
    arrives_within: `${arrivesWithin} milliseconds`,
  }
}

function timeValues({ floor, ceiling }: ClockBounds): Values {
  return { time_floor: floor, time_ceiling: ceiling }
}

function takeResult(taken: Taken, { scope, group, clockBounds }: Debit): TakeResult {
  switch (taken.verdict) {
    case 'granted': {
      const grant: Grant = { scope, group, n: Number(taken.n), clockBounds: clockBounds }
      return { granted: true, grant, now: taken.now_ms, ahead: taken.ahead_ms }
    }
    case 'wait':
      return { granted: false, wait: taken.wait_ms, now: taken.now_ms, ahead: taken.ahead_ms }
    case 'fenced':
      return { granted: 'fenced' }
  }
}

import type pg from 'pg'
import type { Debit, Grant, Ledger, TakeResult } from '../engine/ports.ts'
import { query } from './connect.ts'
import { bind, statement } from './statement.ts'

const take = statement(
  'take',
  `select * from ingest.take(:scope, :group, :app, :operation, :shard, :owner, :epoch, :requests::int[],
                             :windows::double precision[], :reach::interval)`,
)

const settle = statement(
  'settle',
  `update ingest.debit set settled_at = ingest.clock(), outcome = :outcome
   where scope = :scope and limit_group = :group and n = :n::bigint and settled_at is null`,
)

type Verdict =
  | { readonly verdict: 'granted'; readonly n: string }
  | { readonly verdict: 'wait'; readonly wait_ms: number }
  | { readonly verdict: 'fenced' }

/** The budget in the database: one for all processes, and still there after a kill. */
export function createLedger(pool: pg.Pool): Ledger {
  return {
    take: async debit => {
      const [verdict] = await query<Verdict & pg.QueryResultRow>(pool, bind(take, takeValues(debit)))
      return takeResult(verdict!, debit)
    },
    settle: async (grant, outcome) => {
      await query(pool, bind(settle, { ...grant, outcome }))
    },
  }
}

function takeValues(debit: Debit): Record<string, unknown> {
  const { scope, group, app, operation, fence, rates, reach } = debit
  const requests = rates.map(rate => rate.requests)
  const windows = rates.map(rate => rate.window)
  return { scope, group, app, operation, ...fence, requests, windows, reach: `${reach} milliseconds` }
}

function takeResult(verdict: Verdict, { scope, group }: Debit): TakeResult {
  switch (verdict.verdict) {
    case 'granted': {
      const grant: Grant = { scope, group, n: Number(verdict.n) }
      return { granted: true, grant }
    }
    case 'wait':
      return { granted: false, wait: verdict.wait_ms }
    case 'fenced':
      return { granted: 'fenced' }
  }
}

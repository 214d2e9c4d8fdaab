import type pg from 'pg'
import type { TruthLine } from '../../../sandbox/src/index.ts'
import type { Difference } from './difference.ts'

type CallLine = Extract<TruthLine, { kind: 'call' }>

/** The calls of all apps, held against schema `analytics`. */
export interface CallComparison {
  readonly add: (line: CallLine) => void
  readonly check: () => Promise<Difference>
}

interface Stored {
  readonly app: string
  readonly call: string
  readonly state: string
}

const stored = `
  select app_id as app, call_id as call, coalesce(cname, '') || ' ' || extract(epoch from created_at)::bigint as state
  from analytics.call`

/**
 * Calls that began before `until` (ms) could be had all the time and must be stored; later ones may be. A call that
 * never was must not.
 */
export function compareCalls(pool: pg.Pool, until: number): CallComparison {
  const states = new Map<string, string>()
  const due = new Set<string>()
  return {
    add: ({ app, call: { item } }) => {
      const key = nameOf(app, item.call_id)
      states.set(key, `${item.cname} ${item.created_ts}`)
      if (item.created_ts * 1_000 < until) due.add(key)
    },
    check: async () => {
      const { rows } = await pool.query<Stored>(stored)
      const found = new Map(rows.map(({ app, call, state }) => [nameOf(app, call), state]))
      const lost = [...due].filter(key => found.get(key) !== states.get(key)).length
      const unheardOf = [...found.keys()].filter(key => !states.has(key)).length
      return { lost, duplicates: unheardOf }
    },
  }
}

function nameOf(app: string, call: string): string {
  return JSON.stringify([app, call])
}

import type pg from 'pg'
import { type CommitResult, RefusedRows, StoreUnavailable } from '../../engine/ports.ts'
import { query } from '../connect.ts'
import { sqlState, storeError } from '../errors.ts'
import type { BoundStatement } from '../statement.ts'

interface Verdict {
  readonly version: number | null
  readonly owned: boolean
  readonly verified: boolean
  readonly diverged: number
  readonly set_aside: Readonly<Record<string, number>>
  readonly stored: Readonly<Record<string, number>>
}

/** Serialization failure and deadlock: another statement came first, nothing was written. */
const overtaken: ReadonlySet<string | undefined> = new Set(['40001', '40P01'])

/**
 * What a second try may not meet again: a key that was not there when the statement began, and a row that was on its way
 * to the default partition when its own was made. A statement that is at fault itself fails again.
 */
const onceOnly: ReadonlySet<string> = new Set(['23505', '23514'])

/** An answer of the feed cannot be asked for again, so it is not given up lightly. */
const mostAttempts = 10

/** Runs the statement of a commit in one round trip. Throws RefusedRows or StoreUnavailable. */
export async function runCommit(pool: pg.Pool, bound: BoundStatement): Promise<CommitResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [verdict] = await query<Verdict & pg.QueryResultRow>(pool, bound)
      return result(verdict!)
    } catch (error) {
      const isOvertaken = error instanceof StoreUnavailable && overtaken.has(error.code)
      const isOnceOnly = error instanceof RefusedRows && onceOnly.has(error.code) && attempt === 1
      if (!isOnceOnly && (!isOvertaken || attempt === mostAttempts)) throw error
    }
  }
}

/** Runs the same statement and rolls it back: true when Postgres would take every value. */
export async function dryRunCommit(pool: pg.Pool, bound: BoundStatement): Promise<boolean> {
  const client = await pool.connect().catch(error => Promise.reject(storeError(error)))
  try {
    await client.query('begin')
    await client.query(bound)
    return true
  } catch (error) {
    const named = storeError(error, { ...bound, client })
    if (named instanceof RefusedRows) return false
    throw named
  } finally {
    const broken = await client.query('rollback').then(
      () => false,
      error => sqlState(error) === undefined,
    )
    client.release(broken)
  }
}

function result(verdict: Verdict): CommitResult {
  if (verdict.version !== null) {
    return {
      outcome: 'committed',
      version: verdict.version,
      stored: verdict.stored,
      diverged: verdict.diverged,
      deadLetters: verdict.set_aside,
    }
  }
  if (!verdict.owned) return { outcome: 'fenced' }
  if (verdict.verified) return { outcome: 'stale' }
  return { outcome: 'unverified', ...(verdict.diverged > 0 && { diverged: verdict.diverged }) }
}

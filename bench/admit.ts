import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { systemClock } from '../src/clock/system.ts'
import type { ClockBounds, Debit } from '../src/engine/ports.ts'
import { connect } from '../src/postgres/connect.ts'
import { createLedger } from '../src/postgres/ledger.ts'
import { migrateUp } from '../src/postgres/migrate.ts'
import { defaultConnection } from '../test/support/connection.ts'

export interface AdmitOptions {
  /** Admissions that are measured. */
  readonly admissions: number
  readonly say: (line: string) => void
}

/** Debits of the last two days, evenly spread: so many of each. */
const debitsADay = 10_000

/** Every clock is believed. */
const anyTime: ClockBounds = { floor: 0, ceiling: 8_640_000_000_000_000 }

/** A day that allows twice as much as was used, so that each admission looks its oldest debit up and none waits. */
const debit: Debit = {
  ...{ scope: 'school', group: 'bench', app: 'school', operation: 'feed', purpose: 'live' },
  fence: { shard: 0, owner: 'bench', epoch: 1 },
  rates: [
    { requests: 1_000, window: 1 },
    { requests: 2 * debitsADay, window: 86_400 },
  ],
  arrivesWithin: 40_000,
  clockBounds: () => anyTime,
}

const past = `
  insert into ingest.debit (scope, limit_group, n, app_id, operation, purpose, epoch, sent_at, dead_at, settled_at, outcome)
  select 'school', 'bench', n, 'school', 'feed', 'live', 1, at, at + interval '40 s', at + interval '1 s', 'committed'
  from generate_series(1, ${2 * debitsADay}) n,
    lateral (select now() - (${2 * debitsADay} - n) * interval '${86_400 / debitsADay} s' - interval '1 min') t(at)`

/** One admission at a time, each followed by a committed UPDATE of one row on the same connection. */
export async function admit({ admissions, say }: AdmitOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const server = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const pool = connect({ ...defaultConnection, url: server.url, role: '', poolSize: 1 })
  try {
    await migrateUp({ url: server.url })
    await pool.query(`insert into ingest.ownership values (0, 'bench', 1)`)
    await pool.query(past)
    await pool.query(`insert into ingest.budget select scope, limit_group, max(n), max(sent_at), max(sent_at)
      from ingest.debit group by scope, limit_group`)
    await pool.query('create table one_row as select 0 as n')
    await pool.query('vacuum analyze')
    say(`${2 * debitsADay} debits of two days are there`)
    const ledger = createLedger(pool)
    const taken: number[] = []
    const updated: number[] = []
    for (let n = 0; n < admissions; n++) {
      const began = performance.now()
      const result = await ledger.take(debit)
      const then = performance.now()
      await pool.query({ name: 'one_row', text: 'update one_row set n = n + 1' })
      updated.push(performance.now() - then)
      taken.push(then - began)
      if (result.granted !== true) throw new Error(`not granted: ${JSON.stringify(result)}`)
      await ledger.settle(result.grant, 'refused', anyTime)
    }
    const [usual, late] = [0.5, 0.99].map(share => ({
      admit: quantile(taken, share),
      update: quantile(updated, share),
    }))
    return {
      ...{ admissions, debits_in_the_last_day: debitsADay },
      ...{ admit_p50_ms: usual!.admit, update_p50_ms: usual!.update },
      ...{ admit_p99_ms: late!.admit, update_p99_ms: late!.update },
      p50_more_ms: Number((usual!.admit - usual!.update).toFixed(2)),
      p99_more_ms: Number((late!.admit - late!.update).toFixed(2)),
    }
  } finally {
    await pool.end()
    await server.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Number(sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(2))
}

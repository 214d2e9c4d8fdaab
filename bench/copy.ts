import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { systemClock } from '../src/clock/system.ts'

export interface Copied {
  readonly rows: number
  readonly seconds: number
  /** CPU seconds of the server. */
  readonly cpu: number
}

/**
 * Writes every table of schema classroom to a file, empties it, and measures how long COPY takes to bring all of it
 * back, indexes and commit included. `serverCpu` tells what the server has used so far, s.
 */
export async function copyAgain(pool: pg.Pool, serverCpu: () => Promise<number>): Promise<Copied> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-copy-'))
  const client = await pool.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'classroom' order by 1`,
    )
    let rows = 0
    for (const { name } of tables) {
      await pipeline(
        client.query(copyTo(`copy ${name} to stdout (format binary)`)),
        createWriteStream(join(folder, name)),
      )
      rows += Number((await client.query<{ count: string }>(`select count(*) from ${name}`)).rows[0]!.count)
    }
    await client.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
    await client.query('checkpoint')
    const before = await serverCpu()
    const began = systemClock.monotonic()
    for (const { name } of tables) {
      await pipeline(
        createReadStream(join(folder, name)),
        client.query(copyFrom(`copy ${name} from stdin (format binary)`)),
      )
    }
    const seconds = (systemClock.monotonic() - began) / 1_000
    return { rows, seconds, cpu: (await serverCpu()) - before }
  } finally {
    client.release()
    await rm(folder, { recursive: true, force: true })
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { destroyEmbedded, startEmbedded } from '../embedded-postgres/src/start.ts'
import { systemClock } from '../src/clock/system.ts'
import { migrateUp } from '../src/postgres/migrate.ts'

export interface Database {
  readonly folder: string
  readonly server: { readonly url: string; readonly pid: number }
  /** Another one as it was after its migrations; answers its address. */
  readonly fresh: (name: string) => Promise<string>
}

/** Has an embedded Postgres with fsync on, and a folder, for as long as the work takes. */
export async function onDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const server = await startEmbedded({ dataDir: folder, clock: systemClock, durability: 'full' })
  const admin = new pg.Client({ connectionString: withDatabase(server.url, 'postgres') })
  try {
    await migrateUp({ url: server.url })
    await admin.connect()
    const fresh = async (name: string) => {
      await admin.query(`create database ${name} template ${new URL(server.url).pathname.slice(1)}`)
      return withDatabase(server.url, name)
    }
    return await work({ folder, server, fresh })
  } finally {
    await admin.end()
    await server.stop()
    await destroyEmbedded(folder, systemClock)
    await rm(folder, { recursive: true, force: true })
  }
}

function withDatabase(address: string, name: string): string {
  const url = new URL(address)
  url.pathname = `/${name}`
  return url.href
}

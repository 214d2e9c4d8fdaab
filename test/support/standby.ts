import { execFile } from 'node:child_process'
import { appendFile, chown, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from './embedded.ts'

/** A server that follows another one, until it is cut off and takes its place. */
export interface Standby {
  readonly url: string
  /** Resolves when all that the primary has written so far is here too. */
  readonly catchUp: () => Promise<void>
  /** What the primary writes from now on does not come here. */
  readonly cutOff: () => Promise<void>
  /** Becomes a primary itself, on a timeline of its own. */
  readonly promote: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Makes and starts a standby in `dataDir` from a base backup of an embedded primary in `primaryDir`. */
export async function startStandby(
  primary: EmbeddedPostgres,
  primaryDir: string,
  dataDir: string,
): Promise<Standby> {
  await copyRunning(primary, primaryDir, dataDir)
  const server = await startEmbedded({ dataDir, clock: systemClock, durability: 'test' })
  const { url } = server

  return {
    url,
    catchUp: async () => {
      // Without synchronous_commit what was written last may not have left the primary's memory.
      await ask(primary.url, 'checkpoint')
      const [written] = await ask(primary.url, 'select pg_current_wal_flush_lsn()::text as lsn')
      await until(url, `select pg_last_wal_replay_lsn() >= '${String(written!.lsn)}' as done`)
    },
    cutOff: async () => {
      await ask(url, `alter system set primary_conninfo = ''`)
      await ask(url, 'select pg_reload_conf()')
      await until(url, 'select not exists (select from pg_stat_wal_receiver) as done')
    },
    promote: async () => {
      await ask(url, 'select pg_promote(true, 60)')
    },
    stop: () => server.stop(),
  }
}

/** A base backup by hand: the embedded Postgres comes without pg_basebackup. */
async function copyRunning(primary: EmbeddedPostgres, from: string, to: string): Promise<void> {
  const session = new pg.Client({ connectionString: primary.url })
  await session.connect()
  try {
    await session.query(`select pg_backup_start('standby', true)`)
    await promisify(execFile)('cp', ['-a', from, to])
    const { rows } = await session.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    const cluster = join(to, 'postgres', 'cluster')
    const { uid, gid } = await stat(cluster)
    for (const [name, text] of [
      ['backup_label', rows[0]!.labelfile],
      ['standby.signal', ''],
    ] as const) {
      await writeFile(join(cluster, name), text)
      await chown(join(cluster, name), uid, gid)
    }
    const { hostname, port, username, password } = new URL(primary.url)
    const address = `host=${hostname} port=${port} user=${username} password=${password}`
    await appendFile(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${address}'\n`)
    await rm(join(cluster, 'postmaster.pid'))
  } finally {
    await session.end()
  }
}

async function until(url: string, question: string): Promise<void> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  try {
    while (!(await session.query<{ done: boolean }>(question)).rows[0]?.done);
  } finally {
    await session.end()
  }
}

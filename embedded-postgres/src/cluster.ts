import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdtemp, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'
import { EmbeddedPostgresError } from './errors.ts'
import { readIfThere } from './place.ts'

/** `full` survives a power cut; `test` trades that for speed and is for data that nobody will miss. */
export type Durability = 'full' | 'test'

export const SUPERUSER = 'postgres'
const CLUSTER = 'cluster'
const DRAFT = 'cluster.new-'
const PASSWORD = 'password'

export function clusterOf(home: string): string {
  return join(home, CLUSTER)
}

export function passwordFileOf(home: string): string {
  return join(home, PASSWORD)
}

/** The superuser's password. Throws `cluster` when its file has gone. */
export async function readPassword(home: string): Promise<string> {
  const password = (await readIfThere(passwordFileOf(home)))?.trim()
  if (password) return password
  throw new EmbeddedPostgresError(
    'cluster',
    `the password of the embedded Postgres is missing from ${passwordFileOf(home)}: put it back, or remove ` +
      `${home} to begin with an empty database`,
  )
}

/**
 * Makes the cluster unless it is there: UTF-8, code point order, passwords by SCRAM. It is made under another
 * name and renamed when whole, so that an interrupted start leaves nothing that the next one would trip over.
 */
export async function ensureCluster(
  home: string,
  account: Account,
  binaries: Binaries,
  durability: Durability,
): Promise<void> {
  await removeDrafts(home)
  const version = await readIfThere(join(clusterOf(home), 'PG_VERSION'))
  if (version === undefined) return makeCluster(home, account, binaries, durability)
  if (version.trim() === binaries.major) return
  throw new EmbeddedPostgresError(
    'cluster',
    `${clusterOf(home)} was made by Postgres ${version.trim()}, the one installed is ${binaries.major}: ` +
      'dump it with the former version, or remove it to begin with an empty database',
  )
}

async function makeCluster(home: string, account: Account, binaries: Binaries, durability: Durability) {
  const password = randomBytes(24).toString('base64url')
  await writeSecret(`${home}/${DRAFT}password`, password)
  await rename(`${home}/${DRAFT}password`, passwordFileOf(home))
  const draft = await mkdtemp(join(home, DRAFT))
  const passwordForInitdb = `${draft}.password`
  await writeSecret(passwordForInitdb, password)
  if (account.switched) {
    await chown(draft, account.uid, account.gid)
    await chown(passwordForInitdb, account.uid, account.gid)
  }
  await runInitdb(binaries.initdb, account, [
    `--pgdata=${draft}`,
    `--pwfile=${passwordForInitdb}`,
    `--username=${SUPERUSER}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(durability === 'test' ? ['--no-sync'] : []),
  ])
  await rm(passwordForInitdb)
  await rename(draft, clusterOf(home))
  await syncDirectory(home)
}

async function runInitdb(initdb: string, account: Account, args: readonly string[]): Promise<void> {
  const child = spawn(initdb, args, {
    ...runAs(account),
    cwd: '/',
    env: postgresEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-4000)
  })
  const [code] = await once(child, 'close').catch((cause: unknown) => {
    throw unstartable(initdb, cause)
  })
  if (code === 0) return
  throw new EmbeddedPostgresError('cluster', `initdb could not make the database: ${complaint.trim()}`)
}

/** Only what Postgres needs: the caller's PG* variables and library paths would lead it astray. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
}

export function unstartable(path: string, cause: unknown): EmbeddedPostgresError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new EmbeddedPostgresError(
    'start',
    `${path} cannot be run here (${why}). It needs glibc, a file system that allows programs, and the right to ` +
      'change the user when started by root. Otherwise set database.url to an existing Postgres',
    { cause },
  )
}

async function removeDrafts(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(DRAFT)) continue
    // An initdb that outlived its starter may still be writing here; what it leaves goes at the next start.
    await rm(join(home, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

async function writeSecret(path: string, secret: string): Promise<void> {
  await writeFile(path, `${secret}\n`, { mode: 0o600, flush: true })
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}

/** True when the arguments of a running Postgres ask for this durability. */
export function hasDurability(args: readonly string[], durability: Durability): boolean {
  return args.includes('fsync=off') === (durability === 'test')
}

/** The settings that Postgres is started with, beside those of its own configuration files. */
export function serverSettings(durability: Durability): readonly string[] {
  const unsafe = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off']
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=100',
    'shared_buffers=128MB',
    'timezone=UTC',
    // Its log must not print rows: no statements, and no details, which quote the failing row.
    'log_error_verbosity=terse',
    'log_min_error_statement=panic',
    ...(durability === 'test' ? unsafe : []),
  ]
  return settings.flatMap(setting => ['-c', setting])
}

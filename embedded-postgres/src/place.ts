import { randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, canReach } from './account.ts'
import { codeOf, EmbeddedPostgresError } from './errors.ts'

/** Names the directory elsewhere that holds the database, where the data directory itself cannot hold it. */
const LOCATION = 'postgres-location'

/**
 * The directory that holds the cluster, its password and its log: `dataDir/postgres`, or the place that an
 * earlier start recorded. Undefined before the first start; throws `cluster` when the recorded place is gone.
 */
export async function findHome(dataDir: string): Promise<string | undefined> {
  const recorded = await readIfThere(join(dataDir, LOCATION))
  const home = recorded?.trim() || join(dataDir, 'postgres')
  if (await isDirectory(home)) return realpath(home)
  if (recorded === undefined) return undefined
  throw new EmbeddedPostgresError(
    'cluster',
    `the database of ${dataDir} lay in ${home}, which is gone: bring it back, or remove ` +
      `${join(dataDir, LOCATION)} to begin with an empty database`,
  )
}

/** Makes the home directory where the account can reach it, and records it when that is outside `dataDir`. */
export async function makeHome(dataDir: string, account: Account): Promise<string> {
  if (await canReach(dataDir, account)) {
    const home = join(await realpath(dataDir), 'postgres')
    await mkdir(home, { recursive: true })
    await chmod(home, 0o755)
    return home
  }
  const base = await sharedDirectory(['/var/lib/penstock', '/var/tmp/penstock'], account)
  const home = await mkdtemp(join(base, 'postgres-'))
  await chmod(home, 0o755)
  await writeFile(join(home, 'belongs-to'), `${await realpath(dataDir)}\n`)
  if (await writeOnce(join(dataDir, LOCATION), `${home}\n`)) return home
  await rm(home, { recursive: true })
  return (await findHome(dataDir)) ?? home
}

/** Forgets and removes the home directory. Nothing may run in it. */
export async function removeHome(dataDir: string, home: string): Promise<void> {
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
  await rm(join(dataDir, LOCATION), { force: true })
}

/**
 * The first of `candidates` that can be made, belongs to us alone and is reachable by the account.
 * The ownership check keeps a stranger from planting one below a directory that everyone may write to.
 */
export async function sharedDirectory(candidates: readonly string[], account: Account): Promise<string> {
  for (const path of candidates) {
    const made = await mkdir(path, { recursive: true }).catch(() => 'refused')
    if (made === 'refused') continue
    if (made !== undefined) await chmod(path, 0o755)
    const { uid, mode } = await lstat(path)
    const ours = uid === process.getuid?.() && (mode & 0o022) === 0 && (await isDirectory(path))
    if (ours && (await canReach(path, account))) return path
  }
  throw new EmbeddedPostgresError(
    'cluster',
    `user id ${account.uid}, as which Postgres must run, can reach none of ${candidates.join(', ')}: ` +
      'give a data directory that it can reach (database.dataDir), or set database.url',
  )
}

/** Writes a small file; one that root writes into the directory of a plain user becomes that user's. */
export async function writeInHome(home: string, name: string, text: string): Promise<void> {
  await writeFile(join(home, name), text)
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(home)
  await chown(join(home, name), uid, gid)
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Writes a whole file or nothing; false when somebody else was first. */
async function writeOnce(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, text)
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

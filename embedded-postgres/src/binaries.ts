import {
  access,
  chmod,
  constants,
  cp,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { type Account, canReach } from './account.ts'
import { codeOf, EmbeddedPostgresError } from './errors.ts'
import { sharedDirectory } from './place.ts'
import { platforms } from './platforms.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** The major version, as PG_VERSION in a data directory says it. */
  readonly major: string
}

export interface NativePackage {
  readonly root: string
  readonly version: string
}

/**
 * Makes a package's programs runnable by the account: in place where that is possible, else as a copy in a
 * directory named after its version.
 */
export async function makeRunnable(found: NativePackage, account: Account, home: string): Promise<Binaries> {
  const reachable = await canReach(join(found.root, 'native', 'bin'), account)
  const inPlace = reachable && (await makeLinks(found.root, await missingLinks(found.root)))
  const bin = join(inPlace ? found.root : await copyOut(found, account, home), 'native', 'bin')
  return {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    major: found.version.split('.')[0] ?? '',
  }
}

/** Finds the package with the Postgres for this machine. Throws `platform` where there is none. */
export async function findPackage(): Promise<NativePackage> {
  const instead = 'set database.url to an existing Postgres (15 or newer)'
  const { platform, arch } = process
  const name = platforms.find(each => each.os === platform && each.arch === arch)?.postgres
  if (name === undefined) {
    throw new EmbeddedPostgresError(
      'platform',
      `there is no embedded Postgres for ${platform} on ${arch}: ${instead}`,
    )
  }
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version }
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'platform',
      `the package ${name} is not installed: run "npm ci --include=optional", or ${instead}`,
      { cause },
    )
  }
}

interface Link {
  readonly source: string
  readonly target: string
}

/**
 * npm packages carry no symlinks, so the package lists them (native/pg-symlinks.json) for an install script that
 * newer npm does not run.
 */
async function missingLinks(root: string): Promise<readonly Link[]> {
  const links = JSON.parse(
    await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'),
  ) as readonly Link[]
  const checked = await Promise.all(
    links.map(async link =>
      (await access(join(root, link.target)).catch(() => 'missing')) === 'missing' ? [link] : [],
    ),
  )
  return checked.flat()
}

/** False when the directory cannot be written to. A second starter may be making the same links. */
async function makeLinks(root: string, links: readonly Link[]): Promise<boolean> {
  try {
    for (const { source, target } of links) {
      await symlink(relative(dirname(target), source), join(root, target)).catch(ignoreExisting)
    }
    return true
  } catch {
    return false
  }
}

async function copyOut(found: NativePackage, account: Account, home: string): Promise<string> {
  const base = account.switched
    ? await sharedDirectory(['/var/cache/penstock', '/var/tmp/penstock-cache'], account)
    : home
  const copy = join(base, `postgres-${found.version}-${process.arch}`)
  if ((await access(copy, constants.R_OK).catch(() => 'missing')) !== 'missing') return copy
  const draft = await mkdtemp(join(base, 'copying-'))
  try {
    await copyTree(found.root, draft)
    await rename(draft, copy).catch(ignoreExisting)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return copy
}

async function copyTree(root: string, draft: string): Promise<void> {
  await cp(join(root, 'native'), join(draft, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: source => !source.endsWith('.a') && basename(source) !== 'pkgconfig',
  })
  await makeLinks(draft, await missingLinks(draft))
  await chmod(draft, 0o755)
  for (const entry of await readdir(draft, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

function ignoreExisting(error: unknown): void {
  const code = codeOf(error)
  if (code !== 'EEXIST' && code !== 'ENOTEMPTY') throw error
}

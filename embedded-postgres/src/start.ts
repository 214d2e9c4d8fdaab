import { mkdir } from 'node:fs/promises'
import type { Clock } from '../../src/clock/clock.ts'
import { chooseAccount } from './account.ts'
import { findPackage, makeRunnable } from './binaries.ts'
import { clusterOf, type Durability, ensureCluster, hasDurability, passwordFileOf } from './cluster.ts'
import { ensureDatabase, findDatabase } from './database.ts'
import { EmbeddedPostgresError } from './errors.ts'
import { type LaunchOptions, launch } from './launch.ts'
import { type Lock, ownerPid, takeLock } from './lock.ts'
import { findHome, makeHome, removeHome } from './place.ts'
import { type Postmaster, type Progress, readPostmaster, shutDown, waitUntilGone } from './postmaster.ts'

const JOIN_PATIENCE_MS = 60_000
const STOPPING_PATIENCE_MS = 120_000

export interface EmbeddedOptions {
  /** Where the database lives, or where the place is written down when Postgres cannot live there. */
  readonly dataDir: string
  readonly clock: Clock
  /** Default: full. */
  readonly durability?: Durability
  /**
   * When another live process has the database: `refuse` throws `owned` with its process id; `join` uses the
   * running server and leaves it running. Default: refuse.
   */
  readonly whenOwned?: 'refuse' | 'join'
  readonly onProgress?: Progress
}

export interface EmbeddedPostgres {
  /** With the superuser's password. */
  readonly url: string
  readonly port: number
  /** Process id of the postmaster. */
  readonly pid: number
  readonly passwordFile: string
  /** started: newly; adopted: left running by a killed process; joined: it belongs to another live process. */
  readonly origin: 'started' | 'adopted' | 'joined'
  /** Stops Postgres and waits for it, unless joined. May be called again. */
  stop(): Promise<void>
}

/**
 * Gives the Postgres of a data directory: makes it on first use, starts it, or adopts the one that a killed
 * process left running. It runs detached on a loopback port and survives its starter, so that a drain can still
 * commit after Ctrl-C. Throws EmbeddedPostgresError.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { dataDir, clock } = options
  const found = await findPackage()
  await mkdir(dataDir, { recursive: true })
  const existing = await findHome(dataDir)
  const account = await chooseAccount(existing && clusterOf(existing))
  const home = existing ?? (await makeHome(dataDir, account))
  const owned = await lockOrJoin(home, options)
  if ('joined' in owned) return owned.joined
  try {
    const binaries = await makeRunnable(found, account, home)
    const durability = options.durability ?? 'full'
    await ensureCluster(home, account, binaries, durability)
    const progress = options.onProgress ?? (() => undefined)
    const running = await ensureRunning({ home, account, binaries, durability, clock, progress })
    const url = await ensureDatabase(home, running.postmaster.port, clock)
    return embedded(home, url, running.origin, running.postmaster, () => stopOwned(home, owned.lock, options))
  } catch (error) {
    await owned.lock.release()
    throw error
  }
}

/** Removes the database of a data directory and all that is in it. Throws `owned` while a process has it. */
export async function destroyEmbedded(dataDir: string, clock: Clock): Promise<void> {
  const home = await findHome(dataDir)
  if (home === undefined) return
  const lock = await takeLock(home)
  if (!lock) throw await alreadyOwned(home, clock)
  await stopOwned(home, lock, { dataDir, clock })
  await removeHome(dataDir, home)
}

type Owned = { readonly lock: Lock } | { readonly joined: EmbeddedPostgres }

async function lockOrJoin(home: string, options: EmbeddedOptions): Promise<Owned> {
  const { clock } = options
  const end = clock.monotonic() + JOIN_PATIENCE_MS
  for (;;) {
    const lock = await takeLock(home)
    if (lock) return { lock }
    if (options.whenOwned !== 'join') throw await alreadyOwned(home, clock)
    const found = await readPostmaster(clusterOf(home))
    if (found.state === 'live' && found.postmaster.status === 'ready') {
      const url = await findDatabase(home, found.postmaster.port)
      if (url) return { joined: embedded(home, url, 'joined', found.postmaster, async () => undefined) }
    }
    if (clock.monotonic() > end) throw await alreadyOwned(home, clock)
    await clock.sleep(50)
  }
}

async function alreadyOwned(home: string, clock: Clock): Promise<EmbeddedPostgresError> {
  const pid = await ownerPid(home, clock)
  const who = pid === undefined ? 'another process' : `process ${pid}`
  return new EmbeddedPostgresError(
    'owned',
    `the embedded Postgres in ${home} is in use by ${who}: stop that one first, or give another database.dataDir`,
  )
}

interface Running {
  readonly postmaster: Postmaster
  readonly origin: 'started' | 'adopted'
}

async function ensureRunning(options: LaunchOptions): Promise<Running> {
  const { home, clock, progress, durability } = options
  const cluster = clusterOf(home)
  for (;;) {
    const found = await readPostmaster(cluster)
    if (found.state !== 'live') {
      const stalePid = found.state === 'stale' ? found.pid : undefined
      return { postmaster: await launch(options, stalePid), origin: 'started' }
    }
    const { postmaster } = found
    if (postmaster.status === 'stopping') {
      if (!(await waitUntilGone(cluster, postmaster.pid, STOPPING_PATIENCE_MS, clock, progress))) {
        throw new EmbeddedPostgresError('start', `process ${postmaster.pid} does not finish its shutdown`)
      }
    } else if (!hasDurability(postmaster.args, durability)) {
      await shutDown(cluster, postmaster.pid, clock, progress)
    } else if (postmaster.status === 'ready') {
      return { postmaster, origin: 'adopted' }
    } else {
      await clock.sleep(20)
    }
  }
}

function embedded(
  home: string,
  url: string,
  origin: EmbeddedPostgres['origin'],
  { pid, port }: Postmaster,
  stopOnce: () => Promise<void>,
): EmbeddedPostgres {
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= stopOnce()
    return stopping
  }
  return { url, port, pid, origin, passwordFile: passwordFileOf(home), stop }
}

async function stopOwned(home: string, lock: Lock, options: EmbeddedOptions): Promise<void> {
  const cluster = clusterOf(home)
  try {
    const found = await readPostmaster(cluster)
    if (found.state !== 'live') return
    await shutDown(cluster, found.postmaster.pid, options.clock, options.onProgress ?? (() => undefined))
  } finally {
    await lock.release()
  }
}

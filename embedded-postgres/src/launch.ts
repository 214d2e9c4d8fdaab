import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../../src/clock/clock.ts'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'
import { clusterOf, type Durability, postgresEnvironment, serverSettings, unstartable } from './cluster.ts'
import { codeOf, EmbeddedPostgresError } from './errors.ts'
import { readIfThere, writeInHome } from './place.ts'
import { everyFiveSeconds, type Postmaster, type Progress, readPostmaster } from './postmaster.ts'

const POLL_MS = 20
const ATTEMPTS = 5
/** Backends of a killed postmaster end when they next look up; a long query may take some seconds. */
const LEFTOVER_BACKENDS_MS = 30_000
const LOG_LIMIT_BYTES = 16 * 1024 * 1024

export interface LaunchOptions {
  readonly home: string
  readonly account: Account
  readonly binaries: Binaries
  readonly durability: Durability
  readonly clock: Clock
  readonly progress: Progress
}

type Outcome = { readonly postmaster: Postmaster } | { readonly complaint: string }

/**
 * Starts Postgres in a session of its own (so that the terminal's Ctrl-C does not reach it) and waits until it
 * accepts connections, through a recovery if need be. The port is that of the last start where it is free.
 * `stalePid` is the dead process that a left-over postmaster.pid names. Throws `start` with the log's last words.
 */
export async function launch(options: LaunchOptions, stalePid: number | undefined): Promise<Postmaster> {
  const { home, clock } = options
  const giveUpOnLeftovers = clock.monotonic() + LEFTOVER_BACKENDS_MS
  for (let conflicts = 0; ; ) {
    const port = await choosePort(home)
    const outcome = await tryLaunch(options, port, stalePid)
    if ('postmaster' in outcome) {
      await writeInHome(home, 'port', `${port}\n`)
      return outcome.postmaster
    }
    if (isPortConflict(outcome.complaint) && ++conflicts < ATTEMPTS) continue
    if (!hasLeftoverBackends(outcome.complaint) || clock.monotonic() > giveUpOnLeftovers) {
      throw new EmbeddedPostgresError('start', `the embedded Postgres did not start: ${outcome.complaint}`)
    }
    await clock.sleep(100)
  }
}

async function tryLaunch(
  options: LaunchOptions,
  port: number,
  stalePid: number | undefined,
): Promise<Outcome> {
  const { home, account, binaries, durability } = options
  const log = await openLog(home)
  try {
    const { size } = await log.stat()
    // Postgres takes a postmaster.pid that names its own grandparent for stale, but still checks that no
    // process uses the old shared memory; removing the file would skip that check.
    const grandparent = stalePid === undefined ? {} : { PG_GRANDPARENT_PID: String(stalePid) }
    const child = spawn(
      binaries.postgres,
      ['-D', clusterOf(home), '-p', String(port), ...serverSettings(durability)],
      {
        ...runAs(account),
        cwd: '/',
        env: { ...postgresEnvironment(), ...grandparent },
        stdio: ['ignore', log.fd, log.fd],
        detached: true,
      },
    )
    await once(child, 'spawn').catch((cause: unknown) => {
      throw unstartable(binaries.postgres, cause)
    })
    child.unref()
    return (await waitForStart(options, child)) ?? { complaint: await readFrom(log, size) }
  } finally {
    await log.close()
  }
}

/** Undefined when the child ended before it was ready. */
async function waitForStart(options: LaunchOptions, child: ChildProcess): Promise<Outcome | undefined> {
  const { home, clock, progress } = options
  const due = everyFiveSeconds(clock)
  while (child.exitCode === null && child.signalCode === null) {
    const found = await readPostmaster(clusterOf(home))
    if (found.state === 'live' && found.postmaster.pid === child.pid && found.postmaster.status === 'ready') {
      return { postmaster: found.postmaster }
    }
    if (due()) progress('waiting for the embedded Postgres to start', { pid: child.pid })
    await clock.sleep(POLL_MS)
  }
  return undefined
}

function isPortConflict(complaint: string): boolean {
  return complaint.includes('could not create any TCP/IP sockets')
}

function hasLeftoverBackends(complaint: string): boolean {
  return complaint.includes('pre-existing shared memory block')
}

async function openLog(home: string): Promise<FileHandle> {
  const path = join(home, 'postgres.log')
  const size = (await stat(path).catch(() => undefined))?.size ?? 0
  if (size > LOG_LIMIT_BYTES) await rename(path, `${path}.1`)
  const log = await open(path, 'a+', 0o600)
  if (process.getuid?.() === 0) {
    const { uid, gid } = await stat(home)
    await log.chown(uid, gid)
  }
  return log
}

async function readFrom(log: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(4000), position })
  return buffer.toString('utf8', 0, bytesRead).trim()
}

async function choosePort(home: string): Promise<number> {
  const last = Number((await readIfThere(join(home, 'port')))?.trim())
  const usable = Number.isInteger(last) && last > 0 && last < 65_536
  return (usable ? await probePort(last) : undefined) ?? (await probePort(0)) ?? last
}

/** The port if it can be bound on loopback, else undefined; for 0, whichever is free. Another process may still be quicker. */
async function probePort(port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE' || codeOf(error) === 'EACCES') return undefined
    throw error
  }
  const address = server.address()
  await new Promise<void>(resolve => server.close(() => resolve()))
  return address !== null && typeof address === 'object' ? address.port : undefined
}

import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock } from '../../src/clock/clock.ts'
import { codeOf, EmbeddedPostgresError } from './errors.ts'
import { readIfThere } from './place.ts'
import { processes } from './processes.ts'

const POLL_MS = 20
const FAST_SHUTDOWN_MS = 60_000
const IMMEDIATE_SHUTDOWN_MS = 30_000

/** What a person may want to read while waiting: a fixed sentence, and its data. */
export type Progress = (message: string, data: Readonly<Record<string, unknown>>) => void

export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly status: string
  readonly args: readonly string[]
}

export type PostmasterState =
  | { readonly state: 'none' }
  | { readonly state: 'stale'; readonly pid: number }
  | { readonly state: 'live'; readonly postmaster: Postmaster }

/**
 * Reads `postmaster.pid` (line 1 the process id, 4 the port, 8 the status) and checks that the process is still
 * the Postgres of this cluster: after a crash or a reboot the number may belong to another process.
 */
export async function readPostmaster(cluster: string): Promise<PostmasterState> {
  const lines = (await readIfThere(join(cluster, 'postmaster.pid')))?.split('\n')
  const pid = Number(lines?.[0])
  if (!lines || !Number.isInteger(pid) || pid <= 0) return { state: 'none' }
  const args = await postmasterArguments(pid, cluster)
  if (!args) return { state: 'stale', pid }
  const [, , , port, , , , status = ''] = lines
  return { state: 'live', postmaster: { pid, port: Number(port), status: status.trim(), args } }
}

/** Undefined when the process is gone, a zombie, or not the Postgres of this cluster. */
async function postmasterArguments(pid: number, cluster: string): Promise<readonly string[] | undefined> {
  const args = await processes.argumentsOf(pid)
  if (basename(args[0] ?? '') !== 'postgres') return undefined
  const isNamed = ` ${args.join(' ')} `.includes(` ${cluster} `)
  return isNamed || (await worksIn(pid, cluster)) ? args : undefined
}

/**
 * An ending process gives up its memory, and with that its command line, before it closes its sockets: it is gone
 * only when it is a zombie or not there at all. Until then the next start would find its port taken.
 */
async function lingers(pid: number, cluster: string): Promise<boolean> {
  return (await postmasterArguments(pid, cluster)) !== undefined || (await processes.isEnding(pid))
}

/** A directory that was moved keeps its inode, and Postgres works inside its data directory. */
async function worksIn(pid: number, cluster: string): Promise<boolean> {
  const [own, theirs] = await Promise.all(
    [cluster, `/proc/${pid}/cwd`].map(path => stat(path).catch(() => undefined)),
  )
  return own !== undefined && theirs !== undefined && own.dev === theirs.dev && own.ino === theirs.ino
}

/**
 * Shuts Postgres down, fast first (open transactions are rolled back), after a minute at once. Resolves when the
 * process is gone; throws `start` when it does not go.
 */
export async function shutDown(
  cluster: string,
  pid: number,
  clock: Clock,
  progress: Progress,
): Promise<void> {
  for (const [signal, patience] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    send(pid, signal)
    if (await waitUntilGone(cluster, pid, patience, clock, progress)) return
  }
  throw new EmbeddedPostgresError('start', `the embedded Postgres (process ${pid}) does not stop`)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** False when the process is still there after `patience` milliseconds. */
export async function waitUntilGone(
  cluster: string,
  pid: number,
  patience: number,
  clock: Clock,
  progress: Progress,
): Promise<boolean> {
  const due = everyFiveSeconds(clock)
  const end = clock.monotonic() + patience
  while (await lingers(pid, cluster)) {
    if (clock.monotonic() >= end) return false
    if (due()) progress('waiting for the embedded Postgres to stop', { pid })
    await clock.sleep(POLL_MS)
  }
  return true
}

/** A function that says true once every five seconds of waiting. */
export function everyFiveSeconds(clock: Clock): () => boolean {
  let next = clock.monotonic() + 5_000
  return () => {
    if (clock.monotonic() < next) return false
    next += 5_000
    return true
  }
}

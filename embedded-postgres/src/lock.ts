import { once } from 'node:events'
import { constants, open, readFile, stat } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Clock } from '../../src/clock/clock.ts'
import { codeOf } from './errors.ts'

const ANSWER_PATIENCE_MS = 1_000

export interface Lock {
  release(): Promise<void>
}

/** Takes the lock on a home directory, or returns undefined while another process has it. */
export function takeLock(home: string): Promise<Lock | undefined> {
  return process.platform === 'linux' ? takeName(home) : takeFile(home)
}

/** The id of the process that has the lock, from itself; undefined when it does not answer within a second. */
export function ownerPid(home: string, clock: Clock): Promise<number | undefined> {
  return process.platform === 'linux' ? askOwner(home, clock) : readOwner(home)
}

/** Flags of macOS that Node does not name: an open takes the lock on the file, or fails at once. */
const exclusively = 0x20 | 0x4

const lockFile = (home: string) => join(home, 'lock')

/** A lock on a file, which the kernel of macOS takes back however the process ends. The file holds the owner's ID. */
async function takeFile(home: string): Promise<Lock | undefined> {
  const flags = constants.O_RDWR | constants.O_CREAT | exclusively
  const file = await open(lockFile(home), flags, 0o644).catch((error: unknown) => {
    if (codeOf(error) === 'EAGAIN' || codeOf(error) === 'EWOULDBLOCK') return undefined
    throw error
  })
  await file?.truncate()
  await file?.write(String(process.pid))
  return file && { release: () => file.close() }
}

async function readOwner(home: string): Promise<number | undefined> {
  return Number(await readFile(lockFile(home), 'utf8').catch(() => '')) || undefined
}

/**
 * It is a name in Linux' abstract socket space, derived from the directory's inode: the kernel gives it to one
 * process at a time and takes it back however that process ends, so that no lock outlives a kill -9.
 */
async function takeName(home: string): Promise<Lock | undefined> {
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.end(String(process.pid))
  })
  server.unref()
  try {
    server.listen({ path: await nameOf(home) })
    await once(server, 'listening')
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return undefined
    throw error
  }
  return { release: () => new Promise(resolve => server.close(() => resolve())) }
}

async function askOwner(home: string, clock: Clock): Promise<number | undefined> {
  const socket = connect({ path: await nameOf(home) })
  const answered = new AbortController()
  const late = clock.sleep(ANSWER_PATIENCE_MS, answered.signal).then(() => '')
  const pid = Number(await Promise.race([text(socket).catch(() => ''), late]))
  answered.abort()
  socket.destroy()
  return pid || undefined
}

async function nameOf(home: string): Promise<string> {
  const { dev, ino } = await stat(home, { bigint: true })
  return `\0penstock-postgres-${dev}-${ino}`
}

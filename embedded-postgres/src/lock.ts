import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Clock } from '../../src/clock/clock.ts'
import { codeOf } from './errors.ts'

const ANSWER_PATIENCE_MS = 1_000

export interface Lock {
  release(): Promise<void>
}

/**
 * Takes the lock on a home directory, or returns undefined while another process has it.
 * It is a name in Linux' abstract socket space, derived from the directory's inode: the kernel gives it to one
 * process at a time and takes it back however that process ends, so that no lock outlives a kill -9.
 */
export async function takeLock(home: string): Promise<Lock | undefined> {
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

/** The id of the process that has the lock, from itself; undefined when it does not answer within a second. */
export async function ownerPid(home: string, clock: Clock): Promise<number | undefined> {
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

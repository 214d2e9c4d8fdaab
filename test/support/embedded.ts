import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export interface Report {
  readonly origin?: string
  readonly pid?: number
  readonly url?: string
  readonly error?: string
}

export interface Starter {
  readonly process: ChildProcess
  /** What it says once it has started Postgres, or failed to. */
  readonly report: Promise<Report>
  /** kill -9 and wait. */
  kill(): Promise<void>
  /** Let it stop its Postgres and end. */
  finish(): Promise<void>
}

export interface StarterOptions {
  readonly whenOwned?: 'join' | 'refuse'
  readonly uid?: number
}

/** Another process that starts the embedded Postgres of `dataDir`. */
export function spawnStarter(dataDir: string, { whenOwned = 'refuse', uid }: StarterOptions = {}): Starter {
  const script = fileURLToPath(new URL('../../embedded-postgres/test/child.ts', import.meta.url))
  const child = spawn(process.execPath, [script, dataDir, whenOwned], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid, cwd: '/' }),
  })
  const ended = once(child, 'exit')
  return {
    process: child,
    report: firstLine(child).then(line => JSON.parse(line) as Report),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async finish() {
      child.stdin.end()
      await ended
    },
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) return '{}'
  for await (const line of createInterface({ input: child.stdout })) return line
  return '{}'
}

/** The rows of one statement on a connection of its own. */
export async function ask(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<Record<string, unknown>>(text).finally(() => client.end())
  return rows
}

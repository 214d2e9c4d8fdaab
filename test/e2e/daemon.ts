import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { compiledOnce } from '../support/compiled.ts'

export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** The daemon as a process of its own, just as an operator runs it. */
export interface DaemonProcess {
  readonly pid: number
  /** Whether it goes by this name in the database's list of owners. */
  readonly isOwner: (owner: string) => boolean
  /** Every line it logged so far. */
  readonly lines: readonly LogLine[]
  /** What it wrote to standard error. */
  readonly errors: () => string
  /** Address of its endpoints, once it drains. Rejects when it ends before. */
  readonly ready: Promise<string>
  /** kill -9. */
  kill(): Promise<void>
  /** SIGTERM; answers the exit code, or the signal that ended it. */
  terminate(): Promise<number | string>
}

const source = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/**
 * `program` is that of this clone unless another build is named. In a session of its own it has no terminal, so that SIGHUP
 * has it read its file again.
 */
export function startDaemonProcess(
  config: string,
  { program = source, ownSession = false }: { readonly program?: string; readonly ownSession?: boolean } = {},
): DaemonProcess {
  const child = spawn(process.execPath, [program, 'run', '--config', config], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: ownSession,
    env: { PATH: process.env.PATH, TZ: process.env.TZ, ...compiledOnce },
  })
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  const lines: LogLine[] = []
  const errors: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
  const ready = urlFrom(child, lines, ended, () => errors.join(''))
  ready.catch(() => undefined)
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal)
    const [code, by] = await ended
    return code ?? by ?? 'gone'
  }
  return {
    pid: child.pid!,
    isOwner: owner => owner.split('/')[1] === `${child.pid}`,
    lines,
    errors: () => errors.join(''),
    ready,
    kill: async () => void (await end('SIGKILL')),
    terminate: () => end('SIGTERM'),
  }
}

function urlFrom(
  child: ChildProcess,
  lines: LogLine[],
  ended: Promise<unknown>,
  errors: () => string,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (!child.stdout) throw new TypeError('the daemon has no standard output')
  createInterface({ input: child.stdout }).on('line', text => {
    const line = JSON.parse(text) as LogLine
    lines.push(line)
    if (line.msg === 'draining') resolve(String(line.url))
  })
  void ended.then(() => reject(new Error(`the daemon ended before it drained: ${errors()}`)))
  return promise
}

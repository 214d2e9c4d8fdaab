import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { compiledOnce } from '../support/compiled.ts'
import { follow, type Output } from '../support/output.ts'

export const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Job extends Output {
  readonly child: ChildProcess
  /** SIGHUP to all of its process group, as a terminal that is closed sends it. */
  readonly hangUp: () => void
  /** Nobody reads standard output any more. */
  readonly leave: () => void
  /** What it wrote to standard error. */
  readonly complaints: () => string
}

/** A command with a session of its own and no terminal, as a service has it. */
export function job(...args: readonly string[]): Job {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...compiledOnce },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const complaints: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => complaints.push(text))
  return {
    ...follow(child),
    child,
    hangUp: () => void process.kill(-child.pid!, 'SIGHUP'),
    leave: () => void child.stdout.destroy(),
    complaints: () => complaints.join(''),
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { compiledOnce } from '../support/compiled.ts'
import { follow, type Output } from '../support/output.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

/** Runs one command to its end, as a shell would. */
export async function penstock(args: readonly string[], env: Environment = {}): Promise<Ended> {
  const child = start(args, env)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}

/** Runs commands one after the other in one process: for what depends on nothing but their words. */
export async function penstockEach(lines: readonly (readonly string[])[]): Promise<readonly Ended[]> {
  const script = fileURLToPath(new URL('lines.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(lines)], {
    env: { PATH: process.env.PATH, ...compiledOnce },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(await text(child.stdout)) as readonly Ended[]
}

/** Runs one command whose reader goes away before it has printed anything. */
export async function penstockUnread(args: readonly string[]): Promise<Omit<Ended, 'stdout'>> {
  const child = start(args, {})
  child.stdout!.destroy()
  const [stderr, [code]] = await Promise.all([
    text(child.stderr!),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, stderr }
}

export interface Running extends Output {
  readonly process: ChildProcess
}

/** Starts a command that goes on until it is told to stop. */
export function launch(args: readonly string[], env: Environment = {}): Running {
  const child = start(args, env)
  return { process: child, ...follow(child) }
}

function start(args: readonly string[], env: Environment): ChildProcess {
  return spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...compiledOnce, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

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

export interface Running {
  readonly process: ChildProcess
  /** Everything printed to standard output so far. */
  readonly lines: readonly string[]
  /** Resolves with the first line that matches; rejects when the process ends without one. */
  readonly line: (pattern: RegExp) => Promise<string>
  readonly ended: Promise<number | null>
}

/** Starts a command that goes on until it is told to stop. */
export function launch(args: readonly string[], env: Environment = {}): Running {
  const child = start(args, env)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const tellAll = () => {
    for (const look of waiting) look()
  }
  createInterface({ input: child.stdout! }).on('line', line => {
    lines.push(line)
    tellAll()
  })
  child.stderr!.on('data', (data: Buffer) => lines.push(data.toString()))
  let isOver = false
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    tellAll()
    return code as number | null
  })
  const line = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = lines.find(one => pattern.test(one))
        if (found === undefined && !isOver) return
        waiting.delete(look)
        if (found === undefined) reject(new Error(`no line like ${pattern} in:\n${lines.join('\n')}`))
        else resolve(found)
      }
      waiting.add(look)
      look()
    })
  return { process: child, lines, line, ended }
}

function start(args: readonly string[], env: Environment): ChildProcess {
  return spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

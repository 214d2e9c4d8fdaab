import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/clock/system.ts'
import { follow, type Output } from '../support/output.ts'
import { repository } from './image.ts'
import type { MemoryGroup } from './memory.ts'

/** Memory of a process, MiB: what it holds, and what it held at most. */
export interface Held {
  readonly now: number
  readonly peak: number
}

/** A Node process of this repository, within a limit of memory where one is given. */
export interface Confined extends Output {
  /** Undefined once it has ended. */
  readonly status: () => Held | undefined
  readonly hasEnded: () => boolean
  /** SIGTERM, and SIGKILL after `patience` ms; answers the exit code, or the signal that ended it. */
  readonly terminate: (patience: number) => Promise<number | string>
}

/** What it runs in besides what every process here has. */
export interface Confinement {
  readonly env?: Readonly<Record<string, string>>
  readonly memory?: MemoryGroup | undefined
}

export function startConfined(args: readonly string[], { env, memory }: Confinement = {}): Confined {
  // The shell moves itself before Node starts, so that Node finds the limit that its flags are shares of.
  const enter = (memory?.folders ?? []).map(folder => `echo $$ >'${folder}/cgroup.procs' && `).join('')
  const child = spawn('/bin/sh', ['-c', `${enter}exec "$0" "$@"`, process.execPath, ...args], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
  })
  const output = follow(child)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  return {
    ...output,
    hasEnded,
    status: () => (hasEnded() ? undefined : held(child.pid!)),
    terminate: async patience => {
      if (!hasEnded()) child.kill('SIGTERM')
      const given = new AbortController()
      void systemClock.sleep(patience, given.signal).then(() => hasEnded() || child.kill('SIGKILL'))
      await output.ended
      given.abort()
      return child.exitCode ?? child.signalCode ?? 'gone'
    },
  }
}

function held(pid: number): Held | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const mebibytes = (field: string) =>
      Math.round(Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1_024)
    return { now: mebibytes('VmRSS'), peak: mebibytes('VmHWM') }
  } catch {
    return undefined
  }
}

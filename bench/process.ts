import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Child {
  readonly pid: number
  readonly firstLine: string
  readonly alive: () => boolean
  /** Sends SIGTERM and waits for the end. May be called again. */
  readonly stop: () => Promise<void>
}

const root = fileURLToPath(new URL('../', import.meta.url))

/** Starts a script of this repository and waits for the first line that it prints. */
export async function startChild(args: readonly string[]): Promise<Child> {
  const child = spawn(process.execPath, [...args], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const quiet = args.includes('run')
  const firstLine = quiet ? '' : String((await once(lines, 'line'))[0])
  return {
    pid: child.pid!,
    firstLine,
    alive: () => child.exitCode === null && child.signalCode === null,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await ended
    },
  }
}

/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** CPU seconds that a process has used so far, in user and system mode (proc(5)). */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Most memory that a process has held at once, bytes (VmHWM of proc(5)). */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024
}

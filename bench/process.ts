import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Child {
  readonly pid: number
  readonly firstLine: string
  /** Resolves with the line when it is printed, also where that was before. */
  readonly says: (line: string) => Promise<void>
  readonly alive: () => boolean
  /** Sends SIGTERM and waits for the end. May be called again. */
  readonly stop: () => Promise<void>
}

const root = fileURLToPath(new URL('../', import.meta.url))

/** Starts a script of this repository and waits for the first line that it prints. */
export async function startChild(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const said = new Set<string>()
  lines.on('line', line => said.add(line))
  const quiet = args.includes('run')
  const firstLine = quiet ? '' : String((await once(lines, 'line'))[0])
  const alive = () => child.exitCode === null && child.signalCode === null
  return {
    pid: child.pid!,
    firstLine,
    says: async line => {
      while (!said.has(line)) {
        if (!alive()) throw new Error(`a process ended before it said ${line}`)
        await Promise.race([once(lines, 'line'), ended])
      }
    },
    alive,
    stop: async () => {
      if (alive()) child.kill('SIGTERM')
      await ended
    },
  }
}

/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** CPU seconds that a process has used so far, in user and system mode (proc(5)). */
export async function cpuSeconds(pid: number): Promise<number> {
  const { own } = await ticks(pid)
  return own / TICKS_PER_SECOND
}

/** The same of a process with all of its children, those that have ended included. */
export async function treeCpuSeconds(pid: number): Promise<number> {
  const { own, gone } = await ticks(pid)
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean)
  const each = await Promise.all(children.map(child => ticks(Number(child)).catch(() => ({ own: 0 }))))
  return each.reduce((sum, child) => sum + child.own, own + gone) / TICKS_PER_SECOND
}

async function ticks(pid: number): Promise<{ readonly own: number; readonly gone: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const [user, system, goneUser, goneSystem] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return { own: user! + system!, gone: goneUser! + goneSystem! }
}

/** Most memory that a process has held at once, bytes (VmHWM of proc(5)). */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024
}

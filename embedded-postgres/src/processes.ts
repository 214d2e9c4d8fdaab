import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'

/** What can be told of another process. */
interface Processes {
  /** Its arguments, the program first; none where it is gone, or a zombie. */
  readonly argumentsOf: (pid: number) => Promise<readonly string[]>
  /** Whether it has given up its memory, and may still hold its sockets. */
  readonly isEnding: (pid: number) => Promise<boolean>
}

/** As Linux tells it without a program. */
const fromProc: Processes = {
  argumentsOf: async pid => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0'),
  isEnding: async pid => {
    const [stat, commandLine] = await Promise.all(
      ['stat', 'cmdline'].map(file => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => undefined)),
    )
    if (stat === undefined || commandLine !== '') return false
    // The state follows the name, which stands in parentheses and may hold some itself.
    return !/^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')))
  },
}

/** As every Unix tells it; an argument that holds a space is several. */
export const fromPs: Processes = {
  argumentsOf: async pid => {
    const [state = 'Z', ...words] = await ps(pid)
    return state.startsWith('Z') ? [] : words
  },
  isEnding: async () => false,
}

function ps(pid: number): Promise<readonly string[]> {
  return new Promise(resolve => {
    execFile('ps', ['-ww', '-o', 'stat=', '-o', 'command=', '-p', String(pid)], (error, stdout) =>
      resolve(error ? [] : stdout.trim().split(/ +/)),
    )
  })
}

export const processes: Processes = process.platform === 'linux' ? fromProc : fromPs

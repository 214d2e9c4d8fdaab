import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError } from '../cli/exit.ts'

/** Where the daemon's log goes while a person reads the screen. */
export interface LogFile {
  readonly path: string
  readonly write: (line: string) => void
  /** Lines so far that a person may want to read. */
  readonly counts: () => { readonly warnings: number; readonly errors: number }
  readonly close: () => Promise<void>
}

/** What is logged names apps, rooms and addresses. */
const ownerAlone = 0o600

/** Begins the file anew, readable by its user alone. Throws a CommandError when it cannot be written. */
export async function openLogFile(folder: string): Promise<LogFile> {
  const path = join(folder, 'demo.log')
  const stream = await mkdir(folder, { recursive: true })
    .then(() => open(path, 'w', ownerAlone))
    // One that was there keeps its rights otherwise.
    .then(file => file.chmod(ownerAlone).then(() => file.createWriteStream()))
    .catch((cause: unknown) => {
      const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
      throw new CommandError(
        `${path} cannot be written (${reason}): choose another directory with --data-dir`,
        1,
        { cause },
      )
    })
  // A full disk must not end the demo.
  stream.on('error', () => {})
  let warnings = 0
  let errors = 0
  return {
    path,
    write: line => {
      if (line.startsWith('{"level":"warn"')) warnings += 1
      if (line.startsWith('{"level":"error"')) errors += 1
      stream.write(line)
    },
    counts: () => ({ warnings, errors }),
    close: () => new Promise(resolve => stream.end(resolve)),
  }
}

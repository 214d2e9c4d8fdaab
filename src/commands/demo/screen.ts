import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Figures, Summary } from '../../../sandbox/src/index.ts'
import { countText } from '../../telemetry/wording.ts'
import { CommandError } from '../cli/exit.ts'
import { type Colour, textTable } from '../cli/output.ts'

export function head(running: {
  /** What is running, as a sentence. */
  readonly classes: string
  readonly url: string
  readonly databaseUrl: string
  readonly dataDir: string
  readonly logPath: string
  /** When it ends, as a sentence. */
  readonly ends: string
}): readonly string[] {
  const { url, databaseUrl, dataDir, logPath } = running
  const elsewhere = dataDir === '.penstock' ? '' : ` --data-dir ${dataDir}`
  return [
    '',
    running.classes,
    '',
    `  page     ${url}/`,
    `  status   ${url}/status`,
    `  metrics  ${url}/metrics`,
    `  sql      npx penstock sql --demo${elsewhere}`,
    `  psql     psql ${databaseUrl}`,
    `  log      ${logPath}`,
    '',
    running.ends,
    '',
    progressHeader,
  ]
}

/** Columns of progress with their widths; one line fits a terminal of 80. A row that is told anew is written anew. */
const columns = [
  ['rows/s', 7],
  ['written', 11],
  ['lag s', 7],
  ['rooms open', 12],
  ['ended', 7],
  ['gaps', 6],
  ['dead letters', 14],
  ['violations', 12],
] as const

const progressHeader = columns.map(([name, width]) => name.padStart(width)).join('')

export function progressLine(
  figures: Figures,
  beside: { readonly rowsPerSecond: number; readonly lag: number | undefined; readonly violations: number },
): string {
  const { rows, roomsOpen, roomsEnded, gaps, deadLetters } = figures
  const lag = beside.lag === undefined ? '-' : beside.lag.toFixed(1)
  const counts = [roomsOpen, roomsEnded, gaps, deadLetters, beside.violations].map(countText)
  const cells = [countText(Math.round(beside.rowsPerSecond)), countText(rows), lag, ...counts]
  return columns.map(([, width], column) => cells[column]!.padStart(width)).join('')
}

/** What a look at the line should find first: a rule that was broken, then what is missing. */
export function progressColour({ gaps, deadLetters }: Figures, violations: number): Colour {
  if (violations > 0) return 'red'
  return gaps > 0 || deadLetters > 0 ? 'yellow' : 'green'
}

/** The end of a demo, for people. */
export function summaryLines(summary: Summary, log: { readonly path: string; readonly counts: string }) {
  const tables = Object.entries(summary.rows).map(([table, count]) => [table, count] as const)
  const total = tables.reduce((sum, [, count]) => sum + count, 0)
  const lag = summary.lag_seconds === null ? '-' : `${summary.lag_seconds} s`
  return [
    '',
    ...textTable(['table', 'rows'], [...tables, ['total', total]]),
    '',
    `requests ${countText(summary.requests)}, of which ${summary.violations} broke a rule of the provider`,
    `lost ${summary.lost}, duplicates ${summary.duplicates} (Postgres held against all that happened in the school)`,
    `dead letters ${summary.dead_letters}, gaps ${summary.gaps}, lag ${lag} (95 % of the events came faster)`,
    `log ${log.path}: ${log.counts}`,
  ]
}

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

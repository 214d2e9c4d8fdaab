import { loadConfig } from '../config/load.ts'
import { readStatus, type StoreStatus } from '../postgres/status.ts'
import { countText, printLines, textTable } from './cli/output.ts'
import { withDatabase } from './wiring/database.ts'

interface StatusOptions {
  readonly config: string
  readonly json?: boolean
}

/** Tells from the database how large the backlog is, how late it is, and what is missing; the daemon need not run. */
export async function status(options: StatusOptions): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const found = await withDatabase(config, { isPrepared: true, role: '' }, readStatus)
  if (options.json) printLines([JSON.stringify({ running: isRunning(found), ...found })])
  else printLines(statusLines(found))
}

function isRunning({ owners }: StoreStatus): boolean {
  return owners.length > 0
}

/** The status for people. */
function statusLines(status: StoreStatus): readonly string[] {
  const { streams, rooms, backlog, gaps, deadLetters } = status
  return [
    ...ownerLines(status),
    '',
    ...part(
      'nothing has been drained yet',
      ['app', 'stream', 'followed', 'closed', 'backlog', 'last commit', 'longest ago'],
      streams.map(each => {
        const { app, stream, open, closed, backlog, lastCommit, oldestSeconds } = each
        return [
          app,
          stream,
          open,
          closed,
          backlog,
          lastCommit,
          oldestSeconds === null ? null : ago(oldestSeconds),
        ]
      }),
    ),
    '',
    ...part(
      'no rooms are known',
      ['app', 'state of room', 'rooms'],
      rooms.map(each => [each.app, each.state, each.rooms]),
    ),
    '',
    ...part(
      'no stream of call analytics has been begun',
      ['app', 'stream by time', 'backlog', 'never read', 'parts in backlog', 'oldest', 'lost', 'parts lost'],
      backlog.map(each => [
        ...[each.app, each.stream, length(each.seconds), length(each.unreadSeconds), each.items],
        ...[each.oldest, length(each.lostSeconds), each.lostItems],
      ]),
    ),
    '',
    ...part(
      'no gaps',
      ['app', 'stream', 'state of gap', 'reason', 'gaps', 'recoverable until'],
      gaps.map(each => [each.app, each.stream, each.state, each.reason, each.gaps, each.recoverableUntil]),
    ),
    '',
    ...part(
      'no dead letters',
      ['app', 'stream', 'reason', 'dead letters', 'last seen'],
      deadLetters.map(each => [each.app, each.stream, each.reason, each.letters, each.lastSeen]),
    ),
    ...(status.divergences > 0
      ? ['', `${countText(status.divergences)} divergences wait in ingest.divergence`]
      : []),
  ]
}

function ownerLines(status: StoreStatus): readonly string[] {
  if (!isRunning(status))
    return [`${status.now}: no daemon runs on this database; this is how the last one left it`]
  return status.owners.map(({ owner, shards }) => `${status.now}: ${owner} runs and owns ${shards} shards`)
}

function part(
  empty: string,
  header: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): readonly string[] {
  return rows.length === 0 ? [empty] : textTable(header, rows)
}

const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const

/** The same of a length of time; nothing is a dash. */
function length(seconds: number): string | null {
  return seconds === 0 ? null : ago(seconds)
}

/** Seconds in the largest unit of which there is at least one. */
function ago(seconds: number): string {
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

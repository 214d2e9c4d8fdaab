import { systemClock } from '../clock/system.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import type { BacklogStatus, StoreStatus } from '../engine/ports.ts'
import { readStatus } from '../postgres/status.ts'
import type { Facts, PauseOf } from '../telemetry/delays.ts'
import { judge, type Verdict } from '../telemetry/verdict.ts'
import { countOf, countText, duration } from '../telemetry/wording.ts'
import { appSettings, restOf } from './app-settings.ts'
import { exitFailed, Told, untilToldToStop } from './cli/exit.ts'
import type { ReportOptions } from './cli/options.ts'
import { bar, isColourful, paint, printLines, textTable } from './cli/output.ts'
import { addressOf, ask } from './healthcheck.ts'
import { withDatabase } from './wiring/database.ts'

interface StatusOptions extends ReportOptions {
  /** Goes on: draws anew on a terminal, else prints the verdict whenever its state changes. */
  readonly watch?: boolean
  /** Prints the verdict alone, and fails unless it is well or starting. */
  readonly check?: boolean
}

/**
 * Tells how it goes: from the database, and from the daemon beside it what that sees by itself. The daemon need not
 * run, and where one answers, the database need not.
 */
export async function status({ config: path, json, check, watch }: StatusOptions): Promise<void> {
  const config = await loadConfig(path, { env: process.env })
  if (watch) return await watchStatus(config)
  const { verdict, ...facts } = await readFacts(config, () => withDatabase(config, databaseUse, readStatus))
  if (json) printLines([JSON.stringify({ verdict, running: (facts.owners ?? []).length > 0, ...facts })])
  else
    printLines([
      verdictLine(verdict, isColourful()),
      ...(check ? [] : ['', ...budgetLines(facts), ...statusLines(facts)]),
    ])
  if (check && verdict.state !== 'well' && verdict.state !== 'starting') throw new Told(exitFailed)
}

type Judged = Facts & { readonly verdict: Verdict; readonly databaseAnswers?: boolean }

const databaseUse = { isPrepared: true, isReading: true, role: '' } as const

async function readFacts(config: Config, read: () => Promise<StoreStatus>): Promise<Judged> {
  const [store, daemon] = await Promise.all([
    read().catch((error: unknown) => ({ error })),
    askDaemon(config),
  ])
  if (!('error' in store)) {
    // Another daemon may have the address, of another database.
    const isItsOwner = store.owners.some(({ owner }) => owner === daemon?.process?.owner)
    const at = new Date(systemClock.now()).toISOString()
    const facts = { at, databaseAwaySince: null, ...(isItsOwner && { process: daemon?.process }), ...store }
    return { verdict: judge(facts, pausesOf(config)), ...facts }
  }
  // One that does reach its database has another one.
  if (!daemon || daemon.databaseAnswers) throw store.error
  return daemon
}

/** Of apps that were taken out of the configuration nobody stores anything, and that is well. */
function pausesOf(config: Config): PauseOf {
  const known = new Map(config.apps.map(app => [app.id, appSettings(config, app)]))
  return (id, stream) => {
    const app = known.get(id)
    return app && restOf(app, stream)
  }
}

/** What the daemon of this configuration says of itself; undefined where none answers. */
async function askDaemon({ http }: Config): Promise<Judged | undefined> {
  if (http.listen.port === 0) return undefined
  try {
    const said = JSON.parse(await ask(`${addressOf(http.listen)}/status`)) as Partial<Judged>
    return said.verdict && said.process ? (said as Judged) : undefined
  } catch {
    return undefined
  }
}

/** How often it is drawn anew, ms. */
const watchEvery = 2_000

const home = '\u001b[H\u001b[2J'

/** Until it is told to stop, or nobody looks any more. */
async function watchStatus(config: Config): Promise<void> {
  const ended = new AbortController()
  void untilToldToStop().then(() => ended.abort())
  await withDatabase(config, databaseUse, async pool => {
    let last: string | undefined
    while (!ended.signal.aborted) {
      const judged = await readFacts(config, () => readStatus(pool)).catch(unknown)
      if (process.stdout.isTTY) process.stdout.write(`${home}${frame(judged, process.stdout).join('\n')}`)
      else if (judged.verdict.state !== last)
        printLines([`${judged.at}  ${verdictLine(judged.verdict, false)}`])
      last = judged.verdict.state
      await systemClock.sleep(watchEvery, ended.signal)
    }
  })
  if (process.stdout.isTTY) process.stdout.write('\n')
}

/** Neither the database nor a daemon answered. */
function unknown(): Judged {
  const at = new Date(systemClock.now()).toISOString()
  const sentence = 'Neither the database nor a daemon answers.'
  return { verdict: { state: 'stopped', sentence }, at, databaseAwaySince: at }
}

/** What fits a terminal: a line that wraps, or one too many, would push the verdict out of sight. */
export function frame(
  { verdict, ...facts }: Judged,
  { columns = 80, rows = 24 }: { readonly columns?: number; readonly rows?: number },
): readonly string[] {
  const [first, ...more] = folded(`${verdict.state.toUpperCase().padEnd(8)}  ${verdict.sentence}`, columns)
  const head = [first!, ...more].map(line => paint(colours[verdict.state], line, isColourful()))
  const rest = [...budgetLines(facts), ...statusLines(facts)].map(line => line.slice(0, columns - 1))
  return [...head, '', ...rest].slice(0, rows - 1)
}

/** A text in lines of at most so many characters, broken at spaces. */
function folded(text: string, columns: number): readonly string[] {
  return text.match(new RegExp(`.{1,${columns - 1}}(?: |$)`, 'g')) ?? [text]
}

/** Each budget as a bar, with the pace at which it is spent; nothing where no daemon tells. */
function budgetLines({ process }: Facts): readonly string[] {
  if (!process || process.budgets.length === 0) return []
  const rows = process.budgets.map(({ group, usedRatio, pace }) => [
    ...[group, bar(usedRatio), `${Math.round(usedRatio * 100)} %`, `${pace.toFixed(1)} times an even pace`],
  ])
  return [...textTable(['budget of a day', 'used', '', 'spent at'], rows), '']
}

function verdictLine({ state, sentence }: Verdict, colourful: boolean): string {
  return paint(colours[state], `${state.toUpperCase().padEnd(8)}  ${sentence}`, colourful)
}

const colours = {
  well: 'green',
  starting: 'blue',
  behind: 'yellow',
  losing: 'magenta',
  stopped: 'red',
} as const

/** The status for people. */
function statusLines(status: Facts): readonly string[] {
  const { streams = [], rooms = [], backlog = [], gaps = [], deadLetters = [], divergences = 0 } = status
  return [
    ...ownerLines(status),
    '',
    ...part(
      'nothing has been drained yet',
      ['app', 'stream', 'followed', 'closed', 'backlog', 'last commit', 'longest ago'],
      streams.map(each => [
        ...[each.app, each.stream, each.open, each.closed, each.backlog, each.lastCommit],
        each.oldestSeconds === null ? null : duration(each.oldestSeconds),
      ]),
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
      ['app', 'stream by time', 'backlog', 'longest', 'never read', 'oldest', 'lost'],
      backlog.map(backlogRow),
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
    ...(divergences > 0 ? ['', `${countText(divergences)} divergences wait in ingest.divergence`] : []),
  ]
}

/** What one series has of it at most: a sum over hundreds of them is no time that anybody knows. */
function backlogRow({ app, stream, series, items, oldest, lostItems, ...longest }: BacklogStatus) {
  if (items > 0 || lostItems > 0) return [app, stream, parts(items), null, null, oldest, parts(lostItems)]
  const { longestSeconds, longestUnreadSeconds, longestLostSeconds } = longest
  const lengths = [longestSeconds, longestUnreadSeconds].map(length)
  return [app, stream, `${countText(series)} series`, ...lengths, oldest, length(longestLostSeconds)]
}

function parts(items: number): string | null {
  return items === 0 ? null : `${countOf(items, 'part')} of calls`
}

function ownerLines({ at, now = at, owners = [], replicaAt }: Facts): readonly string[] {
  const by = replicaAt
    ? [`${now}: told by a read replica, which has seen what was written until ${replicaAt}`]
    : []
  if (owners.length === 0)
    return [...by, `${now}: no daemon runs on this database; this is how the last one left it`]
  return [...by, ...owners.map(({ owner, shards }) => `${now}: ${owner} runs and owns ${shards} shards`)]
}

function part(
  empty: string,
  header: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): readonly string[] {
  return rows.length === 0 ? [empty] : textTable(header, rows)
}

/** Nothing is a dash. */
function length(seconds: number): string | null {
  return seconds === 0 ? null : duration(seconds)
}

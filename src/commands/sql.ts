import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { systemClock } from '../clock/system.ts'
import { loadConfig } from '../config/load.ts'
import { type AddressKey, connect, connectionProblem } from '../postgres/connect.ts'
import { type Answered, Console, describing, mayTakeRole, StatementRefused } from '../postgres/console.ts'
import { hasMigrations } from '../postgres/migrate.ts'
import { type Statement, split, statementsOf } from '../postgres/sql-text.ts'
import { countText } from '../telemetry/wording.ts'
import { CommandError, exitUsage } from './cli/exit.ts'
import { printLines, textTable, widthOf } from './cli/output.ts'
import { notPrepared, openDatabase } from './wiring/database.ts'
import { loadEmbeddedPostgres } from './wiring/installation.ts'

interface SqlOptions {
  readonly config: string
  /** Statements to run one after the other, each text by itself. */
  readonly command: readonly string[]
  readonly file?: string
  /** The database of the demo instead of that of a configuration. */
  readonly demo?: boolean
  readonly dataDir: string
  /** Another database altogether. */
  readonly url?: string
  readonly write?: boolean
  readonly json?: boolean
}

/** What members of penstock_read may see, and nothing else. */
const reader = 'penstock_read'

/** A question of a person may take longer than a statement of the daemon, ms. */
const patience = 300_000

/** Runs statements and prints what each answers; without any, those that are typed or come on standard input. */
export async function sql(query: string | undefined, options: SqlOptions): Promise<void> {
  const texts = query === undefined ? options.command : [query, ...options.command]
  const input = await inputOf(texts, options)
  const { url, key, role, stop } = await databaseOf(options)
  const connection = { url, poolSize: 1, statementTimeout: patience, lockTimeout: 10_000, role: '' }
  let pool = connect(connection)
  try {
    const problem = await connectionProblem(pool, key)
    if (problem) throw new CommandError(problem)
    if (options.url === undefined && !(await hasMigrations(pool))) throw new CommandError(notPrepared)
    const taken = options.write ? role : (await mayTakeRole(pool, reader)) ? reader : role
    await pool.end()
    pool = connect({ ...connection, role: taken })
    const session = new Console(pool, { isReadOnly: !options.write })
    try {
      const printer = new Printer(session, options, { asked: taken, writing: role })
      if (texts.length === 0) await converse(printer, input, options, taken)
      for (const text of texts) await runText(printer, session, text, options)
    } finally {
      session.close(true)
    }
  } finally {
    await pool.end()
    await stop()
  }
}

/** Where statements come from that the command line does not give. Throws CommandError. */
async function inputOf(
  given: readonly string[],
  { file }: SqlOptions,
): Promise<NodeJS.ReadableStream & { readonly isTTY?: boolean }> {
  if (file === undefined) return process.stdin
  if (given.length > 0) throw new CommandError('give statements or --file, not both', exitUsage)
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandError(error.message, exitUsage)
  })
  return Readable.from([text])
}

interface Opened {
  readonly url: string
  readonly key?: AddressKey
  /** The role of the daemon. */
  readonly role: string
  readonly stop: () => Promise<void>
}

async function databaseOf({ config: path, demo, dataDir, url }: SqlOptions): Promise<Opened> {
  if (url !== undefined) return { url, key: '--url', role: '', stop: async () => {} }
  if (demo) {
    const { startEmbedded } = await loadEmbeddedPostgres()
    const started = await startEmbedded({ dataDir, clock: systemClock, whenOwned: 'join' })
    const address = new URL(started.url)
    address.pathname = '/demo'
    return { url: address.href, role: '', stop: started.stop }
  }
  const config = await loadConfig(path, { env: process.env })
  const database = await openDatabase(config, 'join')
  const key = config.database.directUrl ? 'database.directUrl' : 'database.url'
  return { ...database, key, role: config.database.role }
}

/** Statements of which one begins or ends a transaction are in those, and in none of ours. */
const ofTransactions = /^(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare)\b/i

/** As whom statements are asked, and as whom they would be with --write; empty is the login itself. */
interface Roles {
  readonly asked: string
  readonly writing: string
}

/** One text is one transaction, as psql has it, so that what is refused leaves nothing half done. */
async function runText(
  printer: Printer,
  session: Console,
  text: string,
  { write }: SqlOptions,
): Promise<void> {
  const described = describedBy(text)
  const statements = described === undefined ? statementsOf(text) : [{ text: described, line: 1 }]
  const isOne = write && statements.length > 1 && !statements.some(one => ofTransactions.test(one.text))
  if (isOne) await session.run('begin')
  printer.begin(statements.length > 1)
  for (const statement of statements) await printer.run(statement)
  if (isOne) await session.run('commit')
}

/** What \\d stands for; undefined of anything else. */
function describedBy(text: string): string | undefined {
  const [, name] = /^\s*\\d(?:\s+(\S+?))?\s*;?\s*$/.exec(text) ?? []
  return /^\s*\\d(?:\s|;|$)/.test(text) ? describing(name) : undefined
}

/** Runs statements and prints what they answer, an empty line between two. */
class Printer {
  readonly #session: Console
  readonly #options: SqlOptions
  readonly #roles: Roles
  /** Whether a statement is one of several, and is named by its place. */
  #isNumbered = false
  #place = 0
  #hasPrinted = false

  constructor(session: Console, options: SqlOptions, roles: Roles) {
    this.#session = session
    this.#options = options
    this.#roles = roles
  }

  begin(isNumbered: boolean): void {
    this.#isNumbered = isNumbered
    this.#place = 0
  }

  /** Throws CommandError with what Postgres says where it refuses. */
  async run(statement: Statement): Promise<void> {
    this.#place += 1
    const { write, json } = this.#options
    try {
      for (const answered of await this.#session.run(statement.text)) {
        // Of several, those that answer no rows would be nothing to whoever reads JSON.
        if (json && this.#isNumbered && answered.columns.length === 0) continue
        if (this.#hasPrinted && !json) printLines([''])
        printLines(json ? [toJson(answered)] : linesOf(answered))
        this.#hasPrinted = true
      }
    } catch (error) {
      if (!(error instanceof StatementRefused)) throw error
      const { message, position } = error
      const place = this.#isNumbered ? `statement ${this.#place}, line ${lineOf(statement, position)}: ` : ''
      const caret = position === undefined ? '' : `\n${pointTo(statement, position)}`
      throw new CommandError(`${place}${write ? message : hinted(message, this.#roles)}${caret}`, 1, {
        cause: error,
      })
    }
  }
}

/** What --write would change is told, and not whether that is enough: whose rights these are knows Postgres alone. */
function hinted(message: string, { asked, writing }: Roles): string {
  const writer = writing || 'the login itself'
  if (/read-only transaction/.test(message)) return `${message} (--write allows what ${writer} may)`
  if (asked === writing || !/permission denied/.test(message)) return message
  return `${message} (asked as ${asked}; with --write it is ${writer})`
}

function linesOf({ command, count, columns, rows }: Answered): readonly string[] {
  if (columns.length === 0) return [count === null ? command : `${command} ${countText(count)}`]
  const cells = rows.map(row =>
    row.map((value, n) =>
      value === null ? null : columns[n]!.kind === 'number' ? numberCell(value) : value,
    ),
  )
  const header = columns.map(({ name }) => name)
  return [...textTable(header, cells), `(${countText(rows.length)} row${rows.length === 1 ? '' : 's'})`]
}

/** As a number where no digit is lost. */
function numberCell(value: string): string | number {
  return /^-?\d{1,15}$/.test(value) ? Number(value) : value
}

/** Numbers and JSON as Postgres writes them: read and written again they might lose digits. */
function toJson({ columns, rows }: Answered): string {
  const cell = (value: string | null, kind: Answered['columns'][number]['kind']) => {
    if (value === null || kind === 'json') return value
    if (kind === 'boolean') return String(value === 't')
    return kind === 'number' && Number.isFinite(Number(value)) ? value : JSON.stringify(value)
  }
  const objects = rows.map(row =>
    columns.map(({ name, kind }, n) => `${JSON.stringify(name)}:${cell(row[n]!, kind)}`),
  )
  return `[${objects.map(members => `{${members.join(',')}}`).join(',')}]`
}

/** Reads statements, each ended by a semicolon, until \\q or the end; a refused one ends only what is not a terminal. */
async function converse(
  printer: Printer,
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean },
  options: SqlOptions,
  role: string,
): Promise<void> {
  const isTerminal = input.isTTY === true
  const lines = createInterface({ input, ...(isTerminal && { output: process.stdout }) })
  const prompt = (open: boolean) => {
    lines.setPrompt(open ? '      -> ' : 'penstock> ')
    if (isTerminal) lines.prompt()
  }
  if (isTerminal)
    printLines([
      `${options.write ? 'Writes are allowed' : 'Nothing can be changed'}${role ? `, as ${role}` : ''}. \\d lists tables and views, \\d NAME the columns of one, \\q ends.`,
    ])
  printer.begin(!isTerminal)
  const run = (statement: Statement) =>
    printer.run(statement).catch((error: unknown) => {
      if (!isTerminal || !(error instanceof CommandError)) throw error
      process.stderr.write(`${error.message}\n`)
    })
  let text = ''
  let [begin, at] = [1, 0]
  prompt(false)
  for await (const line of lines) {
    at += 1
    if (text === '' && line.trim() === '\\q') break
    const described = text === '' ? describedBy(line) : undefined
    if (text === '') begin = at
    text += described === undefined ? `${line}\n` : ''
    if (described !== undefined) await run({ text: described, line: at })
    else if (line.includes(';') || begin === at) {
      const { statements, rest, restLine } = split(text, begin)
      for (const statement of statements) await run(statement)
      ;[text, begin] = [rest, restLine]
    }
    // What is typed begins anew with each statement.
    if (isTerminal && text === '') at = 0
    prompt(text !== '')
  }
  lines.close()
  const { rest, restLine } = split(text, begin)
  if (rest !== '') await run({ text: rest.trimEnd(), line: restLine })
}

/** Of a line that is longer, so many signs are shown about a place. */
const mostShown = 100

/** The line of a statement that Postgres stumbled over, as psql shows it, with a caret under the place; from 1, in signs. */
export function pointTo({ text, line }: Statement, position: number): string {
  const signs = [...text]
  const before = signs.slice(0, position - 1)
  const begin = before.lastIndexOf('\n') + 1
  const end = signs.indexOf('\n', begin)
  const from = Math.max(begin, position - 1 - mostShown / 2)
  const shown = signs.slice(from, Math.min(end === -1 ? signs.length : end, from + mostShown))
  const head = `LINE ${lineOf({ text, line }, position)}: ${from > begin ? '...' : ''}`
  const plain = (part: readonly string[]) => part.join('').replaceAll(/\s/g, ' ')
  const space = ' '.repeat(widthOf(head + plain(before.slice(from))))
  return `${head}${plain(shown)}\n${space}^`
}

export function lineOf({ text, line }: Statement, position = 1): number {
  return line + [...text].slice(0, position - 1).filter(sign => sign === '\n').length
}

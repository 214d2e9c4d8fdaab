import { createInterface } from 'node:readline'
import type pg from 'pg'
import { systemClock } from '../clock/system.ts'
import { loadConfig } from '../config/load.ts'
import { connect, connectionProblem } from '../postgres/connect.ts'
import {
  type Answered,
  describing,
  mayTakeRole,
  runStatement,
  StatementRefused,
} from '../postgres/console.ts'
import { hasMigrations } from '../postgres/migrate.ts'
import { CommandError } from './cli/exit.ts'
import { countText, printLines, textTable } from './cli/output.ts'
import { notPrepared, openDatabase } from './wiring/database.ts'
import { loadEmbeddedPostgres } from './wiring/installation.ts'

interface SqlOptions {
  readonly config: string
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

/** Runs a query and prints what it answers; without one, those that are typed or come on standard input. */
export async function sql(query: string | undefined, options: SqlOptions): Promise<void> {
  const { url, role, stop } = await databaseOf(options)
  const connection = { url, poolSize: 1, statementTimeout: patience, lockTimeout: 10_000, role: '' }
  let pool = connect(connection)
  try {
    const problem = await connectionProblem(pool)
    if (problem) throw new CommandError(problem)
    if (options.url === undefined && !(await hasMigrations(pool))) throw new CommandError(notPrepared)
    const taken = options.write ? role : (await mayTakeRole(pool, reader)) ? reader : role
    await pool.end()
    pool = connect({ ...connection, role: taken })
    if (query !== undefined) await run(pool, query, options)
    else await converse(pool, options, taken)
  } finally {
    await pool.end()
    await stop()
  }
}

interface Opened {
  readonly url: string
  /** The role of the daemon. */
  readonly role: string
  readonly stop: () => Promise<void>
}

async function databaseOf({ config: path, demo, dataDir, url }: SqlOptions): Promise<Opened> {
  if (url !== undefined) return { url, role: '', stop: async () => {} }
  if (demo) {
    const { startEmbedded } = await loadEmbeddedPostgres()
    const started = await startEmbedded({ dataDir, clock: systemClock, whenOwned: 'join' })
    const address = new URL(started.url)
    address.pathname = '/demo'
    return { url: address.href, role: '', stop: started.stop }
  }
  const config = await loadConfig(path, { env: process.env })
  const database = await openDatabase(config, 'join')
  return { ...database, role: config.database.role }
}

/** Throws CommandError with what Postgres says where it refuses. */
async function run(pool: pg.Pool, text: string, { write, json }: SqlOptions): Promise<void> {
  try {
    const answered = await runStatement(pool, text, { isReadOnly: !write })
    printLines(json ? [toJson(answered)] : linesOf(answered))
  } catch (error) {
    if (error instanceof StatementRefused)
      throw new CommandError(hinted(error.message, write), 1, { cause: error })
    throw error
  }
}

function hinted(message: string, write = false): string {
  return !write && /read-only transaction|permission denied/.test(message)
    ? `${message} (--write lets it write)`
    : message
}

function linesOf({ command, count, columns, rows }: Answered): readonly string[] {
  if (columns.length === 0) return [`${command} ${countText(count)}`]
  const cells = rows.map(row =>
    row.map((value, n) =>
      value === null ? null : columns[n]!.kind === 'number' ? numberCell(value) : value,
    ),
  )
  const header = columns.map(({ name }) => name)
  return [...textTable(header, cells), `(${countText(count)} row${count === 1 ? '' : 's'})`]
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
async function converse(pool: pg.Pool, options: SqlOptions, role: string): Promise<void> {
  const isTerminal = process.stdin.isTTY === true
  const lines = createInterface({ input: process.stdin, ...(isTerminal && { output: process.stdout }) })
  const prompt = (open: boolean) => {
    lines.setPrompt(open ? '      -> ' : 'penstock> ')
    if (isTerminal) lines.prompt()
  }
  if (isTerminal)
    printLines([
      `${options.write ? 'Writes are allowed' : 'Nothing can be changed'}${role ? `, as ${role}` : ''}. \\d lists tables and views, \\d NAME the columns of one, \\q ends.`,
    ])
  let text = ''
  prompt(false)
  for await (const line of lines) {
    const [command, name] = line.trim().split(/\s+/)
    if (text === '' && command === '\\q') break
    text = text === '' && command === '\\d' ? `${describing(name)};` : `${text}${line}\n`
    if (text.trim() === '') text = ''
    if (text.trimEnd().endsWith(';')) {
      const statement = text
      text = ''
      await run(pool, statement, options).catch((error: unknown) => {
        if (!isTerminal || !(error instanceof CommandError)) throw error
        process.stderr.write(`${error.message}\n`)
      })
    }
    prompt(text !== '')
  }
  lines.close()
  if (text.trim() !== '') await run(pool, text, options)
}

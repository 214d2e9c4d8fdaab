import type pg from 'pg'
import { RefusedRows, StoreUnavailable, type TimeLimit } from '../engine/ports.ts'

/**
 * SQLSTATE classes that speak of the values of a statement: a key twice in one page, data exception, constraint,
 * program limit.
 */
const refusingClasses = new Set(['21', '22', '23', '54'])

/** Where an error comes from. */
interface Origin {
  readonly name?: string | undefined
  readonly text?: string
  /** The session, where what ended it may have come before the statement. */
  readonly client?: pg.ClientBase
}

/** What ended a session while it had nothing to do. */
const endings = new WeakMap<pg.ClientBase, unknown>()

/** Remembers why a session ended, for the next statement, which learns no more than that it did. */
export function noteEnding(client: pg.ClientBase): void {
  client.once('error', error => endings.set(client, error))
  client.on('error', () => {})
}

/**
 * Names what a failed statement means for the engine. Nothing of the database's own text leaves this function: its
 * detail prints whole rows, chat included.
 */
export function storeError(error: unknown, origin: Origin = {}): RefusedRows | StoreUnavailable {
  const { client } = origin
  const ending = client && sqlState(error) === undefined ? endings.get(client) : undefined
  const reason = ending ?? error
  const statement = nameOf(origin)
  const code = sqlState(reason)
  if (code && refusingClasses.has(code.slice(0, 2))) return new RefusedRows(code, statement)
  return new StoreUnavailable(code ?? driverCode(reason), { statement, timeout: timeLimit(code, reason) })
}

/** SQLSTATE of an error; undefined where the connection broke, which also leaves a COMMIT's outcome unknown. */
export function sqlState(error: unknown): string | undefined {
  const code = codeOf(error)
  return code && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code) ? code : undefined
}

/** What the driver or the system calls it: ECONNRESET and the like. */
function driverCode(error: unknown): string | undefined {
  const code = codeOf(error)
  return code && /^[A-Z][A-Z0-9_]{2,39}$/.test(code) ? code : undefined
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

const serverLimits: ReadonlyMap<string, TimeLimit> = new Map([
  ['57014', 'statement_timeout'],
  ['55P03', 'lock_timeout'],
  ['25P03', 'idle_in_transaction_session_timeout'],
])

/** The words of the driver, which gives its own limits no code. */
const clientLimits: ReadonlyMap<string, TimeLimit> = new Map([
  ['Query read timeout', 'query'],
  ['timeout expired', 'connection'],
  ['timeout exceeded when trying to connect', 'connection'],
  ['Connection terminated due to connection timeout', 'connection'],
])

function timeLimit(code: string | undefined, error: unknown): TimeLimit | undefined {
  const text = error instanceof Error ? error.message : ''
  if (code === undefined) return clientLimits.get(text)
  // Somebody may also cancel a statement.
  return code === '57014' && text.includes('user request') ? undefined : serverLimits.get(code)
}

/** The name of a statement, or of one that has none its verb and the first table or function that it names. */
function nameOf({ name, text = '' }: Origin): string | undefined {
  if (name) return name
  const verb = /^\s*(?:with\b[\s\S]*?\b)?(select|insert|update|delete|begin|commit|rollback)\b/i.exec(
    text,
  )?.[1]
  const object = /\b(?:ingest(?:_jobs)?|classroom|analytics|players)\.\w+/.exec(text)?.[0]
  return [verb?.toLowerCase(), object].filter(Boolean).join(' ') || undefined
}

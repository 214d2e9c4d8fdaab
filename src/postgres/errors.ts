import { RefusedRows, StoreUnavailable } from '../engine/ports.ts'

/**
 * SQLSTATE classes that speak of the values of a statement: a key twice in one page, data exception, constraint,
 * program limit.
 */
const refusingClasses = new Set(['21', '22', '23', '54'])

/**
 * Names what a failed statement means for the engine. The database's own text never leaves this function: its
 * detail prints whole rows, chat included.
 */
export function storeError(error: unknown): RefusedRows | StoreUnavailable {
  const code = sqlState(error)
  if (code && refusingClasses.has(code.slice(0, 2))) return new RefusedRows(code)
  return new StoreUnavailable(code, error instanceof Error ? new Error(error.name) : undefined)
}

/** SQLSTATE of an error; undefined where the connection broke, which also leaves a COMMIT's outcome unknown. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

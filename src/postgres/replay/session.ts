import type pg from 'pg'
import { storeError } from '../errors.ts'

/** One life of a room: everything in a room is kept under these three. */
export interface Incarnation {
  readonly app: string
  readonly room: string
  readonly incarnation: number
}

/** Runs one statement in the session; every failure is a RefusedRows or a StoreUnavailable. */
export type Ask = <Row extends object>(statement: {
  readonly name?: string
  readonly text: string
  readonly values: unknown[]
}) => Promise<readonly Row[]>

export function askOf(client: pg.ClientBase): Ask {
  return async <Row extends object>(statement: Parameters<Ask>[0]) => {
    try {
      return (await client.query(statement)).rows as readonly Row[]
    } catch (error) {
      throw storeError(error, { ...statement, client })
    }
  }
}

const begin = 'begin isolation level repeatable read'

/** `look` leaves nothing behind that must outlive a crash, so nothing waits for the disk. */
const beginnings = { look: `${begin}; set local synchronous_commit = off`, change: begin } as const

/** All that `work` asks sees the database as it was at one moment. What it throws undoes what it did. */
export async function atOneMoment<T>(
  ask: Ask,
  purpose: 'look' | 'change',
  work: () => Promise<T>,
): Promise<T> {
  await ask({ text: beginnings[purpose], values: [] })
  try {
    const result = await work()
    await ask({ text: 'commit', values: [] })
    return result
  } catch (error) {
    // A session that broke has undone it already.
    await ask({ text: 'rollback', values: [] }).catch(() => {})
    throw error
  }
}

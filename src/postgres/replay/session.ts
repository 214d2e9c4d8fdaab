import type pg from 'pg'
import { encodeText } from '../encode.ts'
import { storeError } from '../errors.ts'
import { bind, statement } from '../statement.ts'

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

const progress = `from ingest.progress p where p.app_id = :app and p.series = :room and p.stream = any(:streams)`

/**
 * Equal marks mean equal raw rows; `streams` are those that write what is derived, and raw rows that come from a log. Every commit of a log raises the version of its progress; the feed only adds
 * events, and no event is ever taken away. Who is forgotten is masked in raw rows where they are: each then has another
 * transaction, a later one.
 */
const readStatement = statement(
  'replay_mark',
  `select concat_ws(' ',
     (select string_agg(p.stream || '=' || p.version, ' ' order by p.stream) ${progress}),
     (select concat(count(*), '=', sum(e.xmin::text::bigint)) from classroom.room_event e where ${atPlace('e')}),
     (select concat(count(*), '=', sum(w.xmin::text::bigint)) from classroom.widget_event w where ${atPlace('w')})) as mark`,
)

/** The rows that a commit of a log moves before it writes anything: whoever holds them keeps those commits out. */
const lockStatement = statement('replay_lock', `select 1 ${progress} order by p.stream for no key update`)

export async function readMark(ask: Ask, streams: readonly string[], place: Incarnation): Promise<string> {
  const [row] = await ask<{ mark: string }>(bind(readStatement, { ...placeValues(place), streams }))
  return row!.mark
}

/** The raw rows, which forgetting masks before all that is derived from them: it waits, and finds what was derived meanwhile. */
const lockRawStatement = statement(
  'replay_lock_raw',
  `select (select count(*) from (select from classroom.room_event e where ${atPlace('e')} for share) e),
          (select count(*) from (select from classroom.widget_event w where ${atPlace('w')} for share) w)`,
)

/** Throws when another one holds them, or has moved them since the transaction began. */
export async function lockLogs(ask: Ask, streams: readonly string[], place: Incarnation): Promise<void> {
  await ask(bind(lockStatement, { app: place.app, room: placeValues(place).room, streams }))
  await ask(bind(lockRawStatement, placeValues(place)))
}

/** Values that name an incarnation in a statement. */
export function placeValues({ app, room, incarnation }: Incarnation) {
  return { app, room: encodeText(room), incarnation }
}

/** Columns that the key of every table in a room begins with. */
export const placeColumns = ['app_id', 'room_uuid', 'incarnation'] as const

/** A moment as ms since the epoch. */
export const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::double precision`

/** Restricts a table to one incarnation of a room; `t` is its name in the statement. */
export function atPlace(t: string): string {
  return `${t}.app_id = :app and ${t}.room_uuid = :room and ${t}.incarnation = :incarnation`
}

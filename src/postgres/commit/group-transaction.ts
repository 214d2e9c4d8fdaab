import type pg from 'pg'
import type { CommitResult } from '../../engine/ports.ts'
import { room, roomEvent, roomStateChange } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { encodeJson } from '../encode.ts'
import { bind, type Statement, type Values } from '../statement.ts'
import { type CopyRoom, copyIn } from './copy-in.ts'
import { encodeRows, parameterName } from './ctes.ts'
import {
  type GroupPage,
  type GroupSettings,
  type Known,
  questionOf,
  type Sorted,
  sorted,
  standing,
} from './group-pages.ts'
import { confirmed, held, known, merged, moved, otherwise } from './group-statements.ts'

/** What has to go the careful way: nothing of it was written. */
export const carefully = 'carefully'

export type GroupResult = CommitResult | typeof carefully

/** Something came in between: nothing of the group may stand, and each page goes the careful way. */
class GroupOvertaken extends Error {
  override readonly name = 'GroupOvertaken'
}

/**
 * Commits pages of one app together, inside a transaction that the caller began: what is new by COPY, what may be there by
 * the rules of its table. Answers what became of each page. The caller commits, or rolls back where this throws.
 */
export async function commitTogether(
  client: pg.ClientBase,
  settings: GroupSettings,
  group: readonly GroupPage[],
  copyRoom: CopyRoom,
): Promise<readonly GroupResult[]> {
  const { app, fence } = group[0]!.page
  const forgotten = Math.min(...group.map(each => each.forgotten))
  const common = { app, ...fence, forgotten, memory: settings.memory, room_streams: settings.roomStreams }
  const ask: Ask = (what, values) => client.query(bind(what, { ...common, ...values }))
  // Holds the fence and the app's lock; no row where the shard is another's.
  const { rows: owned } = await ask(held, {})
  if (owned.length === 0) return group.map(() => ({ outcome: 'fenced' }))
  const plain = await sort(ask, group)
  if (plain.length > 0) {
    await move(ask, plain, settings)
    await confirm(ask, plain)
    await merge(ask, plain)
    await copy(client, app, plain, copyRoom)
  }
  const results: GroupResult[] = group.map(() => carefully)
  for (const { n, version, stored } of plain)
    results[n] = { outcome: 'committed', version: version!, stored, diverged: 0, deadLetters: {} }
  return results
}

/** Runs one statement of the transaction. */
type Ask = <Row extends pg.QueryResultRow>(what: Statement, values: Values) => Promise<pg.QueryResult<Row>>

/** The pages that are plain, with what is new in them told from what is stored. */
async function sort(ask: Ask, group: readonly GroupPage[]): Promise<readonly Sorted[]> {
  const { rows: found } = await ask<Known>(known, { pages: encodeJson(group.map(questionOf)) })
  const byNumber = new Map(found.map(each => [each.n, each]))
  const plain = group.flatMap((each, n) => sorted(each, n, byNumber.get(n)!) ?? [])
  const repeats = plain.flatMap(({ repeats, incarnation }) => repeats.map(row => ({ ...row, incarnation })))
  if (repeats.length === 0) return plain
  const { rows: told } = await ask<{ room_uuid: string }>(otherwise, { events: encodeJson(repeats) })
  const rooms = new Set(told.map(({ room_uuid }) => room_uuid))
  return plain.filter(({ series }) => !rooms.has(series))
}

/** Progress of all pages, and what their rooms become. */
async function move(ask: Ask, plain: readonly Sorted[], settings: GroupSettings): Promise<void> {
  const changes = plain.flatMap(({ fresh, again }) => [
    ...(fresh.get(roomStateChange) ?? []),
    ...(again.get(roomStateChange) ?? []),
  ])
  const { rows: advanced } = await ask<{ n: number; version: number; is_new: boolean }>(moved, {
    pages: encodeJson(plain.map(each => standing(each, settings))),
    [parameterName(roomStateChange)]: encodeRows(changes),
  })
  if (advanced.length < plain.length) throw new GroupOvertaken('another commit came first')
  const byNumber = new Map(plain.map(each => [each.n, each]))
  for (const { n, version, is_new } of advanced) {
    const one = byNumber.get(n)!
    one.version = version
    if (is_new) count(one, room, 1)
  }
}

/** What the feed told and the logs tell in the same words. */
async function confirm(ask: Ask, plain: readonly Sorted[]): Promise<void> {
  const events = plain.flatMap(({ confirms, incarnation }) => confirms.map(row => ({ ...row, incarnation })))
  if (events.length === 0) return
  const { rowCount } = await ask(confirmed, { events: encodeJson(events) })
  if (rowCount !== events.length) throw new GroupOvertaken('an event of the feed was gone')
}

/** Rows that may be there, by the rules of their tables. */
async function merge(ask: Ask, plain: readonly Sorted[]): Promise<void> {
  const pages = encodeJson(plain.map(({ page, incarnation }) => ({ room_uuid: page.series, incarnation })))
  const byRoom = new Map(plain.map(each => [each.series, each]))
  for (const table of tablesOf(plain, 'again')) {
    const rows = encodeRows(plain.flatMap(({ again }) => again.get(table) ?? []))
    const { rows: counts } = await ask<{ room_uuid: string; rows: number }>(merged(table), {
      pages,
      [parameterName(table)]: rows,
    })
    for (const { room_uuid, rows } of counts) count(byRoom.get(room_uuid)!, table, rows)
  }
}

/** Rows that are new, of all tables at once: there are as many round trips in a group as statements. */
async function copy(
  client: pg.ClientBase,
  app: string,
  plain: readonly Sorted[],
  copyRoom: CopyRoom,
): Promise<void> {
  const copies = tablesOf(plain, 'fresh').map(table => {
    const constant = table === roomEvent ? { source: 'log' } : {}
    const all = plain.flatMap(each => {
      const rows = each.fresh.get(table)
      if (!rows) return []
      count(each, table, rows.length)
      return [{ before: [app, each.incarnation, ...Object.values(constant)], rows }]
    })
    const columns = ['app_id', 'incarnation', ...Object.keys(constant), ...Object.keys(table.columns)]
    return { table, columns, all }
  })
  if (copies.length > 0) await copyIn(client, copies, copyRoom)
}

function count({ stored }: Sorted, table: Table, rows: number): void {
  stored[table.name]! += rows
}

function tablesOf(plain: readonly Sorted[], kind: 'fresh' | 'again'): readonly Table[] {
  const tables = plain.flatMap(each =>
    [...each[kind]].filter(([, rows]) => rows.length > 0).map(([table]) => table),
  )
  return [...new Set(tables)]
}

import type pg from 'pg'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { classesOf, type TrueClass } from './truth.ts'

/** What somebody who knows the school itself says that a view must answer. */
export interface Oracle {
  readonly name: string
  readonly examine: (client: pg.Client, sandbox: Sandbox) => Promise<Verdict>
}

export interface Verdict {
  /** Both in the same order, so that a difference shows. */
  readonly told: readonly unknown[]
  readonly truth: readonly unknown[]
}

export async function rowsOf<Row extends pg.QueryResultRow>(
  client: pg.Client,
  text: string,
): Promise<readonly Row[]> {
  return (await client.query<Row>(text)).rows
}

export interface OfClass {
  readonly app_id: string
  readonly room_uuid: string
  readonly began: Date
}

export const nameOf = (app: string, room: string, began: number) =>
  `${app} ${room} ${new Date(began).toISOString()}`
export const named = ({ app_id, room_uuid, began }: OfClass) => nameOf(app_id, room_uuid, began.getTime())
export const trueName = ({ app, roomUuid, startedAt }: TrueClass) => nameOf(app, roomUuid, startedAt)

/** Puts a view beside the classes that must be whole; rows of other classes are left out. */
export async function compareClasses<Row extends OfClass>(
  client: pg.Client,
  sandbox: Sandbox,
  query: string,
  tell: (row: Row) => unknown,
  know: (one: TrueClass) => readonly unknown[],
): Promise<Verdict> {
  const classes = classesOf(sandbox)
  const names = new Set(classes.map(trueName))
  const rows = (await rowsOf<Row>(client, query)).filter(row => names.has(named(row)))
  const pairs = (name: string, facts: readonly unknown[]) =>
    facts.map(fact => `${name} ${JSON.stringify(fact)}`)
  return {
    told: rows.flatMap(row => pairs(named(row), [tell(row)])).sort(),
    truth: classes.flatMap(one => pairs(trueName(one), know(one))).sort(),
  }
}

/** The class of each row of a view, by the start that people know. */
export const withStart = (view: string) =>
  `select v.*, r.started_at as began from ${view} v join classroom.room r using (app_id, room_uuid, incarnation)`

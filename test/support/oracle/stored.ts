import pg from 'pg'
import { type Table, tableNames } from './expectation.ts'
import { type Fields, restored } from './values.ts'

export interface StoredRow {
  readonly app_id: string
  readonly room_uuid: string
  readonly incarnation: number
  readonly columns: Fields
}

export interface StoredGap {
  readonly app_id: string
  readonly stream: string
  readonly series: string
  readonly incarnation: number | null
  readonly unit: 'time' | 'sequence'
  readonly sequence_from: string | null
  readonly sequence_to: string | null
  readonly reason: string
  readonly state: 'open' | 'repaired' | 'absent' | 'lost'
}

export interface StoredLetter {
  readonly stream: string
  readonly series: string
  readonly reason: string
  /** The bytes as JSON, with refused characters put back; undefined where they are none. */
  readonly item: unknown
  readonly text: string
}

/** All that the daemon wrote, as one moment shows it. */
export interface Stored {
  readonly tables: ReadonlyMap<Table, readonly StoredRow[]>
  readonly gaps: readonly StoredGap[]
  readonly letters: readonly StoredLetter[]
  readonly divergences: number
}

export async function readStored(url: string): Promise<Stored> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin transaction isolation level repeatable read read only')
    const tables = new Map<Table, readonly StoredRow[]>()
    for (const table of tableNames) {
      const { rows } = await client.query<Fields>(`select * from classroom.${table}`)
      tables.set(table, rows.map(storedRow))
    }
    const gaps = await client.query<StoredGap>('select * from ingest.gap order by id')
    const letters = await client.query<{ stream: string; series: string; reason: string; body: Buffer }>(
      'select stream, series, reason, body from ingest.dead_letter order by id',
    )
    const divergences = await client.query('select 1 from ingest.divergence')
    return {
      tables,
      gaps: gaps.rows,
      letters: letters.rows.map(({ body, ...letter }) => ({ ...letter, ...readBody(body) })),
      divergences: divergences.rows.length,
    }
  } finally {
    await client.end()
  }
}

function storedRow(row: Fields): StoredRow {
  const columns = restored(row) as Fields
  const { app_id, room_uuid, incarnation } = columns
  return { app_id: String(app_id), room_uuid: String(room_uuid), incarnation: Number(incarnation), columns }
}

function readBody(body: Buffer): Pick<StoredLetter, 'item' | 'text'> {
  const text = body.toString('utf8')
  try {
    return { item: restored(JSON.parse(text, digits)), text }
  } catch {
    return { item: undefined, text }
  }
}

/** Large integers keep their digits, as text. */
function digits(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) ? (context?.source ?? value) : value
}

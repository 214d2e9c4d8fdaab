import pg from 'pg'

interface Column {
  readonly name: string
  readonly kind: 'number' | 'boolean' | 'json' | 'text'
}

/** What one statement of a person answered. */
export interface Answered {
  /** What it was, as Postgres says: SELECT, UPDATE. */
  readonly command: string
  /** Rows that it touched or answered; null of what has none. */
  readonly count: number | null
  readonly columns: readonly Column[]
  /** Values as Postgres writes them; null where there is none. */
  readonly rows: readonly (readonly (string | null)[])[]
}

/** What Postgres says of a statement that it refuses; for the one who wrote it. */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused'
  /** Of the sign in it that Postgres stumbled over, from 1. */
  readonly position: number | undefined
  constructor(message: string, position: number | undefined, options: ErrorOptions) {
    super(message, options)
    this.position = position
  }
}

/** By type: bool; json, jsonb; int8, int2, int4, oid, float4, float8, numeric. */
const kinds = new Map<number, Column['kind']>([
  [16, 'boolean'],
  ...[114, 3802].map(type => [type, 'json'] as const),
  ...[20, 21, 23, 26, 700, 701, 1700].map(type => [type, 'number'] as const),
])

/** As psql would be: what suits the few statements of the daemon suits no others. */
const asUsual = 'set enable_seqscan = on; set plan_cache_mode = auto; set jit = on'

/**
 * A session of a person: what one statement sets holds for the next. `isReadOnly`: nothing writes, whatever a statement says of
 * its transaction. A session that broke is followed by another one.
 */
export class Console {
  readonly #pool: pg.Pool
  readonly #mode: string
  #client: pg.PoolClient | undefined

  constructor(pool: pg.Pool, { isReadOnly }: { readonly isReadOnly: boolean }) {
    this.#pool = pool
    this.#mode = isReadOnly ? 'on' : 'off'
  }

  /** Answers what each statement in the text answered: of one statement, one. Throws StatementRefused. */
  async run(text: string): Promise<readonly Answered[]> {
    this.#client ??= await this.#open().catch(refuse)
    try {
      await this.#keepMode(this.#client)
      const types = { getTypeParser: () => String } as unknown as pg.CustomTypesConfig
      const result = await this.#client.query<(string | null)[]>({ text, rowMode: 'array', types })
      const all: readonly pg.QueryArrayResult<(string | null)[]>[] = Array.isArray(result) ? result : [result]
      return all.map(answered)
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.severity === 'FATAL') this.close(true)
      return refuse(error)
    }
  }

  close(isBroken = false): void {
    this.#client?.release(isBroken)
    this.#client = undefined
  }

  async #open(): Promise<pg.PoolClient> {
    const client = await this.#pool.connect()
    await client.query(`${asUsual}; set default_transaction_read_only = ${this.#mode}`)
    return client
  }

  async #keepMode(client: pg.PoolClient): Promise<void> {
    if (this.#mode === 'off') return
    const status = client.getTransactionStatus()
    if (status === 'I') await client.query('set default_transaction_read_only = on')
    if (status === 'T') await client.query('set transaction_read_only = on')
  }
}

function answered({ command, rowCount, fields, rows }: pg.QueryArrayResult<(string | null)[]>): Answered {
  return {
    ...{ command: command ?? '', count: rowCount, rows },
    columns: fields.map(({ name, dataTypeID }) => ({ name, kind: kinds.get(dataTypeID) ?? 'text' })),
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof Error)) throw error
  const { hint, detail, position } = error as Partial<pg.DatabaseError>
  throw new StatementRefused(
    [error.message, detail, hint].filter(Boolean).join('; '),
    position === undefined ? undefined : Number(position),
    { cause: error },
  )
}

export async function mayTakeRole(pool: pg.Pool, role: string): Promise<boolean> {
  const { rows } = await pool.query<{ may: boolean | null }>(
    `select pg_has_role(session_user, oid, 'member') as may from pg_roles where rolname = $1`,
    [role],
  )
  return rows[0]?.may ?? false
}

const tables = `
  select n.nspname || '.' || c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
         obj_description(c.oid) as "what it holds"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('classroom', 'analytics', 'players', 'ingest') and c.relkind in ('r', 'p', 'v') and not c.relispartition
  order by 1`

const columns = (name: string) => `
  select a.attname as column, format_type(a.atttypid, a.atttypmod) as type, col_description(a.attrelid, a.attnum) as "what it holds"
  from pg_attribute a where a.attrelid = to_regclass('${name}') and a.attnum > 0 and not a.attisdropped order by a.attnum`

/** What \\d of psql tells: all tables and views, or the columns of one. */
export function describing(name: string | undefined): string {
  return name === undefined ? tables : columns(name.replaceAll("'", "''"))
}

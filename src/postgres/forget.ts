import type pg from 'pg'
import { isOfUsers, type Stream } from '../streams/stream.ts'
import type { Json } from '../tables/json.ts'
import { inTransaction, query } from './connect.ts'
import { decodeJson, decodeText, encodeJson, encodeText } from './encode.ts'
import { sqlState } from './errors.ts'
import { type Holding, holdings, type Kinds, type Values } from './holdings.ts'
import { type Identity, Mask, markOf, shortest } from './mask.ts'
import { forgottenOf } from './masks.ts'
import type { Keeping } from './unkept.ts'

/** Who is to be forgotten. */
export interface Person {
  readonly app: string
  readonly kind: Identity
  readonly id: string
}

/** How many rows of each table tell of someone. */
export type Found = Readonly<Record<string, number>>

/** Where a row lies at the moment: the partition, and the place in it. */
interface Place {
  readonly part: string
  readonly place: string
}

/** Rows that are changed in one transaction. */
const BATCH = 500

/** Who began before a part was masked may have read in it what is looked for in the next: its commit is waited for. */
const untilStored = `select pg_advisory_xact_lock(hashtextextended('penstock forgotten of ' || $1, 0))`

/** Who came on a day is kept as hashes without a key, also when the classes of the day are emptied: one can be tried. */
const rehashed = `
  update ingest.day_attendance k
  set students = array_replace(k.students, hashtextextended($2::text, 0), hashtextextended($3::text, 0))
  where k.app_id = $1 and hashtextextended($2::text, 0) = any (k.students)`

/** Takes people out of what is stored. */
export class Forgetting {
  readonly #pool: pg.Pool
  readonly #keeping: Keeping
  readonly #kinds: Kinds

  constructor(pool: pg.Pool, keeping: Keeping, streams: readonly Stream[]) {
    this.#pool = pool
    this.#keeping = keeping
    const namesOf = (some: readonly Stream[]) => new Set<string>(some.map(({ name }) => name))
    this.#kinds = {
      inClass: namesOf(streams.filter(({ operation }) => operation.family === 'classroom')),
      feeds: namesOf(streams.filter(({ kind }) => kind === 'feed')),
      ofUsers: namesOf(streams.filter(isOfUsers)),
    }
  }

  /** Whether someone was forgotten before, and how many rows tell of them now. Changes nothing. */
  async look(person: Person): Promise<{ readonly isForgotten: boolean; readonly found: Found }> {
    const forgotten = await forgottenOf(this.#pool, person.app)
    const mark = markOf(forgotten.key, person.app, person.kind, person.id)
    const marks = new Set([...forgotten.marks, mark])
    const mask = new Mask(person.app, this.#keeping, { ...forgotten, marks })
    return { isForgotten: forgotten.marks.has(mark), found: await this.#sweep(person, mask, 'look') }
  }

  /** Masks all that is stored, and has the daemon mask whatever comes. Answers how many rows changed. */
  async forget(person: Person): Promise<Found> {
    const { key } = await forgottenOf(this.#pool, person.app)
    const mark = markOf(key, person.app, person.kind, person.id).split(' ')[1]
    await this.#query('select ingest.remember_forgotten($1, $2, $3)', [
      person.app,
      person.kind,
      Buffer.from(mark!, 'hex'),
    ])
    const mask = new Mask(person.app, this.#keeping, await forgottenOf(this.#pool, person.app))
    const changed = await this.#sweep(person, mask, 'write')
    if (person.kind === 'user')
      await this.#query(rehashed, [person.app, encodeText(person.id), mask.id(person.id, 'user', true)])
    await this.#query(
      `update ingest.forgotten f set rows = (
         select coalesce(jsonb_object_agg(name, n), '{}') from (
           select key as name, sum(value::bigint) as n
           from (select * from jsonb_each_text(f.rows) union all select * from jsonb_each_text($4::jsonb)) each
           group by key) summed)
       where f.app_id = $1 and f.kind = $2 and f.mark = $3`,
      [person.app, person.kind, Buffer.from(mark!, 'hex'), JSON.stringify(changed)],
    )
    return changed
  }

  async #sweep(person: Person, mask: Mask, how: 'look' | 'write'): Promise<Found> {
    const found: Record<string, number> = {}
    for (const [n, part] of holdings.entries()) {
      if (how === 'write' && n > 0) await this.#query(untilStored, [person.app])
      for (const holding of part) {
        if (person.kind === 'room' && !holding.ofRoom) continue
        const rows = await this.#sweepTable(holding, person, mask, how)
        if (rows > 0) found[holding.table] = rows
      }
    }
    // What differed in the person alone is no contradiction.
    if (how === 'write')
      await this.#query('delete from ingest.divergence d where d.app_id = $1 and d.kept = d.other', [
        person.app,
      ])
    return found
  }

  /** One look finds where the rows are; what moves before they are changed is found by the next. */
  async #sweepTable(holding: Holding, person: Person, mask: Mask, how: 'look' | 'write'): Promise<number> {
    let changed = 0
    for (;;) {
      const places = await this.#places(holding, person)
      let [now, moved] = [0, places.length]
      for (let first = 0; first < places.length; first += BATCH) {
        const batch = await this.#batch(holding, person, mask, how, places.slice(first, first + BATCH))
        now += batch.changed
        moved -= batch.there
      }
      changed += now
      if (how === 'look' || now + moved === 0) return changed
    }
  }

  async #places({ table, columns, ofRoom }: Holding, { app, kind, id }: Person): Promise<readonly Place[]> {
    const texts = Object.entries(columns).map(([name, type]) => {
      if (type === 'text[]') return `array_to_json(t.${name})::text`
      return type === 'text' ? `'"' || t.${name} || '"'` : type === 'jsonb' ? `t.${name}::text` : `''`
    })
    const bytes = Object.keys(columns).filter(name => columns[name] === 'bytea')
    const hits = [
      `strpos(concat_ws(' ', ${texts.join(', ')}), n) > 0`,
      ...bytes.map(name => `position(convert_to(n, 'UTF8') in t.${name}) > 0`),
    ]
    const where =
      kind === 'room' ? ofRoom : `exists (select from unnest($2::text[]) n where ${hits.join(' or ')})`
    return this.#query<Place>(
      `select t.tableoid::regclass::text as part, t.ctid::text as place from ${table} t where t.app_id = $1 and ${where}`,
      [app, kind === 'room' ? encodeText(id) : needlesOf(id)],
    )
  }

  async #batch(
    { columns, mask: masked }: Holding,
    { kind }: Person,
    mask: Mask,
    how: 'look' | 'write',
    places: readonly Place[],
  ): Promise<{ readonly there: number; readonly changed: number }> {
    const names = Object.keys(columns)
    const list = names.map(name => (columns[name] === 'jsonb' ? `t.${name}::text` : `t.${name}`)).join(', ')
    return await inTransaction(this.#pool, {}, async client => {
      let [there, changed] = [0, 0]
      for (const part of new Set(places.map(({ part }) => part))) {
        const those = places.filter(each => each.part === part).map(({ place }) => place)
        const { rows } = await client.query<Record<string, unknown>>(
          `select t.ctid::text as place, ${list} from ${part} t where t.ctid = any($1::tid[])${how === 'write' ? ' for update' : ''}`,
          [those],
        )
        there += rows.length
        for (const { place, ...row } of rows) {
          const before = decoded(row, columns)
          const after = masked(before, mask, kind === 'room', this.#kinds)
          const changes = Object.entries(after).filter(
            ([name, value]) =>
              name in columns && encoded(value, columns[name]!) !== encoded(before[name]!, columns[name]!),
          )
          if (changes.length === 0) continue
          changed += 1
          if (how === 'write') await change(client, part, String(place), changes, columns)
        }
      }
      return { there, changed }
    })
  }

  #query<Row extends object>(text: string, values: unknown[]): Promise<readonly Row[]> {
    return query<Row>(this.#pool, { text, values })
  }
}

/** Where an ID of its length is looked for: a short one only where it stands by itself. */
function needlesOf(id: string): readonly string[] {
  const text = JSON.stringify(encodeText(id)).slice(1, -1)
  const ascii = text.replaceAll(
    /[^\0-\x7f]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  if (id.length >= shortest) return [encodeText(id), text, ascii]
  const alone = [text, ascii].flatMap(each => [
    `"${each}"`,
    `/${each}"`,
    `/${each},`,
    `,${each},`,
    `,${each}"`,
  ])
  const asNumber = [': ', ':', '[', ', ', ','].flatMap(before =>
    [',', '}', ']'].map(after => before + id + after),
  )
  return [...alone, ...(/^\d+$/.test(id) ? asNumber : [])]
}

function decoded(row: Readonly<Record<string, unknown>>, columns: Holding['columns']): Values {
  const values = Object.entries(row).map(([name, value]): [string, Json | Buffer] => {
    if (typeof value !== 'string') return [name, value as Json | Buffer]
    return [name, columns[name] === 'jsonb' ? (decodeJson(value) as Json) : decodeText(value)]
  })
  return Object.fromEntries(values)
}

function encoded(value: Json | Buffer | undefined, type: string): unknown {
  if (value === null || value === undefined) return null
  if (type === 'jsonb') return encodeJson(value)
  if (Buffer.isBuffer(value)) return type === 'bytea' ? value.toString('hex') : value
  return typeof value === 'string' ? encodeText(value) : JSON.stringify(value)
}

/** A row whose place is taken was read again meanwhile: the other one is it. */
async function change(
  client: pg.PoolClient,
  part: string,
  place: string,
  changes: readonly (readonly [string, Json | Buffer])[],
  columns: Holding['columns'],
): Promise<void> {
  const sets = changes.map(([name], n) => `${name} = $${n + 2}::${columns[name]}`)
  const values = changes.map(([name, value]) =>
    columns[name] === 'bytea' || columns[name] === 'text[]' ? value : encoded(value, columns[name]!),
  )
  await client.query('savepoint one')
  try {
    await client.query(`update ${part} t set ${sets.join(', ')} where t.ctid = $1::tid`, [place, ...values])
  } catch (error) {
    if (sqlState(error) !== '23505') throw error
    await client.query('rollback to savepoint one')
    await client.query(`delete from ${part} t where t.ctid = $1::tid`, [place])
  }
}

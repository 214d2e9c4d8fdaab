import type pg from 'pg'
import { StoreUnavailable } from '../engine/ports.ts'
import { query } from './connect.ts'
import { type Forgotten, Mask, type Remembered } from './mask.ts'
import { bind, statement } from './statement.ts'
import type { Keeping } from './unkept.ts'

/** Whether a commit failed that knew fewer to be forgotten than there are. */
export function isForgottenMeanwhile(error: unknown): boolean {
  return error instanceof StoreUnavailable && error.code === 'PF001'
}

const readForgotten = statement(
  'forgotten',
  `select k.key, array(select f.kind || ' ' || encode(f.mark, 'hex') from ingest.forgotten f where f.app_id = :app) as marks
   from ingest.forget_key k`,
)

/** Who is forgotten of an app, as the database has it now. */
export async function forgottenOf(pool: pg.Pool, app: string): Promise<Forgotten> {
  const [row] = await query<{ key: Buffer; marks: readonly string[] }>(pool, bind(readForgotten, { app }))
  return { key: row!.key, marks: new Set(row!.marks) }
}

/** The masks of all apps, kept until they are dropped; that more are forgotten since is told by the commit that comes too early. */
export class Masks {
  readonly #pool: pg.Pool
  readonly #keeping: Keeping
  readonly #masks = new Map<string, Promise<Mask>>()
  readonly #remembered: Remembered = new Map()

  constructor(pool: pg.Pool, keeping: Keeping = { chat: 'on', names: 'on' }) {
    this.#pool = pool
    this.#keeping = keeping
  }

  /** Lets `use` write with the app's mask, and once more where someone was forgotten meanwhile: then nothing was written. */
  async run<T>(app: string, use: (mask: Mask) => Promise<T>): Promise<T> {
    for (;;) {
      const mask = this.#masks.get(app) ?? this.#read(app)
      try {
        return await use(await mask)
      } catch (error) {
        if (!isForgottenMeanwhile(error)) throw error
        if (this.#masks.get(app) === mask) this.#masks.delete(app)
      }
    }
  }

  /** Has who is forgotten of the app read again before anything more is written. */
  drop(app: string): void {
    this.#masks.delete(app)
  }

  #read(app: string): Promise<Mask> {
    const made = (forgotten: Forgotten) => new Mask(app, this.#keeping, forgotten, this.#remembered)
    const mask = forgottenOf(this.#pool, app).then(made)
    this.#masks.set(app, mask)
    mask.catch(() => this.#masks.delete(app))
    return mask
  }
}

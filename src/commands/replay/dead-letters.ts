import type pg from 'pg'
import type { Config } from '../../config/config.ts'
import { RefusedRows } from '../../engine/ports.ts'
import { markRoom } from '../../postgres/backfill.ts'
import {
  type Availability,
  askAgain,
  closeDeadLetters,
  deadLetterStanding,
  readDeadLetters,
  type StoredDeadLetter,
  storeDeadLetter,
} from '../../postgres/dead-letters.ts'
import { Masks } from '../../postgres/masks.ts'
import { isOfRooms, type Stream } from '../../streams/stream.ts'
import { isItem, isPage, LetterReader, partOf } from './letter-reader.ts'

/** What became of dead letters that were tried again. */
export interface DeadLetterReport {
  /** Read from their bytes and stored; closed. */
  readonly stored: number
  /** What they are about has been read by the daemon since, or is in rows that were rebuilt; closed. */
  readonly read: number
  /** Asked for again: they close when a replay comes after the answer. */
  readonly asked: number
  /** Still cannot be read. */
  readonly unread: number
  /** Not whole, and what they are about cannot be had any more. */
  readonly gone: number
}

/** Rebuilds what is derived from raw rows; answers what could still not be read, or undefined where some is left. */
type RebuildAll = () => Promise<ReadonlySet<string> | undefined>

/**
 * Tries letters again: what the streams read now is stored beside what is there, what the daemon has read since is left
 * to that, and what is not whole is asked for again where it can be had. Events and items of logs are stored raw, and
 * their tables are rebuilt; only then their letters close.
 */
export class DeadLetterReplay {
  readonly #pool: pg.Pool
  readonly #reader: LetterReader
  readonly #masks: Masks
  readonly #counts = { stored: 0, read: 0, asked: 0, unread: 0, gone: 0 }
  /** Letters that are stored raw now. */
  readonly #raw: string[] = []
  /** Letters about a part of what was stored raw before, with the name of the part. */
  readonly #parts: { readonly id: string; readonly name: string }[] = []

  constructor(pool: pg.Pool, config: Config) {
    this.#pool = pool
    this.#reader = new LetterReader(config)
    this.#masks = new Masks(pool, config.store)
  }

  /** Tries the letters of some apps, or of one room of theirs. */
  async run(
    apps: readonly string[],
    room: string | undefined,
    rebuildAll: RebuildAll,
  ): Promise<DeadLetterReport> {
    for await (const letter of readDeadLetters(this.#pool, apps, room)) await this.#tryAgain(letter)
    const [counts, raw, parts] = [this.#counts, this.#raw, this.#parts]
    if (raw.length + parts.length === 0) return counts
    const unread = await rebuildAll()
    if (!unread) return { ...counts, unread: counts.unread + raw.length + parts.length }
    const understood = parts.filter(({ name }) => !unread.has(name)).map(({ id }) => id)
    await closeDeadLetters(this.#pool, [...raw, ...understood])
    return {
      ...counts,
      stored: counts.stored + raw.length,
      read: counts.read + understood.length,
      unread: counts.unread + parts.length - understood.length,
    }
  }

  async #tryAgain(letter: StoredDeadLetter): Promise<void> {
    const stream = this.#reader.streamOf(letter)
    if (stream && isItem(letter) && isLog(stream)) await this.#tryItemOfLog(stream, letter)
    else await this.#tryOther(stream, letter)
  }

  async #tryItemOfLog(stream: Stream, letter: StoredDeadLetter): Promise<void> {
    const part = partOf(stream, letter)
    if (part !== undefined) this.#parts.push({ id: letter.id, name: part })
    else if (await this.#store(letter)) this.#raw.push(letter.id)
    else this.#counts.unread += 1
  }

  async #tryOther(stream: Stream | undefined, letter: StoredDeadLetter): Promise<void> {
    const availability = this.#reader.availabilityOf(letter)
    const standing = await deadLetterStanding(this.#pool, letter, availability)
    if (standing === 'read') {
      await closeDeadLetters(this.#pool, [letter.id])
      this.#counts.read += 1
    } else if (!letter.isCut && (await this.#store(letter))) {
      if (stream && isLog(stream)) this.#raw.push(letter.id)
      else {
        await closeDeadLetters(this.#pool, [letter.id])
        this.#counts.stored += 1
      }
    } else if (isItem(letter) || !isPage(letter)) this.#counts.unread += 1
    else if (standing === 'gone') this.#counts.gone += 1
    else {
      if (standing === 'again') await this.#askAgain(stream, letter, availability)
      this.#counts.asked += 1
    }
  }

  /** False where something of it cannot be read, the database refuses it, or its place is taken. */
  async #store(letter: StoredDeadLetter): Promise<boolean> {
    const items = this.#reader.read(letter)
    if (!items) return false
    const writes = this.#reader.streamOf(letter)?.writes ?? []
    try {
      for (const { rows, hasPlace } of items) {
        const isStored = await storeDeadLetter(this.#pool, letter, { rows, writes }, hasPlace, this.#masks)
        if (!isStored) return false
      }
      return true
    } catch (error) {
      if (error instanceof RefusedRows) return false
      throw error
    }
  }

  async #askAgain(
    stream: Stream | undefined,
    letter: StoredDeadLetter,
    availability: Availability,
  ): Promise<void> {
    const { app, series: room } = letter
    if (stream && isOfRooms(stream)) await markRoom(this.#pool, { app, room, streams: [stream.name] })
    else await askAgain(this.#pool, letter, availability)
  }
}

/** What it answers is stored raw, and its tables can be rebuilt from that. */
function isLog({ kind }: Stream): boolean {
  return kind === 'feed' || kind === 'log'
}

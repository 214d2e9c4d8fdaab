import type { Writable } from 'node:stream'
import type pg from 'pg'
import type { Table } from '../../tables/index.ts'
import type { Columns } from '../../tables/table.ts'
import { encodeJson, encodeText } from '../encode.ts'

/** What the driver calls on its connection; its own types leave the stream out. */
interface CopyConnection {
  readonly stream: Pick<Writable, 'writable' | 'cork' | 'write' | 'uncork'>
  query(text: string): void
}

type Callback = (error: unknown) => void

/** Rows of one table, from several places, and the columns that they have, those of `before` first. */
export interface Copy {
  readonly table: Table
  readonly columns: readonly string[]
  readonly all: readonly Rows[]
}

/** Rows of a table, and values of columns that none of them brings. */
interface Rows {
  readonly before: readonly (string | number)[]
  readonly rows: readonly object[]
}

/** Brings rows of several tables by COPY, all at once. */
class CopyIn {
  readonly text: string
  /** The driver, and whoever stands before it, may put itself in its place. */
  callback: Callback
  readonly #messages: Buffer

  constructor(copies: readonly Copy[], messages: Buffer, callback: Callback) {
    this.text = copies
      .map(({ table, columns }) => `copy ${table.name} (${columns.join(', ')}) from stdin`)
      .join('; ')
    this.#messages = messages
    this.callback = callback
  }

  /**
   * The lines go with the statements, which the server takes one after the other: where one fails it takes no notice of those
   * after it and of their lines, as its protocol says.
   */
  submit(connection: CopyConnection): void {
    const { stream } = connection
    // As the driver does: it tells by itself that the connection is broken.
    if (!stream.writable) return
    stream.cork()
    connection.query(this.text)
    stream.write(this.#messages)
    stream.uncork()
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  /** The driver hears no more of a statement that failed. */
  handleError(error: unknown): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }
}

/**
 * Copies rows into their tables, in one message; to be called in a transaction, since what came before a failure stands.
 * Until it is known that nothing failed the server may not have taken all that stands in `room`.
 */
export function copyIn(client: pg.ClientBase, copies: readonly Copy[], room: CopyRoom): Promise<void> {
  room.clear()
  for (const { table, all } of copies) room.add(table.columns, all)
  return new Promise((resolve, reject) => {
    const settle: Callback = error => (error ? reject(error) : resolve())
    client.query(new CopyIn(copies, room.taken(), settle) as unknown as pg.Submittable)
  })
}

/**
 * Room for the messages of a COPY, as the protocol has them: of each table one with the lines of its rows and one that ends
 * them. Texts are put into bytes one after the other: joined to one text before, they would be most of what is thrown away.
 * The same room serves one COPY after the other: V8 collects the sooner the more bytes are taken beside its heap.
 */
export class CopyRoom {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #end = 0

  get size(): number {
    return this.#bytes.length
  }

  clear(): void {
    this.#end = 0
  }

  taken(): Buffer {
    return this.#bytes.subarray(0, this.#end)
  }

  /** Lines of rows of one table from several places, one a row. */
  add(columns: Columns, all: readonly Rows[]): void {
    const begin = this.#end
    this.#put(COPY_DATA)
    const places = Object.entries(columns).map(([name, { type }]) => [name, type === 'jsonb'] as const)
    for (const { before, rows } of all) {
      const head = before.map(value => `${written(value, false)}\t`).join('')
      for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
        this.#put(head)
        for (const [name, isJson] of places) {
          this.#put(written(row[name], isJson))
          this.#put('\t')
        }
        // In the place of the tab behind the last value.
        this.#bytes[this.#end - 1] = NEWLINE
      }
    }
    this.#bytes.writeInt32BE(this.#end - begin - 1, begin + 1)
    this.#put(COPY_DONE)
  }

  #put(text: string): void {
    const { length } = text
    if (this.#end + MOST_BYTES_A_UNIT * length > this.#bytes.length) this.#grow(MOST_BYTES_A_UNIT * length)
    const bytes = this.#bytes
    let end = this.#end
    let i = 0
    if (length <= SHORT) {
      for (; i < length; i++) {
        const code = text.charCodeAt(i)
        if (code > LAST_ASCII) break
        bytes[end++] = code
      }
    }
    if (i < length) end += bytes.write(i > 0 ? text.slice(i) : text, end)
    this.#end = end
  }

  #grow(more: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#end + more))
    grown.set(this.#bytes.subarray(0, this.#end))
    this.#bytes = grown
  }
}

/** Their kinds, and their lengths with those of four bytes: the first is told when it is known. */
const COPY_DATA = 'd\0\0\0\0'
const COPY_DONE = 'c\0\0\0\x04'

const FIRST_BYTES = 16_384

/** Of one unit of UTF-16, in UTF-8. */
const MOST_BYTES_A_UNIT = 3
const LAST_ASCII = 0x7f
const NEWLINE = 0x0a

/** A longer text is quicker written by the runtime, which is called for it. */
const SHORT = 48

function written(value: unknown, isJson: boolean): string {
  if (value === null || value === undefined) return '\\N'
  if (isJson) return escaped(encodeJson(value))
  if (typeof value === 'string') return special.test(value) ? escaped(encodeText(value)) : value
  // Numbers: no other arrays are copied.
  if (Array.isArray(value)) return `{${value.join(',')}}`
  // As JSON has it.
  if (typeof value === 'number' && !Number.isFinite(value)) return '\\N'
  return String(value)
}

/** What COPY or Postgres itself does not take as it is; halves of a character are among what may be well. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is refused, U+001A is the escape character
const special = /[\\\n\r\t\0\x1a\ud800-\udfff]/
const specials = /[\\\n\r\t]/g
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** JSON has no other of them than the backslash. */
function escaped(text: string): string {
  return text.replace(specials, one => escapes[one]!)
}

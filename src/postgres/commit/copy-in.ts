import type pg from 'pg'
import type { Columns } from '../../tables/table.ts'
import { encodeJson, encodeText } from '../encode.ts'

/** What the driver calls on its connection; its own types leave COPY out. */
interface CopyConnection {
  readonly stream: { cork(): void; uncork(): void }
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

type Callback = (error: unknown) => void

/** Rows of one table as COPY takes them, in the text format. */
interface Copy {
  readonly table: string
  readonly columns: readonly string[]
  readonly lines: Buffer
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
  readonly #copies: readonly Copy[]

  constructor(copies: readonly Copy[], callback: Callback) {
    this.text = copies
      .map(({ table, columns }) => `copy ${table} (${columns.join(', ')}) from stdin`)
      .join('; ')
    this.#copies = copies
    this.callback = callback
  }

  /**
   * The lines go with the statements, which the server takes one after the other: where one fails it takes no notice of those
   * after it and of their lines, as its protocol says.
   */
  submit(connection: CopyConnection): void {
    connection.stream.cork()
    connection.query(this.text)
    for (const { lines } of this.#copies) {
      connection.sendCopyFromChunk(lines)
      connection.endCopyFrom()
    }
    connection.stream.uncork()
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

/** Copies rows into their tables, in one message; to be called in a transaction, since what came before a failure stands. */
export function copyIn(client: pg.ClientBase, copies: readonly Copy[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle: Callback = error => (error ? reject(error) : resolve())
    client.query(new CopyIn(copies, settle) as unknown as pg.Submittable)
  })
}

/** Lines of COPY, one a row, of rows of one table from several places. */
export function copyLines(columns: Columns, all: readonly Rows[]): Buffer {
  const places = Object.entries(columns).map(([name, { type }]) => [name, type === 'jsonb'] as const)
  const lines = new Lines()
  for (const { before, rows } of all) {
    const head = before.map(value => `${written(value, false)}\t`).join('')
    for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
      lines.put(head)
      for (const [name, isJson] of places) {
        lines.put(written(row[name], isJson))
        lines.put('\t')
      }
      lines.endLine()
    }
  }
  return lines.taken()
}

/** Texts are put into bytes one after the other: joined to one text before, they would be most of what is thrown away. */
class Lines {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #end = 0

  put(text: string): void {
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

  /** In the place of the tab behind the last value. */
  endLine(): void {
    this.#bytes[this.#end - 1] = NEWLINE
  }

  taken(): Buffer {
    return this.#bytes.subarray(0, this.#end)
  }

  #grow(more: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#end + more))
    grown.set(this.#bytes.subarray(0, this.#end))
    this.#bytes = grown
  }
}

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

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

type Callback = (error: unknown, result?: { readonly rowCount: number }) => void

/** Brings rows by COPY in the text format, all at once. */
class CopyIn {
  readonly text: string
  /** The driver, and whoever stands before it, may put itself in its place. */
  callback: Callback
  readonly #pieces: readonly Buffer[]
  #rowCount = 0

  constructor(text: string, pieces: readonly Buffer[], callback: Callback) {
    this.text = text
    this.#pieces = pieces
    this.callback = callback
  }

  /** The lines go with the statement: where that fails the server takes no notice of them, as its protocol says. */
  submit(connection: CopyConnection): void {
    connection.stream.cork()
    connection.query(this.text)
    for (const piece of this.#pieces) connection.sendCopyFromChunk(piece)
    connection.endCopyFrom()
    connection.stream.uncork()
  }

  handleCopyInResponse(): void {}

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#rowCount = Number(text.split(' ')[1])
  }

  /** The driver hears no more of a statement that failed. */
  handleError(error: unknown): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null, { rowCount: this.#rowCount })
  }
}

/** Copies lines, each piece some of them, into columns of a table and answers how many rows came in. */
export function copyIn(
  client: pg.ClientBase,
  table: string,
  columns: readonly string[],
  pieces: readonly Buffer[],
): Promise<number> {
  const text = `copy ${table} (${columns.join(', ')}) from stdin`
  return new Promise((resolve, reject) => {
    const settle: Callback = (error, result) => (error ? reject(error) : resolve(result!.rowCount))
    client.query(new CopyIn(text, pieces, settle) as unknown as pg.Submittable)
  })
}

/** Lines of COPY, one a row: `before` are values of columns that no row brings. */
export function copyLines(
  before: readonly (string | number)[],
  columns: Columns,
  rows: readonly object[],
): Buffer {
  const head = before.map(value => `${written(value, false)}\t`).join('')
  const places = Object.entries(columns).map(([name, { type }]) => [name, type === 'jsonb'] as const)
  const lines = new Lines()
  for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
    lines.put(head)
    for (const [name, isJson] of places) {
      lines.put(written(row[name], isJson))
      lines.put('\t')
    }
    lines.endLine()
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

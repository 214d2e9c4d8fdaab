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
  let lines = ''
  for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
    let gap = head
    for (const [name, isJson] of places) {
      lines += gap + written(row[name], isJson)
      gap = '\t'
    }
    lines += '\n'
  }
  return Buffer.from(lines)
}

function written(value: unknown, isJson: boolean): string {
  if (value === null || value === undefined) return '\\N'
  if (isJson) return escaped(encodeJson(value))
  if (typeof value === 'string') return special.test(value) ? escaped(encodeText(value)) : value
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

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
  readonly #lines: Buffer
  #rowCount = 0

  constructor(text: string, lines: Buffer, callback: Callback) {
    this.text = text
    this.#lines = lines
    this.callback = callback
  }

  /** The lines go with the statement: where that fails the server takes no notice of them, as its protocol says. */
  submit(connection: CopyConnection): void {
    connection.stream.cork()
    connection.query(this.text)
    connection.sendCopyFromChunk(this.#lines)
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

/** Copies lines into columns of a table and answers how many rows came in. */
export function copyIn(
  client: pg.ClientBase,
  table: string,
  columns: readonly string[],
  lines: readonly string[],
): Promise<number> {
  const text = `copy ${table} (${columns.join(', ')}) from stdin`
  return new Promise((resolve, reject) => {
    const settle: Callback = (error, result) => (error ? reject(error) : resolve(result!.rowCount))
    client.query(new CopyIn(text, Buffer.from(lines.join('')), settle) as unknown as pg.Submittable)
  })
}

/** One line of COPY: `before` are values of columns that no row brings. */
export function copyLine(before: readonly (string | number)[], columns: Columns, row: object): string {
  const values: Readonly<Record<string, unknown>> = { ...row }
  let line = ''
  for (const value of before) line += `${typeof value === 'string' ? escaped(encodeText(value)) : value}\t`
  let gap = ''
  for (const name in columns) {
    line += gap + written(values[name], columns[name]!.type === 'jsonb')
    gap = '\t'
  }
  return `${line}\n`
}

function written(value: unknown, isJson: boolean): string {
  if (value === null || value === undefined) return '\\N'
  if (isJson) return escaped(encodeJson(value))
  if (typeof value === 'string') return escaped(encodeText(value))
  // As JSON has it.
  if (typeof value === 'number' && !Number.isFinite(value)) return '\\N'
  return String(value)
}

const special = /[\\\n\r\t]/
const specials = /[\\\n\r\t]/g
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(text: string): string {
  return special.test(text) ? text.replace(specials, one => escapes[one]!) : text
}

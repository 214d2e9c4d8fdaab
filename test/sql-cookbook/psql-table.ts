import type { FieldDef, QueryArrayResult } from 'pg'

/** Types that psql sets to the right. */
const numbers: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 790, 1700])

/** A result as psql shows it, without the blanks at the ends of lines. Its values are the texts of the server. */
export function psqlTable({
  fields,
  rows,
}: Pick<QueryArrayResult<(string | null)[]>, 'fields' | 'rows'>): string {
  const texts = rows.map(row => row.map(value => value ?? ''))
  const widths = fields.map(({ name }, column) =>
    Math.max(width(name), ...texts.map(row => width(row[column]!))),
  )
  const line = (cells: readonly string[]) => ` ${cells.join(' | ')}`.trimEnd()
  const count = `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})`
  return [
    line(fields.map(({ name }, column) => centre(name, widths[column]!))),
    widths.map(length => '-'.repeat(length + 2)).join('+'),
    ...texts.map(row => line(row.map((text, column) => pad(text, fields[column]!, widths[column]!)))),
    count,
  ].join('\n')
}

function centre(name: string, length: number): string {
  const free = length - width(name)
  return ' '.repeat(Math.floor(free / 2)) + name + ' '.repeat(Math.ceil(free / 2))
}

function pad(text: string, { dataTypeID }: FieldDef, length: number): string {
  const blanks = ' '.repeat(length - width(text))
  return numbers.has(dataTypeID) ? blanks + text : text + blanks
}

/** Columns of a terminal: marks take none, letters of East Asia two. */
function width(text: string): number {
  let columns = 0
  for (const character of text) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(character)) continue
    columns += /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Emoji_Presentation}/u.test(
      character,
    )
      ? 2
      : 1
  }
  return columns
}

/** Writes each line to standard output. */
export function printLines(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}

type Cell = string | number | null | undefined

const numberFormat = new Intl.NumberFormat('en-US')

/** Whole numbers with thousands apart, the way people read them. */
export function countText(count: number): string {
  return numberFormat.format(count)
}

/** Lines of a table with aligned columns; numbers stand to the right, what is not known is a dash. */
export function textTable(header: readonly string[], rows: readonly (readonly Cell[])[]): readonly string[] {
  const texts = [header, ...rows.map(row => row.map(textOf))]
  const widths = header.map((_, column) => Math.max(...texts.map(row => row[column]?.length ?? 0)))
  const right = header.map((_, column) => rows.some(row => typeof row[column] === 'number'))
  return texts.map(row =>
    row
      .map((text, column) => (right[column] ? text.padStart(widths[column]!) : text.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
}

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return '-'
  return typeof cell === 'number' ? countText(cell) : cell
}

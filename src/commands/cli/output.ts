import { countText, duration } from '../../telemetry/wording.ts'

/** Writes each line to standard output. */
export function printLines(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}

const barLength = 20

/** A share of 0 to 1 as a bar. */
export function bar(share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * barLength)
  return '#'.repeat(full) + '.'.repeat(barLength - full)
}

/** Colours of a terminal, as like those of the status page as it has them. */
const colours = { green: '1;32', blue: '1;34', yellow: '1;33', magenta: '1;35', red: '1;31' } as const
export type Colour = keyof typeof colours

export function paint(colour: Colour, text: string, colourful: boolean): string {
  return colourful ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text
}

/** Only where a person looks, and has not said otherwise (no-color.org). */
export function isColourful(output: { readonly isTTY?: boolean } = process.stdout): boolean {
  return output.isTTY === true && !process.env.NO_COLOR
}

/** Where a command tells how it goes. */
export interface Screen {
  /** A line that stays. */
  readonly say: (line: string) => void
  /** How it goes now: replaces the last such line on a terminal, in a colour. */
  readonly progress: (line: string, colour?: Colour) => void
  /** How often progress is worth telling, ms. */
  readonly every: number
}

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => boolean
}

const silent: Screen = { say: () => {}, progress: () => {}, every: 2_000 }

/** For people: on standard output; beside JSON only on a terminal's standard error. */
export function openScreen(format: 'text' | 'json'): Screen {
  if (format === 'text') return screenOn(process.stdout)
  return process.stderr.isTTY ? screenOn(process.stderr) : silent
}

const eraseLine = '\r\u001b[2K'

function screenOn(output: Output): Screen {
  if (!output.isTTY) {
    const say = (line: string) => void output.write(`${line}\n`)
    return { say, progress: line => say(line), every: 2_000 }
  }
  let open = false
  return {
    say: line => {
      output.write(`${open ? eraseLine : ''}${line}\n`)
      open = false
    },
    progress: (line, colour = 'blue') => {
      // A line that wraps cannot be replaced.
      const fitting = line.slice(0, (output.columns ?? 80) - 1)
      output.write(`${eraseLine}${paint(colour, fitting, isColourful(output))}`)
      open = true
    },
    every: 500,
  }
}

/**
 * Tells of what is left, which `text` puts in words, how much was done and how long the rest takes at the pace so far;
 * `elapsed` in ms since `most` was left.
 */
export function leftLine(
  left: number,
  most: number,
  elapsed: number,
  text: (left: number) => string,
): string {
  const done = most - left
  const about = done > 0 ? `, about ${duration(Math.ceil((elapsed * left) / done / 1_000))}` : ''
  return `${bar(most > 0 ? done / most : 1)}  ${text(left)} left${about}`
}

type Cell = string | number | null | undefined

const windows: Readonly<Record<number, string>> = {
  1: 'a second',
  60: 'a minute',
  3600: 'an hour',
  86400: 'a day',
}

/** The window of a rate, seconds, behind the number of requests. */
export function windowText(window: number): string {
  return windows[window] ?? `${countText(window)} s`
}

/** Lines of a table with aligned columns; numbers stand to the right, what is not known is a dash. */
export function textTable(header: readonly string[], rows: readonly (readonly Cell[])[]): readonly string[] {
  const texts = [header, ...rows.map(row => row.map(textOf))]
  const widths = header.map((_, column) =>
    texts.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0),
  )
  const right = header.map((_, column) => rows.some(row => typeof row[column] === 'number'))
  return texts.map(row =>
    row
      .map((text, column) => {
        const space = ' '.repeat(widths[column]! - widthOf(text))
        return right[column] ? space + text : text + space
      })
      .join('  ')
      .trimEnd(),
  )
}

/** Places that a text takes on a terminal: signs of East Asia take two, and marks above or below another sign none. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const sign of text) {
    if (/[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\uff01-\uff60]/u.test(sign)) width += 2
    else if (!/[\p{Mn}\p{Me}\p{Cf}]/u.test(sign)) width += 1
  }
  return width
}

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return '-'
  return typeof cell === 'number' ? countText(cell) : cell
}

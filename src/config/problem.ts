/** Keys and list positions from the root of the configuration to one value. */
export type Path = readonly (string | number)[]

/** Line and column, both counted from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** One thing that is wrong. Neither the path nor the text holds a secret. */
export interface Problem {
  readonly path: Path
  readonly at: Position | undefined
  readonly text: string
}

/** The configuration was refused, whole. `problems` are in the order of the file; `message` is one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** The exit code of a command that meets it. */
  readonly exitCode = 78
  readonly problems: readonly Problem[]
  constructor(file: string, problems: readonly Problem[]) {
    const sorted = problems.toSorted(byPlace)
    super(sorted.map(problem => formatProblem(file, problem)).join('\n'))
    this.problems = sorted
  }
}

/** Writes `file:line:column  key.path: what is wrong`, leaving out what is not known. */
export function formatProblem(file: string, { path, at, text }: Problem): string {
  const place = at ? `${file}:${at.line}:${at.column}` : file
  return path.length > 0 ? `${place}  ${pathText(path)}: ${text}` : `${place}  ${text}`
}

/** Writes a path as people read it: `apps[0].classroom.token`. Odd keys are quoted. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    const key = /^[\w-]+$/.test(step) ? step : JSON.stringify(shorten(step))
    return text === '' ? key : `${text}.${key}`
  }, '')
}

/** Cuts a long text, so that one wrong value does not fill a screen. */
export function shorten(text: string): string {
  const characters = Array.from(text)
  return characters.length > 40 ? `${characters.slice(0, 37).join('')}...` : text
}

function byPlace(a: Problem, b: Problem): number {
  const [one, other] = [a.at ?? nowhere, b.at ?? nowhere]
  return one.line - other.line || one.column - other.column
}

const nowhere: Position = { line: 0, column: 0 }

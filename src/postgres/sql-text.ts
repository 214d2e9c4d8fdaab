/** One statement of a text. */
export interface Statement {
  /** From its first word on, without the semicolon. */
  readonly text: string
  /** The line that it begins in, from 1. */
  readonly line: number
}

interface Split {
  readonly statements: readonly Statement[]
  /** What no semicolon has ended yet. */
  readonly rest: string
  readonly restLine: number
}

/** What may hold a semicolon that ends nothing goes to its end, or to that of the text. Names hide the $ that is in them. */
const token = new RegExp(
  [
    String.raw`(?<empty>\s+|--[^\n]*|/\*[\s\S]*?\*/)`,
    '(?<end>;)',
    String.raw`/\*[\s\S]*$`,
    String.raw`[eE]'(?:[^'\\]|''|\\[\s\S])*(?:'|\\?$)`,
    "'(?:[^']|'')*(?:'|$)",
    '"(?:[^"]|"")*(?:"|$)',
    String.raw`(?<quote>\$(?:[a-zA-Z_]\w*)?\$)[\s\S]*?(?:\k<quote>|$)`,
    String.raw`[\w\u0080-\uffff][\w$\u0080-\uffff]*`,
    String.raw`[\s\S]`,
  ].join('|'),
  'g',
)

/** Takes a text apart at its semicolons, as psql does; its first line is `line`. */
export function split(text: string, line = 1): Split {
  const statements: Statement[] = []
  let [rest, restLine, at] = ['', line, line]
  for (const { 0: part, groups } of text.matchAll(token)) {
    if (groups?.end !== undefined) {
      if (rest !== '') statements.push({ text: rest.trimEnd(), line: restLine })
      rest = ''
    } else if (rest !== '') rest += part
    else if (groups?.empty === undefined) [rest, restLine] = [part, at]
    at += part.split('\n').length - 1
  }
  return { statements, rest, restLine: rest === '' ? at : restLine }
}

/** All of a text: what comes last needs no semicolon. */
export function statementsOf(text: string): readonly Statement[] {
  const { statements, rest, restLine } = split(text)
  return rest === '' ? statements : [...statements, { text: rest.trimEnd(), line: restLine }]
}

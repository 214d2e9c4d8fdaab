import {
  type Document,
  type ErrorCode,
  LineCounter,
  type Node,
  parseDocument,
  stringify,
  type YAMLError,
} from 'yaml'
import { ConfigError, type Position } from './problem.ts'

export interface Source {
  readonly document: Document<Node>
  /** Line and column of an offset in the text. */
  readonly position: (offset: number) => Position
}

/** In place of the parser's own sentences where those quote the file, which may hold a secret, or say no remedy. */
const sentences: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'an alias must be an asterisk and a name, as in *name; quote the text if it is none',
  BAD_COLLECTION_TYPE: 'this collection does not fit its tag',
  BAD_DIRECTIVE: 'a line that begins with % is a directive, and this one is not known; quote the text',
  BAD_DQ_ESCAPE:
    'a backslash inside double quotes must begin a known escape; use single quotes, or write \\\\',
  BAD_INDENT: 'the indentation does not fit, or a bracket or brace is not closed',
  BAD_SCALAR_START: 'a value cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a second "key:" on one line, or a line indented too far; quote the text or mend the indentation',
  KEY_OVER_1024_CHARS: 'a key cannot be longer than 1024 characters; is a quote not closed?',
  MISSING_CHAR: 'the indentation does not fit, or a quote, colon, comma, bracket or brace is missing',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line; is a colon, a comma or a quote missing?',
  MULTIPLE_DOCS: 'a second document begins here ("---"); the configuration is one document',
  TAB_AS_INDENT: 'a tab cannot indent; use spaces',
  TAG_RESOLVE_FAILED: 'tags (!name) are not supported; write plain text',
  UNEXPECTED_TOKEN: 'this is not expected here; look for a stray character, or a quote that was not closed',
}

function sentenceFor({ code, message, pos: [offset] }: YAMLError, text: string): string {
  const around = text.slice(Math.max(0, offset - 1), offset + 2)
  if (code === 'UNEXPECTED_TOKEN' && around.includes(`\${`)) {
    return `inside { } or [ ], a value with \${...} must be in quotes: "\${NAME}"`
  }
  const ends = text.trimEnd().length <= offset
  if (ends && code === 'MISSING_CHAR')
    return 'the file ends here, but a quote, bracket or brace is still open'
  return sentences[code] ?? message
}

/**
 * Parses YAML with every scalar kept as the text it was written as, so that an app called 007 stays 007.
 * Throws ConfigError with what is wrong with its syntax: one problem a line, since one mistake causes several.
 */
export function parseSyntax(text: string, file: string): Source {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    schema: 'failsafe',
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    logLevel: 'error',
  })
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const problems = [...document.errors, ...document.warnings].map(error => ({
    path: [],
    at: position(error.pos[0]),
    text: sentenceFor(error, text),
  }))
  const firstOfLine = new Map(problems.toReversed().map(problem => [problem.at.line, problem]))
  if (problems.length > 0) throw new ConfigError(file, [...firstOfLine.values()])
  return { document, position }
}

/** Writes settings as YAML, each text in quotes, so that none is taken for a number; what is undefined is left out. */
export function writeYaml(settings: object): string {
  return stringify(settings, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 })
}

/** Variables by name, as in process.env. */
export type Environment = Readonly<Record<string, string | undefined>>

type Substituted =
  | { readonly ok: true; readonly text: string; readonly variables: readonly string[] }
  | { readonly ok: false; readonly problem: string }

const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{)[^}])*))?\}|\$\{/g

/**
 * Replaces `${NAME}` and `${NAME:-default}` anywhere in a text; `$${` stands for a literal `${`. A default is
 * used when the variable is unset or empty. What a variable holds is never read as a reference again.
 */
export function substitute(text: string, env: Environment): Substituted {
  const variables: string[] = []
  const problems: string[] = []
  const replaced = text.replace(
    reference,
    (whole: string, name: string | undefined, fallback: string | undefined) => {
      if (whole === '$${') return '${'
      if (name === undefined) {
        problems.push(`"\${" must be followed by NAME} or NAME:-default}; write "$\${" for a literal "\${"`)
        return ''
      }
      variables.push(name)
      const value = env[name]
      if (fallback !== undefined) return value ? value : fallback
      if (value !== undefined) return value
      problems.push(
        `the environment variable ${name} is not set; set it, or give a default: \${${name}:-default}`,
      )
      return ''
    },
  )
  const [problem] = problems
  return problem === undefined ? { ok: true, text: replaced, variables } : { ok: false, problem }
}

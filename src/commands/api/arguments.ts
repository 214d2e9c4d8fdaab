import { readFile } from 'node:fs/promises'
import { isOfProject } from '../../client/arguments.ts'
import { describeOperation, type ParameterFacts } from '../../client/describe.ts'
import { reasonOf } from '../../config/secret.ts'
import { nearest } from '../../config/suggest.ts'
import type { Environment } from '../../config/syntax.ts'
import { called, type Operation, type Parameters } from '../../provider/operation.ts'
import { parseDuration } from '../../settings/values.ts'
import { CommandError, exitUsage } from '../cli/exit.ts'

/** The values of a command line as the operation wants them. Throws CommandError; the text never holds a value. */
export async function readValues(
  operation: Operation,
  written: ReadonlyMap<string, string>,
  env: Environment,
): Promise<Parameters> {
  const facts = describeOperation(operation).filter(({ name }) => !isOfProject(name))
  const entries: [string, unknown][] = []
  for (const [name, text] of written) {
    const fact = facts.find(each => each.name === name)
    if (!fact) throw unknownParameter(operation, name, facts)
    entries.push([name, readAs(operation, fact, await resolve(operation, fact, text, env))])
  }
  return Object.fromEntries(entries)
}

/** The text behind `@FILE`, `env:NAME` or `text:VALUE`, or the text itself. */
async function resolve(
  operation: Operation,
  { name, secret }: ParameterFacts,
  text: string,
  env: Environment,
): Promise<string> {
  if (text.startsWith('@')) return readText(operation, name, text.slice(1))
  if (text.startsWith('env:')) {
    const value = env[text.slice(4)]
    if (value === undefined) throw wrong(operation, name, 'there is no such variable in the environment')
    return value
  }
  if (secret) {
    throw wrong(
      operation,
      name,
      'is secret, and others can read a command line: write @FILE or env:NAME, and change the secret that was written here',
    )
  }
  return text.startsWith('text:') ? text.slice(5) : text
}

/** The line break at the end of a file belongs to no value. */
async function readText(operation: Operation, name: string, path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw wrong(operation, name, `the file cannot be read: ${reasonOf(error)}`)
  })
  return text.replace(/\r?\n$/, '')
}

function readAs(operation: Operation, { name, kind, type }: ParameterFacts, text: string): unknown {
  switch (kind) {
    case 'text':
      return text
    case 'number':
      if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text)
      throw wrong(operation, name, `must be a number (${type})`)
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true'
      throw wrong(operation, name, 'must be true or false')
    case 'json':
      try {
        return JSON.parse(text)
      } catch {
        throw wrong(operation, name, `must be JSON (${type})`)
      }
  }
}

function unknownParameter(
  operation: Operation,
  name: string,
  facts: readonly ParameterFacts[],
): CommandError {
  if (isOfProject(name)) return wrong(operation, name, 'the project is given by --app')
  const meant = nearest(name, [...facts.map(fact => fact.name), ...ownOptions, 'dry-run', 'json'])
  const hint = meant ? `did you mean --${meant}?` : `penstock api ${called(operation)} --help lists them`
  return new CommandError(`${called(operation)} has no parameter ${name}; ${hint}`, exitUsage)
}

function wrong(operation: Operation, name: string, text: string): CommandError {
  return new CommandError(`${called(operation)}: --${name}: ${text}`, exitUsage)
}

/** What the words of a command line ask for, before the operation is known. */
export interface ApiWords {
  /** `family.name`; absent where the command stands alone. */
  readonly operation: string | undefined
  readonly config: string
  readonly app: string | undefined
  /** ms */
  readonly timeout: number | undefined
  readonly requestId: string | undefined
  readonly wants: ReadonlySet<Wish>
  /** Parameters of the operation, as written. */
  readonly values: ReadonlyMap<string, string>
}

export type Wish = 'help' | 'json' | 'dry-run'

const wishes: ReadonlyMap<string, Wish> = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--json', 'json'],
  ['--dry-run', 'dry-run'],
])

/** Options of the command that take a value; no parameter of an operation has such a name. */
export const ownOptions = ['config', 'app', 'patience', 'request-id'] as const

/** Reads the words behind `penstock api`. Throws CommandError for what is no option and no value of one. */
export function readWords(words: readonly string[]): ApiWords {
  const wants = new Set<Wish>()
  const values = new Map<string, string>()
  const named: string[] = []
  const rest = words.values()
  for (const word of rest) {
    const wish = wishes.get(word)
    if (wish) wants.add(wish)
    else if (word.startsWith('--')) readOption(word, rest, values)
    else named.push(word)
  }
  const [operation, stray] = named
  if (stray !== undefined) throw usage(`"${stray}" stands behind no option: write --PARAMETER VALUE`)
  const [config = 'penstock.yaml', app, timeout, requestId] = ownOptions.map(name => {
    const value = values.get(name)
    values.delete(name)
    return value
  })
  return { operation, config, app, timeout: timeoutOf(timeout), requestId, wants, values }
}

function readOption(word: string, rest: Iterator<string>, values: Map<string, string>): void {
  const [, name, joined] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? []
  if (!name) throw usage(`"${word}" is no option`)
  if (values.has(name)) throw usage(`--${name} is given twice`)
  const value = joined ?? rest.next().value
  if (value === undefined || (joined === undefined && value.startsWith('--'))) {
    throw usage(`--${name} needs a value; one that begins with -- is written --${name}=VALUE`)
  }
  values.set(name, value)
}

function timeoutOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = parseDuration(text)
  if (ms === undefined) throw usage('--patience must be a duration such as 30s, 5m or 0s')
  return ms
}

function usage(text: string): CommandError {
  return new CommandError(`${text} (penstock api --help tells more)`, exitUsage)
}

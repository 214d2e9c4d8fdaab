import { parseDuration } from '../../config/duration.ts'
import { CommandError, exitUsage } from '../cli/exit.ts'

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

import { isUtf8 } from 'node:buffer'
import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { getSystemErrorMessage, inspect, promisify } from 'node:util'
import { type Path, type Problem, pathText } from './problem.ts'
import type { Environment } from './syntax.ts'
import type { Tree } from './tree.ts'

/** A secret could not be had. `key` is where the configuration speaks of it; the reason never holds what was read. */
export class SecretError extends Error {
  override readonly name = 'SecretError'
  readonly reason: string
  constructor(key: string, reason: string) {
    super(`${key}: ${reason}`)
    this.reason = reason
  }
}

const redacted = '[redacted]'
/** Values that are remembered for the log filter: a rotated token may still turn up in an answer. */
const remembered = 4

/**
 * A secret that cannot be printed by accident: as text, as JSON and in the inspector it is `[redacted]`.
 * `read` is asked once, and again after each `refresh`.
 */
export class Secret {
  readonly #read: () => Promise<string>
  /** Where it comes from; may hold the plain text. */
  readonly #origin: string
  #reading: Promise<string> | undefined
  #seen: readonly string[]

  private constructor(read: () => Promise<string>, origin: string, seen: readonly string[]) {
    this.#read = read
    this.#origin = origin
    this.#seen = seen
  }

  /** A secret that stands in the configuration or in the environment; refreshing it changes nothing. */
  static of(text: string): Secret {
    return new Secret(async () => text, `text ${text}`, [text])
  }

  /** A secret that is read from outside, for the first time when it is first asked for. */
  static from(read: () => Promise<string>, origin: string): Secret {
    return new Secret(read, origin, [])
  }

  /** Whether both come from the same place, whatever that holds by now. */
  isSame(other: Secret): boolean {
    return this.#origin === other.#origin
  }

  /** The plain text. Throws SecretError when it cannot be read; the next call tries again. */
  reveal(): Promise<string> {
    this.#reading ??= this.#load()
    return this.#reading
  }

  /** Lets the next `reveal` read the secret anew: its file may have changed, its token may have expired. */
  refresh(): void {
    this.#reading = undefined
  }

  /** Plain texts that were revealed so far, latest first, for a filter that keeps them out of logs. */
  known(): readonly string[] {
    return this.#seen
  }

  toString(): string {
    return redacted
  }

  toJSON(): string {
    return redacted
  }

  [inspect.custom](): string {
    return redacted
  }

  #load(): Promise<string> {
    const reading = this.#read().then(
      text => {
        this.#seen = [text, ...this.#seen.filter(seen => seen !== text)].slice(0, remembered)
        return text
      },
      (error: unknown) => {
        if (this.#reading === reading) this.#reading = undefined
        throw error
      },
    )
    return reading
  }
}

/** A secret is a line; whoever points at a larger file has pointed at the wrong one. */
const maxSecretBytes = 65_536
const commandLimitMs = 10_000

/** Reads a secret from a file that holds nothing else. `key` names it in a SecretError; the path is not shown. */
export async function readSecretFile(key: string, path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new SecretError(key, `the file cannot be read: ${reasonOf(error)}`)
  })
  return oneLine(key, 'the file', bytes)
}

/**
 * Runs a program, without a shell, and takes what it prints as the secret. It is killed after ten seconds.
 * Neither its words nor its output are ever part of an error.
 */
export async function runSecretCommand(
  key: string,
  words: readonly string[],
  env: Environment,
  limitMs = commandLimitMs,
): Promise<string> {
  const [program = '', ...args] = words
  const running = promisify(execFile)(program, args, {
    encoding: 'buffer',
    env: { ...env },
    timeout: limitMs,
    killSignal: 'SIGKILL',
    maxBuffer: maxSecretBytes,
    windowsHide: true,
  })
  const { stdout } = await running.catch((error: CommandFailure) => {
    throw new SecretError(key, `the program ${failureOf(error, limitMs)}`)
  })
  return oneLine(key, 'what the program printed', stdout)
}

function oneLine(key: string, what: string, bytes: Buffer): string {
  const text = bytes.toString().trim()
  const wrong = [
    [bytes.byteLength > maxSecretBytes, `longer than ${maxSecretBytes} bytes`],
    [!isUtf8(bytes), 'not UTF-8'],
    [text === '', 'empty'],
    [/\p{Cc}/u.test(text), 'more than one line'],
  ] as const
  const [, reason] = wrong.find(([isWrong]) => isWrong) ?? []
  if (reason !== undefined) throw new SecretError(key, `${what} is ${reason}`)
  return text
}

interface CommandFailure {
  readonly code?: string | number | null
  readonly killed?: boolean
  readonly signal?: string | null
}

function failureOf(error: CommandFailure, limitMs: number): string {
  const { code, killed, signal } = error
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${maxSecretBytes} bytes`
  if (killed) return `did not end within ${limitMs} ms`
  if (signal) return `was ended by ${signal}`
  return typeof code === 'number' ? `failed with exit code ${code}` : `cannot be run: ${reasonOf(error)}`
}

/** Why the system refused a file or a program, without the path that its own message holds. */
export function reasonOf(error: unknown): string {
  const { errno, code } = Object(error) as NodeJS.ErrnoException
  return errno === undefined ? (code ?? 'unknown reason') : getSystemErrorMessage(errno)
}

interface Taken {
  readonly path: Path
  readonly secret: Secret
  readonly file: string
}

/** Makes secrets of what the configuration says, and reads those that lie in files once, to see that it can be done. */
export class SecretCollector {
  private readonly files: Taken[] = []
  private readonly tree: Tree
  private readonly folder: string
  private readonly env: Environment
  private inline = false

  constructor(tree: Tree, folder: string, env: Environment) {
    this.tree = tree
    this.folder = folder
    this.env = env
  }

  /** Makes the secret of a key; its file and its command have the same key with a suffix. `base`: of what is said. */
  take(base: Path, said: Readonly<Record<string, unknown>>, key: string): Secret {
    const under = (suffix: string) => [...base, `${key}${suffix}`]
    const { [`${key}File`]: file, [`${key}Command`]: command, [key]: text = '' } = said
    if (file !== undefined) {
      const [path, full] = [under('File'), resolve(this.folder, String(file))]
      const secret = Secret.from(() => readSecretFile(pathText(path), full), `file ${full}`)
      this.files.push({ path, secret, file: full })
      return secret
    }
    if (command !== undefined) {
      const words = command as readonly string[]
      const run = () => runSecretCommand(pathText(under('Command')), words, this.env)
      return Secret.from(run, `program ${JSON.stringify(words)}`)
    }
    this.inline ||= this.tree.holds(under('')) && this.tree.variablesOf(under('')).length === 0
    return Secret.of(String(text))
  }

  /** Whether a secret stands in the configuration file itself. */
  holdsInline(): boolean {
    return this.inline
  }

  /** What is wrong with the files of secrets. One is read after the other: there may be thousands. */
  async problems(): Promise<readonly Problem[]> {
    const found: Problem[] = []
    for (const { path, secret } of this.files) {
      const reason = await secret.reveal().then(() => undefined, whyUnreadable)
      if (reason === undefined) continue
      const text = `${reason} (relative paths start at ${this.folder})`
      found.push({ path, at: this.tree.placeOf(path), text })
    }
    return found
  }

  /** Files of secrets that every user of the machine can read. */
  async openFiles(): Promise<readonly Problem[]> {
    const found: Problem[] = []
    for (const { path, file } of this.files) {
      if (!(await isWorldReadable(file))) continue
      const text = 'every user of this machine can read this file; chmod 600 closes it'
      found.push({ path, at: this.tree.placeOf(path), text })
    }
    return found
  }
}

function whyUnreadable(error: unknown): string {
  if (error instanceof SecretError) return error.reason
  throw error
}

/** False for a file that is not there. */
export async function isWorldReadable(file: string): Promise<boolean> {
  const { mode } = await stat(file).catch(() => ({ mode: 0 }))
  return (mode & 0o004) !== 0
}

import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Environment } from './environment.ts'
import { type Path, type Problem, pathText } from './problem.ts'
import { Secret, SecretError } from './secret.ts'
import { readSecretFile, runSecretCommand } from './secret-source.ts'
import type { Tree } from './tree.ts'

/** The ways in which a configuration may give one secret, and the one it has chosen. */
export interface SecretForms {
  readonly text?: string | undefined
  readonly file?: string | undefined
  readonly command?: readonly string[] | undefined
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

  /** `path` is that of the plain form; the key of a file or a command is the same with a suffix. */
  take(path: Path, { text, file, command }: SecretForms): Secret {
    if (file !== undefined) {
      const full = resolve(this.folder, file)
      const under = suffixed(path, 'File')
      const secret = Secret.from(() => readSecretFile(pathText(under), full))
      this.files.push({ path: under, secret, file: full })
      return secret
    }
    if (command !== undefined) {
      return Secret.from(() => runSecretCommand(pathText(suffixed(path, 'Command')), command, this.env))
    }
    this.inline ||= this.tree.holds(path) && this.tree.variablesOf(path).length === 0
    return Secret.of(text ?? '')
  }

  /** Whether a secret stands in the configuration file itself. */
  holdsInline(): boolean {
    return this.inline
  }

  /** What is wrong with the files of secrets. One is read after the other: there may be thousands. */
  async problems(): Promise<readonly Problem[]> {
    const found: Problem[] = []
    for (const { path, secret } of this.files) {
      const reason = await secret.reveal().then(() => undefined, reasonWhy)
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

function reasonWhy(error: unknown): string {
  if (error instanceof SecretError) return error.reason
  throw error
}

/** False for a file that is not there. */
export async function isWorldReadable(file: string): Promise<boolean> {
  const { mode } = await stat(file).catch(() => ({ mode: 0 }))
  return (mode & 0o004) !== 0
}

function suffixed(path: Path, suffix: string): Path {
  return [...path.slice(0, -1), `${path.at(-1)}${suffix}`]
}

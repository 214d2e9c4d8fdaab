import { readFile } from 'node:fs/promises'
import { ConfigError } from './problem.ts'
import { reasonOf } from './secret.ts'
import { type Environment, parseSyntax } from './syntax.ts'
import { readTree, valueAt } from './tree.ts'

export interface Listen {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
}

export const usualListen = '127.0.0.1:9464'

export const listenAllowed =
  'host:port, as in 127.0.0.1:9464, 0.0.0.0:9464 or [::1]:9464 (port 0 takes any free one)'

/** Reads an address to listen on; undefined where it is none. */
export function readListen(written: string): Listen | undefined {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(written) ?? []
  const host = bracketed ?? plain
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/** The same as it is written. */
export function shownListen({ host, port }: Listen): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

const path = ['http', 'listen'] as const

/**
 * Reads `http.listen` alone from the configuration at a path, with a fraction of the memory that the whole takes: it
 * loads no schema. Throws ConfigError where the file cannot be read or says nothing that can be listened on; whatever
 * else is wrong with it is for others to find.
 */
export async function loadListen(file: string, { env }: { readonly env: Environment }): Promise<Listen> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new ConfigError(file, [
      { path: [], at: undefined, text: `the file cannot be read: ${reasonOf(error)}` },
    ])
  })
  const tree = readTree(parseSyntax(text, file), env)
  if (tree.isBroken(path)) {
    throw new ConfigError(
      file,
      tree.problems.filter(problem => path.every((key, i) => (problem.path[i] ?? key) === key)),
    )
  }
  const written = valueAt(tree, path)
  const listen = readListen(written === undefined ? usualListen : typeof written === 'string' ? written : '')
  if (listen) return listen
  throw new ConfigError(file, [{ path, at: tree.placeOf(path), text: `must be ${listenAllowed}` }])
}

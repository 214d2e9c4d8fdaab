import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { Environment } from './environment.ts'
import { SecretError } from './secret.ts'

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
  const options = {
    encoding: 'buffer',
    env: { ...env },
    timeout: limitMs,
    killSignal: 'SIGKILL',
    maxBuffer: maxSecretBytes,
    windowsHide: true,
  } as const
  const output = await new Promise<Buffer>((resolve, reject) => {
    execFile(program, args, options, (error, stdout) => {
      if (error) return reject(new SecretError(key, `the program ${failureOf(error, limitMs)}`))
      resolve(stdout)
    })
  })
  return oneLine(key, 'what the program printed', output)
}

function oneLine(key: string, what: string, bytes: Uint8Array): string {
  if (bytes.byteLength > maxSecretBytes)
    throw new SecretError(key, `${what} is longer than ${maxSecretBytes} bytes`)
  const text = decode(bytes)?.trim()
  if (text === undefined) throw new SecretError(key, `${what} is not UTF-8`)
  if (text === '') throw new SecretError(key, `${what} is empty`)
  if (Array.from(text).some(character => character < ' ' || character === '\x7f')) {
    throw new SecretError(key, `${what} is more than one line`)
  }
  return text
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

interface CommandFailure {
  readonly code?: string | number | null
  readonly killed?: boolean
  readonly signal?: string | null
}

function failureOf({ code, killed, signal }: CommandFailure, limitMs: number): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${maxSecretBytes} bytes`
  if (killed) return `did not end within ${limitMs} ms`
  if (signal) return `was ended by ${signal}`
  return typeof code === 'number' ? `failed with exit code ${code}` : `cannot be run: ${reasonOf({ code })}`
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is none at this path',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is not a directory',
  ELOOP: 'too many symbolic links',
  EMFILE: 'too many open files',
}

/** Why the system refused a file or a program, without the path that its own message holds. */
export function reasonOf(error: unknown): string {
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown reason'
  return reasons[code] ?? code
}

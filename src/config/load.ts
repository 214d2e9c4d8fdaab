import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { z } from 'zod'
import { leafOf } from '../settings/leaf.ts'
import { bare, childOf } from '../settings/walk.ts'
import { type Streams, streams as shipped } from '../streams/index.ts'
import { type Config, resolveConfig } from './config.ts'
import { explain } from './explain.ts'
import { ConfigError, formatProblem, type Problem } from './problem.ts'
import { checkRules } from './rules.ts'
import { configSchema } from './schema.ts'
import { isWorldReadable, reasonOf, type Secret, SecretCollector } from './secret.ts'
import { checkRenames, checkSettings } from './settings-rules.ts'
import { type Environment, parseSyntax } from './syntax.ts'
import { isMapping, readTree, type Tree } from './tree.ts'

/** Ten thousand apps fit many times over. */
const maxFileBytes = 16 * 1_048_576

const start = { line: 1, column: 1 }

/**
 * Reads, checks and completes the configuration at a path. Throws ConfigError with everything that is wrong,
 * in the order of the file. Reads files of secrets; runs no command and asks nothing of the network.
 */
export async function loadConfig(
  path: string,
  { env, streams = shipped }: { readonly env: Environment; readonly streams?: Streams },
): Promise<Config> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new ConfigError(path, [whole(`the file cannot be read: ${reasonOf(error)}`)])
  })
  if (bytes.byteLength > maxFileBytes)
    throw new ConfigError(path, [whole(`longer than ${maxFileBytes} bytes`)])
  return await parse(decode(path, bytes), path, {
    env,
    streams,
    folder: dirname(resolve(path)),
    onDisk: path,
  })
}

/**
 * Does the same for a text. `name` stands for the file in messages; relative paths of secret files start at
 * `folder`.
 */
export async function readConfig(
  text: string,
  {
    name,
    streams = shipped,
    ...surroundings
  }: { readonly name: string; readonly streams?: Streams } & Pick<Surroundings, 'env' | 'folder'>,
): Promise<Config> {
  return await parse(text, name, { ...surroundings, streams, onDisk: undefined })
}

interface Surroundings {
  readonly env: Environment
  readonly streams: Streams
  readonly folder: string
  /** The file itself, where there is one that others may read. */
  readonly onDisk: string | undefined
}

async function parse(text: string, name: string, surroundings: Surroundings): Promise<Config> {
  const { env, streams, folder, onDisk } = surroundings
  const schema = configSchema(streams)
  const { source, problems: syntax } = parseSyntax(text)
  if (syntax.length > 0) throw new ConfigError(name, syntax)
  const tree = readTree(source, env)
  if (tree.value === null && tree.problems.length === 0) {
    throw new ConfigError(name, [
      { path: [], at: start, text: 'says nothing; config/penstock.example.yaml shows every key' },
    ])
  }
  const { success, data, error } = schema.safeParse(withoutBlanks(schema, tree.value))
  const problems = [
    ...tree.problems,
    ...explain(schema, tree, error?.issues ?? []),
    ...checkRules(schema, streams, tree, env),
  ]
  if (!success) throw new ConfigError(name, problems)

  const collector = new SecretCollector(tree, folder, env)
  const config = resolveConfig(data, streams, collector, env)
  problems.push(...checkSettings(config, tree), ...checkRenames(config, tree))
  const unreadable = await collector.problems()
  const addresses =
    unreadable.length > 0
      ? []
      : [
          ...(await databaseAddress(config.database.url, tree)),
          ...(await proxyAddress(config.provider.proxy, tree)),
        ]
  const all = [...problems, ...unreadable, ...addresses]
  if (all.length > 0) throw new ConfigError(name, all)

  const exposed = onDisk !== undefined && collector.holdsInline() && (await isWorldReadable(onDisk))
  const warnings = [...(exposed ? [whole(openFile)] : []), ...(await collector.openFiles())]
  return { ...config, warnings: warnings.map(warning => formatProblem(name, warning)) }
}

const openFile =
  'holds secrets, and every user of this machine can read it; chmod 600 closes it, and a variable or a ...File key keeps them out'

/** A section or list without a value is as good as left out: everything in it may be commented out. */
function withoutBlanks(schema: z.core.$ZodType, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, i) => withoutBlanks(childOf(schema, i) ?? schema, item))
  if (!isMapping(value)) return value
  const kept = Object.entries(value).flatMap(([key, child]): readonly [string, unknown][] => {
    const under = childOf(schema, key)
    if (!under) return [[key, child]]
    return child === null && !leafOf(bare(under)) ? [] : [[key, withoutBlanks(under, child)]]
  })
  return Object.fromEntries(kept)
}

/** The address may come from a file or the environment, so it is checked once it is known. */
async function databaseAddress(url: Secret, tree: Tree): Promise<readonly Problem[]> {
  const text = await url.reveal()
  if (text === 'embedded' || (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text))) return []
  const path = ['database', 'url']
  const expected = 'must be embedded, or an address such as postgres://user:password@host:5432/name'
  return [{ path, at: tree.keyOf(path), text: `${expected}; what it is now is not shown here` }]
}

async function proxyAddress(proxy: Secret | undefined, tree: Tree): Promise<readonly Problem[]> {
  const url = proxy && URL.parse(await proxy.reveal())
  if (proxy === undefined || (url && /^https?:$/.test(url.protocol) && url.pathname === '/')) return []
  const path = ['provider', 'proxy']
  const expected = 'must be an address such as http://user:password@proxy.example.com:3128'
  return [{ path, at: tree.keyOf(path), text: `${expected}; what it is now is not shown here` }]
}

function whole(text: string): Problem {
  return { path: [], at: undefined, text }
}

/** No byte of a longer UTF-8 character is a line feed, so lines can be tried one by one. */
function decode(path: string, bytes: Uint8Array): string {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  try {
    return utf8.decode(bytes)
  } catch {
    const line = lines(bytes).findIndex(part => !isUtf8(part)) + 1
    throw new ConfigError(path, [
      { path: [], at: { line, column: 1 }, text: 'this line is not UTF-8; save the file as UTF-8' },
    ])
  }
}

function lines(bytes: Uint8Array): readonly Uint8Array[] {
  const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([i]) => i + 1)
  return [0, ...ends].map((from, i) => bytes.subarray(from, ends[i] ?? bytes.length))
}

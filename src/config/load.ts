import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { z } from 'zod'
import { isObject } from '../provider/fits.ts'
import { leafOf } from '../settings/leaf.ts'
import { childOf } from '../settings/walk.ts'
import { type Streams, streams as shipped } from '../streams/index.ts'
import { type Config, resolveConfig } from './config.ts'
import { explain } from './explain.ts'
import { ConfigError, formatProblem, type Problem } from './problem.ts'
import { checkRules } from './rules.ts'
import { configSchema } from './schema.ts'
import { isWorldReadable, reasonOf, SecretCollector } from './secret.ts'
import { databaseAddress, directAddress } from './sections.ts'
import { proxyAddress } from './services.ts'
import { type Environment, parseSyntax } from './syntax.ts'
import { readTree, type Tree } from './tree.ts'

/** Writes what is found out only later of values of a file as `loadConfig` writes what it finds. */
export async function placed(
  path: string,
  found: readonly Pick<Problem, 'path' | 'text'>[],
  env: Environment,
): Promise<readonly string[]> {
  if (found.length === 0) return []
  const tree = readTree(parseSyntax(await readFile(path, 'utf8'), path), env)
  return found.map(problem => formatProblem(path, { ...problem, at: tree.keyOf(problem.path) }))
}

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
    const remedy =
      Object(error).code === 'ENOENT' ? '; `penstock init` writes one, --config names another' : ''
    throw new ConfigError(path, [whole(`the file cannot be read: ${reasonOf(error)}${remedy}`)])
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
  const tree = readTree(parseSyntax(text, name), env)
  if (tree.value === null && tree.problems.length === 0) {
    throw new ConfigError(name, [
      { path: [], at: start, text: 'says nothing; config/penstock.example.yaml shows every key' },
    ])
  }
  const { success, data, error } = schema.safeParse(withoutBlanks(schema, tree.value))
  const problems = [...tree.problems, ...explain(schema, tree, error?.issues ?? [])]
  if (!success) throw new ConfigError(name, problems)

  const collector = new SecretCollector(tree, folder, env)
  const config = resolveConfig(data, streams, collector, env)
  problems.push(...checkRules(config, tree, env))
  const unreadable = await collector.problems()
  const addresses = unreadable.length > 0 ? [] : await checkAddresses(config, tree)
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
  const inside = (step: string | number, child: unknown) => {
    const under = childOf(schema, step)
    return under ? withoutBlanks(under, child) : child
  }
  if (Array.isArray(value)) return value.map((item, i) => inside(i, item))
  if (!isObject(value)) return value
  const isBlank = (key: string) => {
    const under = childOf(schema, key)
    return value[key] === null && under && !leafOf(under)
  }
  const kept = Object.keys(value).filter(key => !isBlank(key))
  return Object.fromEntries(kept.map(key => [key, inside(key, value[key])]))
}

/** An address may come from a file or the environment, so it is checked once it is known. */
async function checkAddresses({ database, provider }: Omit<Config, 'warnings'>, tree: Tree) {
  const url = await database.url.reveal()
  const isDatabase = url === 'embedded' || isAddress(url)
  const proxy = provider.proxy && URL.parse(await provider.proxy.reveal())
  const isProxy = proxy && /^https?:$/.test(proxy.protocol) && proxy.pathname === '/'
  const wrong = [
    ...(isDatabase ? [] : [{ path: ['database', 'url'], allowed: databaseAddress }]),
    ...(await otherWays(database, url)),
    ...(isProxy || !provider.proxy ? [] : [{ path: ['provider', 'proxy'], allowed: proxyAddress }]),
  ]
  return wrong.map(({ path, allowed }): Problem => {
    return { path, at: tree.keyOf(path), text: `must be ${allowed}; what it is now is not shown here` }
  })
}

const isAddress = (url: string) => /^postgres(ql)?:\/\/./.test(url) && URL.canParse(url)

/** Other ways to the same database, which an embedded one has none of. */
async function otherWays({ directUrl, readUrl }: Config['database'], url: string) {
  const isEmbedded = url === 'embedded'
  const allowed = isEmbedded ? 'left out while database.url is embedded' : directAddress
  const given = Object.entries({ directUrl, readUrl })
  const wrong = await Promise.all(
    given.map(async ([, way]) => way !== undefined && (isEmbedded || !isAddress(await way.reveal()))),
  )
  return given.flatMap(([key], i) => (wrong[i] ? [{ path: ['database', key], allowed }] : []))
}

function whole(text: string): Problem {
  return { path: [], at: undefined, text }
}

/** No byte of a longer UTF-8 character is a line feed, so lines can be tried one by one. */
function decode(path: string, bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  const lines = bytes.toString('latin1').split('\n')
  const line = lines.findIndex(text => !isUtf8(Buffer.from(text, 'latin1'))) + 1
  const text = 'this line is not UTF-8; save the file as UTF-8'
  throw new ConfigError(path, [{ path: [], at: { line, column: 1 }, text }])
}

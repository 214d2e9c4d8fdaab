import { z } from 'zod'
import { configSchema } from './schema/index.ts'
import { leafOf } from './schema/leaf.ts'
import { bare, type KeyInfo, keysOf, mappingOf } from './schema/walk.ts'

/** The configuration as a markdown table: every key, what it may be, what holds by default, what it means. */
export function configReference(): string {
  const head = ['| key | allowed | default | meaning |', '|---|---|---|---|']
  return [...head, ...keysOf(configSchema).filter(isOwnRow).map(row)].join('\n')
}

/** Streams and limits of one app repeat those of the whole file: one row says so. */
function isOwnRow({ path }: KeyInfo): boolean {
  const [first, , third] = path
  return !(first === 'apps' && (third === 'streams' || third === 'limits') && path.length > 3)
}

function row(key: KeyInfo): string {
  const cells = [
    `\`${key.path.join('.').replaceAll('.[]', '[]')}\``,
    allowedIn(key),
    fallbackIn(key),
    key.description,
  ]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function allowedIn({ schema }: KeyInfo): string {
  const inner = bare(schema)
  const leaf = leafOf(inner)
  if (leaf) return leaf.allowed
  if (inner instanceof z.ZodArray) return 'a list'
  return inner instanceof z.ZodUnion ? 'off, or a mapping' : mappingOf(inner) ? 'a mapping' : ''
}

function fallbackIn({ schema, required, default: fallback }: KeyInfo): string {
  if (required) return 'required'
  return fallback === undefined || !leafOf(bare(schema)) ? '' : `\`${fallback === '' ? '""' : fallback}\``
}

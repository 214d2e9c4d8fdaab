import { z } from 'zod'
import { boundsOf, leafOf } from '../settings/leaf.ts'
import { bare, type KeyInfo, keysOf, listIn, mappingOf } from '../settings/walk.ts'
import { configSchema } from './schema/index.ts'

/** The configuration as a markdown table: every key, what it may be, what holds by default, what it means. */
export function configReference(): string {
  const head = ['| key | allowed | default | meaning |', '|---|---|---|---|']
  return [...head, ...keysOf(configSchema()).filter(isOwnRow).map(row)].join('\n')
}

/** Streams and limits of one app repeat those of the whole file: one row says so. */
function isOwnRow({ path }: KeyInfo): boolean {
  const [first, , third] = path
  return !(first === 'apps' && (third === 'streams' || third === 'limits') && path.length > 3)
}

function row(key: KeyInfo): string {
  const cells = [
    `\`${key.path.join('.').replaceAll('.[]', '[]')}\``,
    allowedIn(key.schema),
    fallbackIn(key),
    key.description,
  ]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function allowedIn(schema: z.core.$ZodType): string {
  const inner = bare(schema)
  const leaf = leafOf(inner)
  if (leaf) return leaf.allowed
  if (inner instanceof z.ZodArray) return allowedList(inner)
  if (inner instanceof z.ZodUnion) return inner.options.map(allowedIn).join(', or ')
  return mappingOf(inner) ? 'a mapping' : ''
}

/** What a list holds, where that is one value each. */
function allowedList(list: z.ZodArray): string {
  const item = leafOf(bare(list.element))
  const { min, max } = boundsOf(list)
  const size = max === undefined ? (min > 0 ? ', at least one' : '') : `, at most ${max}`
  return item ? `a list${size}; each ${item.allowed}` : `a list${size}`
}

function fallbackIn({ schema, required, default: fallback }: KeyInfo): string {
  if (required) return 'required'
  const isList = listIn(schema) !== undefined
  if (fallback === undefined || !(leafOf(bare(schema)) || isList)) return ''
  return `\`${isList ? listText(fallback) : fallback === '' ? '""' : fallback}\``
}

/** A list as YAML has it in one line. */
function listText(json: string): string {
  return `[${(JSON.parse(json) as readonly string[]).join(', ')}]`
}

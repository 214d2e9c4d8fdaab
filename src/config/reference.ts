import { z } from 'zod'
import { type Alternatives, boundsOf, type Leaf, leafOf, sectionOf } from '../settings/leaf.ts'
import { bare, defaultOf, type KeyInfo, keysOf, listIn, mappingOf } from '../settings/walk.ts'
import { configSchema } from './schema.ts'

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

/** The JSON schema for editors, as the text of its file. Wherever a value may stand, `${ENV}` may stand as well. */
export function jsonSchemaText(): string {
  const { $schema, ...schema } = z.toJSONSchema(configSchema(), {
    target: 'draft-07',
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const leaf = leafOf(bare(zodSchema))
      if (leaf) return describe(jsonSchema, leaf, defaultOf(zodSchema))
      const alternatives = sectionOf(zodSchema).alternatives
      if (alternatives.length > 0) jsonSchema.allOf = alternatives.map(({ keys, need }) => choice(keys, need))
    },
  })
  const text = JSON.stringify({ $schema, title: 'Configuration of Penstock', ...schema }, undefined, 2)
  return `${text.replace(/\[[^[\]{}]+\]/g, oneLine)}\n`
}

/** Lists of words stand in one line, as the formatter of this repository has them. */
function oneLine(list: string): string {
  return list.replace(/\n\s*/g, ' ').replace('[ ', '[').replace(' ]', ']')
}

/** Keeps what a person reads; the shape is the leaf's own. */
function describe(target: z.core.JSONSchema.BaseSchema, { json }: Leaf, fallback: string | undefined): void {
  const { description } = target
  for (const key of Object.keys(target)) delete target[key]
  if (description) target.description = description
  if (fallback !== undefined) target.default = typed(fallback, json.type)
  const takesAnyText = json.type === 'string' && !json.pattern
  Object.assign(target, takesAnyText ? json : { anyOf: [json, { type: 'string', pattern: '\\$\\{' }] })
}

function typed(text: string, type: unknown): string | number | boolean {
  if (type === 'integer') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}

function choice(keys: readonly string[], need: Alternatives['need']): z.core.JSONSchema.BaseSchema {
  const each = keys.map(key => ({ required: [key] }))
  if (need === 'some') return { anyOf: each }
  return need === 'required' ? { oneOf: each } : { not: { required: [...keys] } }
}

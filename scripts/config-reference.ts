import { z } from 'zod'
import { configSchema } from '../src/config/schema.ts'
import { type Alternatives, aboutOf, type Leaf, leafOf } from '../src/settings/leaf.ts'
import { type Key, keysOf, listIn } from '../src/settings/walk.ts'

/** The configuration as a markdown table: every key, what it may be, what holds by default, what it means. */
export function configReference(): string {
  const head = ['| key | allowed | default | meaning |', '|---|---|---|---|']
  return [...head, ...keysOf(configSchema()).filter(isOwnRow).map(row)].join('\n')
}

/** Streams and limits of one app repeat those of the whole file: one row says so. */
function isOwnRow({ path }: Key): boolean {
  const [first, , third] = path
  return !(first === 'apps' && (third === 'streams' || third === 'limits') && path.length > 3)
}

function row(key: Key): string {
  const cells = [
    `\`${key.path.join('.').replaceAll('.[]', '[]')}\``,
    // The rows below a mapping name its keys.
    aboutOf(key.schema).allowed.replace(/(a mapping) with .*/, '$1'),
    fallbackIn(key),
    descriptionOf(key),
  ]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

export function descriptionOf({ schema }: Key): string {
  return z.globalRegistry.get(schema)?.description ?? ''
}

/** What holds where a key is left out, as it would be written; undefined where there is nothing. */
export function defaultOf(schema: z.core.$ZodType): string | undefined {
  const { default: given } = z.globalRegistry.get(schema) ?? {}
  const fallback = given ?? (schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined)
  if (fallback === undefined) return undefined
  return typeof fallback === 'string' ? fallback : JSON.stringify(fallback)
}

function fallbackIn({ schema }: Key): string {
  const fallback = defaultOf(schema)
  if (!(schema instanceof z.ZodOptional) && fallback === undefined) return 'required'
  const isList = listIn(schema) !== undefined
  if (fallback === undefined || !(leafOf(schema) || isList)) return ''
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
      const leaf = leafOf(zodSchema)
      if (leaf) return describe(jsonSchema, leaf, defaultOf(zodSchema))
      const { alternatives = [] } = aboutOf(zodSchema)
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

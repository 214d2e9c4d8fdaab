import { z } from 'zod'
import { type Alternatives, type Leaf, leafOf, sectionOf } from '../settings/leaf.ts'
import { bare, defaultOf } from '../settings/walk.ts'
import { configSchema } from './schema/index.ts'

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

import { z } from 'zod'

/** What JSON calls an object: no array, no null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What stands under a key of an object or a list; undefined where there is neither. */
export function fieldOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

/** Whether a value is a number that no double holds. Not yet in TypeScript's library. */
export const { isRawJSON } = JSON as typeof JSON & { readonly isRawJSON: (value: unknown) => boolean }

/** Present and not null: the provider uses both to leave a field out. */
export function isSaid<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null
}

/** A longer text is no number. */
const longestNumber = 64

const decimal = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** A number as it comes: as itself, as a big integer, or written in a text; undefined where it is no finite one. */
export function readNumber(value: unknown): number | undefined {
  const number = convert(value)
  return number !== undefined && Number.isFinite(number) ? number : undefined
}

function convert(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string' || value.length > longestNumber) return undefined
  return decimal.test(value) ? Number(value) : undefined
}

/** Schemas that take a text of digits for the number that it writes. */
const ofWritten = new WeakSet<z.core.$ZodType>()

/** A number that may be written in a text, or beyond 2^53. What is none is left to the schema to refuse. */
export function written<T extends z.ZodType>(schema: T) {
  const made = z.preprocess(
    value => (typeof value === 'number' ? value : (readNumber(value) ?? value)),
    schema,
  )
  ofWritten.add(made)
  return made
}

const digits = /^\d{1,19}$/

/** The same of a whole number from 0 on, of which no digit is lost. */
export function writtenWhole<T extends z.ZodType>(schema: T) {
  const made = z.preprocess(value => {
    if (typeof value !== 'string' || !digits.test(value)) return value
    return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value)
  }, schema)
  ofWritten.add(made)
  return made
}

/** An ID of text that may come as a number. */
export function orNumber(id: z.ZodType<string, string>): z.ZodType<string> {
  return z.union([id, z.union([z.number(), z.bigint()]).transform(String).pipe(id)])
}

/** The last of the year 9999, Unix seconds. */
export const lastSecond = 253_402_300_799

/** A time of an answer, Unix seconds. What is less than a second is left out. */
export const second = written(
  z.number().min(0).max(lastSecond, 'must be seconds, not milliseconds').overwrite(Math.trunc),
)

/** Whether a value is what it should be. */
type Rule = (value: unknown) => boolean

const known = new WeakMap<z.core.$ZodType, Rule>()

/**
 * Whether a schema hands a value back as it is. To ask takes a tenth of what it takes to have the schema make its copy, and
 * nearly all that comes is as the contract says. False proves nothing: what does not fit, and what a schema changes or asks
 * in a way that is not known here, is for the schema itself to read.
 */
export function fits(schema: z.core.$ZodType, value: unknown): boolean {
  const rule = known.get(schema) ?? ruleOf(schema)
  known.set(schema, rule)
  return rule(value)
}

const never: Rule = () => false

function ruleOf(schema: z.core.$ZodType): Rule {
  const def = schema._zod.def as z.core.$ZodTypes['_zod']['def']
  const ofType = def.type === 'pipe' && ofWritten.has(schema) ? ruleOf(def.out) : ruleOfType(def)
  const checks = (def.checks ?? []).map(ruleOfCheck)
  return checks.length === 0 ? ofType : value => ofType(value) && checks.every(check => check(value))
}

function ruleOfType(def: z.core.$ZodTypes['_zod']['def']): Rule {
  switch (def.type) {
    case 'unknown':
      return () => true
    case 'string':
      return 'format' in def ? never : value => typeof value === 'string'
    case 'number':
      return ruleOfNumber('format' in def ? String(def.format) : '')
    case 'bigint':
      return 'format' in def ? never : value => typeof value === 'bigint'
    case 'boolean':
      return value => typeof value === 'boolean'
    case 'optional':
      return orElse(undefined, ruleOf(def.innerType))
    case 'nullable':
      return orElse(null, ruleOf(def.innerType))
    // What is put in its place is not what came.
    case 'catch':
      return ruleOf(def.innerType)
    case 'array':
      return ruleOfArray(ruleOf(def.element))
    case 'union': {
      const rules = def.options.map(ruleOf)
      return value => rules.some(rule => rule(value))
    }
    case 'object':
      return ruleOfObject(def)
    default:
      return never
  }
}

function ruleOfNumber(format: string): Rule {
  if (format === 'safeint') return Number.isSafeInteger
  if (format === 'int32') return value => typeof value === 'number' && (value | 0) === value
  return format === '' ? Number.isFinite : never
}

function orElse(nothing: unknown, inner: Rule): Rule {
  return value => value === nothing || inner(value)
}

function ruleOfArray(inner: Rule): Rule {
  return value => Array.isArray(value) && value.every(inner)
}

/** Other objects lose the fields that they do not name. */
function ruleOfObject({ shape, catchall }: z.core.$ZodObjectDef): Rule {
  if (catchall?._zod.def.type !== 'unknown') return never
  const fields = Object.entries(shape).map(([name, inner]) => {
    const rule = ruleOf(inner)
    return [name, rule, inner._zod.optin === 'optional' && rule(undefined)] as const
  })
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    for (const [name, rule, mayLack] of fields) {
      const field = (value as Readonly<Record<string, unknown>>)[name]
      if (field === undefined ? !mayLack : !rule(field)) return false
    }
    return true
  }
}

function ruleOfCheck({ _zod }: z.core.$ZodCheck): Rule {
  const def = _zod.def as z.core.$ZodChecks['_zod']['def'] | z.core.$ZodCustomDef
  switch (def.check) {
    case 'min_length':
      return value => (value as string).length >= def.minimum
    case 'max_length':
      return value => (value as string).length <= def.maximum
    case 'greater_than':
      return value => (def.inclusive ? value! >= def.value : value! > def.value)
    case 'less_than':
      return value => (def.inclusive ? value! <= def.value : value! < def.value)
    case 'overwrite':
      return value => Object.is(def.tx(value), value)
    case 'custom':
      return value => Boolean(def.fn(value))
    default:
      return never
  }
}

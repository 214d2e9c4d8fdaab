import { hash } from 'node:crypto'
import type { z } from 'zod'
import { fieldOf, fits, isSaid } from '../../provider/fits.ts'
import { maskSecrets } from '../../provider/redaction.ts'
import type { RowSet, TableName } from '../../tables/index.ts'
import type { Json, JsonObject } from '../../tables/json.ts'
import type { Reject, RejectReason } from '../page.ts'

export { isSaid }

/** An item that passed its schema: what the schema read, and all that came, unknown fields included. */
export interface Read<T> {
  readonly value: T
  readonly raw: JsonObject
  /** Place among its siblings, counted from 0; those that were set aside count too. */
  readonly ordinal: number
}

export type Judged<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reject: Reject }

export interface Sorted<T> {
  readonly good: readonly Read<T>[]
  readonly rejects: readonly Reject[]
}

/** What JSON calls an object: no array, no null. Whatever is read here came as JSON. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads one value; a refusal names the field below `path` and sets `item` aside, the value itself if not said. */
export function judge<T>(schema: z.ZodType<T>, value: unknown, path = '', item = value): Judged<T> {
  if (fits(schema, value)) return { ok: true, value: value as T }
  const result = schema.safeParse(value)
  if (result.success) return { ok: true, value: result.data }
  return { ok: false, reject: refusal(result.error.issues[0]!, value, path, item) }
}

/**
 * Reads items one by one, so that a bad one spoils no other. Ordinals count from `first`; refusals name the
 * place in the list only where the list itself is a field.
 */
export function judgeEach<T>(
  schema: z.ZodType<T>,
  items: readonly unknown[],
  list?: string,
  first = 0,
): Sorted<T> {
  const good: Read<T>[] = []
  const rejects: Reject[] = []
  for (let index = 0; index < items.length; index++) {
    const raw = items[index]
    const judged = judge(schema, raw, list === undefined ? '' : join(list, index))
    if (!judged.ok) rejects.push(judged.reject)
    else if (isObject(raw)) good.push({ value: judged.value, raw, ordinal: first + index })
  }
  return { good, rejects }
}

/** The same of a field that may be left out; where it is no list, that is set aside with the `item` that has it. */
export function judgeList<T>(schema: z.ZodType<T>, list: unknown, field: string, item: unknown): Sorted<T> {
  if (!isSaid(list)) return { good: [], rejects: [] }
  if (Array.isArray(list)) return judgeEach(schema, list, field)
  return { good: [], rejects: [{ reason: 'wrong_type', detail: `${field}: must be a list`, item }] }
}

/**
 * The fields of an object that have no column of their own, or that did not fit it: those are said and not in what was
 * `read`. Null where there are none.
 */
export function fieldsWithout(columns: ReadonlySet<string>, object: JsonObject, read: object = object): Json {
  const rest = Object.keys(object).filter(
    key => !columns.has(key) || !isRead(object[key], fieldOf(read, key)),
  )
  return rest.length === 0 ? null : Object.fromEntries(rest.map(key => [key, object[key]!]))
}

/** Of some fields of an object those that were not read as they came. */
export function unreadFields(names: readonly string[], object: Json, read: object): JsonObject {
  if (!isObject(object)) return {}
  const unread = names.filter(name => !isRead(object[name], fieldOf(read, name)))
  return Object.fromEntries(unread.map(name => [name, object[name]!]))
}

/** Whether a reading has all that is said, and of an object each field. */
function isRead(value: Json | undefined, read: unknown): boolean {
  if (!isSaid(value)) return true
  if (!isSaid(read)) return false
  return (
    !isObject(value) || Object.keys(value).every(key => !isSaid(value[key]) || isSaid(fieldOf(read, key)))
  )
}

/** A role or a user comes as an integer or as a word. */
export function asText(value: string | number | bigint | null | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

function refusal(issue: z.core.$ZodIssue, value: unknown, path: string, item: unknown): Reject {
  const [inside, message] = explain(issue, value)
  const field = inside.reduce(join, path)
  return { reason: reasonOf(issue, value), detail: field === '' ? message : `${field}: ${message}`, item }
}

/**
 * Where something is wrong, and what; no values. Of a field that may be of several kinds the schema says no more than that it
 * is of none: then what each of them lacks tells. One that is of a kind but for a part of it is wrong in that part.
 */
function explain(issue: z.core.$ZodIssue, value: unknown): readonly [path: PropertyKey[], message: string] {
  if (issue.code !== 'invalid_union') return [issue.path, issue.message]
  const found = issue.path.reduce<unknown>(fieldOf, value)
  const lacks = kindsOf(issue)
  const part = lacks.find(({ code, path }) => code !== 'invalid_type' || path.length > 0)
  if (part) {
    const [path, message] = explain(part, found)
    return [[...issue.path, ...path], message]
  }
  const expected = lacks.flatMap(lack => (lack.code === 'invalid_type' ? lack.expected : []))
  // JSON knows one kind of number: how many digits it has says which of ours it is.
  const kinds = [...new Set(expected.filter(kind => kind !== 'bigint'))]
  const named = [kinds.slice(0, -1).join(', '), kinds.at(-1)].filter(Boolean).join(' or ')
  return [issue.path, `Invalid input: expected ${named}, received ${kindOf(found)}`]
}

/** What each kind of a union lacks first, those of a union in it included. */
function kindsOf({ errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  return errors.flatMap(([first]) => {
    if (first?.code === 'invalid_union' && first.path.length === 0) return kindsOf(first)
    return first ?? []
  })
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return 'number'
  return Array.isArray(value) ? 'array' : typeof value
}

function reasonOf(issue: z.core.$ZodIssue, value: unknown): RejectReason {
  const found = issue.path.reduce<unknown>(fieldOf, value)
  if (found === undefined) return 'missing_key'
  if (issue.path.length === 0 && !isObject(value)) return 'not_an_object'
  if (issue.code === 'too_big' || issue.code === 'too_small' || issue.code === 'custom') return 'out_of_range'
  if (issue.code === 'invalid_union' && isInteger(found)) return 'out_of_range'
  return 'wrong_type'
}

function isInteger(value: unknown): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}

function join(path: string, key: PropertyKey): string {
  return path === '' ? String(key) : `${path}.${String(key)}`
}

/** What an answer counts and no page of it lists, so that nobody knows what it is. */
export function lackOf(
  total: number | undefined,
  listed: number,
  name: 'total_size' | 'total' = 'total_size',
): readonly Reject[] {
  if (total === undefined || total <= listed) return []
  const detail = `${name}: counts more than is listed`
  return [{ reason: 'out_of_range', detail, item: { [name]: total, listed } }]
}

/** All rows of the sets, by table, in the order they come; tables without rows are left out. */
export function mergeRows(sets: readonly RowSet[]): RowSet {
  const merged: Partial<Record<TableName, unknown[]>> = {}
  for (const set of sets) {
    for (const table of Object.keys(set) as TableName[]) {
      const rows = set[table] ?? []
      if (rows.length === 0) continue
      const target = merged[table]
      if (target) target.push(...rows)
      else merged[table] = [...rows]
    }
  }
  return merged as RowSet
}

/** One item a key; the last one wins, at the place of the first. */
export function lastByKey<T>(items: readonly T[], key: (item: T) => unknown): readonly T[] {
  return [...new Map(items.map(item => [key(item), item])).values()]
}

/** One item a key, the last one at the place of the first; those before it that say something else stand beside it, as `others`. */
export function lastOfEach<T>(
  items: readonly Read<T>[],
  key: (item: Read<T>) => unknown,
): readonly Read<T>[] {
  const last = lastByKey(items, key)
  if (last.length === items.length) return last
  const byKey = Map.groupBy(items, key)
  return last.map(item => {
    const others = othersThan(
      item.raw,
      byKey
        .get(key(item))!
        .slice(0, -1)
        .map(({ raw }) => raw),
    )
    return others.length === 0 ? item : { ...item, raw: { ...item.raw, others } }
  })
}

/** Those that say something else than the last word on the same, each once. */
export function othersThan(last: Json, before: readonly Json[]): readonly Json[] {
  const others = new Map(before.map(each => [canonicalJson(each), each]))
  others.delete(canonicalJson(last))
  return [...others.values()]
}

/** JSON with the keys of every object in order, so that equal values have equal texts. Bigints keep their digits. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`)
  return `{${members.join(',')}}`
}

/** Tells items in other words apart; undefined of items that hold a number which JSON.stringify cannot write. */
export function digestOf(items: readonly unknown[]): string | undefined {
  try {
    return hash('sha256', JSON.stringify(items), 'base64url').slice(0, DIGEST_LENGTH)
  } catch {
    return undefined
  }
}

/** 128 bits and more. */
const DIGEST_LENGTH = 22

/** The item without its secrets, at any depth; one that holds none is handed back as it is. */
export function redact(item: unknown): Json {
  return maskSecrets(item) as Json
}

/** The same for what tells of players: what they play may have a password or a token in its address. */
export function redactPlayer(item: unknown): Json {
  return maskSecrets(item, 'in addresses too') as Json
}

/** A list in pieces of `most`; the last may be shorter. */
export function pieces<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
  const count = Math.ceil(list.length / most)
  return Array.from({ length: count }, (_, n) => list.slice(n * most, (n + 1) * most))
}

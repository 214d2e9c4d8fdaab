import { isRawJSON } from './fits.ts'

/** Where secrets are looked for: under names like theirs, or in the addresses that texts hold as well. */
type Hiding = 'by name' | 'in addresses too'

/** taskToken, boardToken and what encrypts a player's stream are secrets; any name like theirs is taken for one. */
const secretName = /token|secret|password|encrypt(?:key|kdfsalt)/i

const secretField =
  /("[^"\\]{0,64}(?:token|secret|password|encrypt(?:key|kdfsalt))[^"\\]{0,64}"\s*:\s*")(?:[^"\\]|\\.)*/gi

/** Fields whose texts are addresses, also where they do not look like one. */
const addressName = /ur[il]s?$/i

const addressField = /("[^"\\]{0,64}ur[il]s?"\s*:\s*")((?:[^"\\]|\\.)*)/gi

/**
 * Replaces the values of fields that are named like secrets in bytes that could not be parsed, and on wish what is
 * secret in addresses. Works byte by byte, so that whatever else is in them stays as it came.
 */
export function redactBytes(bytes: Uint8Array, where: Hiding = 'by name'): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1').replace(secretField, `$1${redacted}`)
  if (where === 'by name') return Buffer.from(text, 'latin1')
  const addresses = text.replace(addressField, (_, name: string, told: string) => name + maskRawBare(told))
  return Buffer.from(maskRawAddresses(addresses), 'latin1')
}

/**
 * The value without its secrets, whatever their depth: each value under a secret name becomes the mark, and on wish
 * what is secret in addresses. A value that holds none is handed back as it is. Takes what a JSON reader made, no
 * deeper than the caps of that reader.
 */
export function maskSecrets(value: unknown, where: Hiding = 'by name'): unknown {
  return holdsSecret(value, where) ? masked(value, where) : value
}

function holdsSecret(value: unknown, where: Hiding): boolean {
  if (typeof value === 'string') return where !== 'by name' && value.includes('//')
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(item => holdsSecret(item, where))
  for (const key of Object.keys(value)) {
    const inner = (value as Readonly<Record<string, unknown>>)[key]
    if (inner !== null && (isSecretName(key) || holdsSecret(inner, where))) return true
    if (where !== 'by name' && addressName.test(key)) return true
  }
  return false
}

/** Names are the same again and again: to look one up takes a third of the time. */
const judgedNames = new Map<string, boolean>()
const MOST_NAMES = 1_000

function isSecretName(name: string): boolean {
  const known = judgedNames.get(name)
  if (known !== undefined) return known
  const isSecret = secretName.test(name)
  if (judgedNames.size < MOST_NAMES) judgedNames.set(name, isSecret)
  return isSecret
}

/** Object.fromEntries defines own properties only, so a key `__proto__` stays a harmless name. */
function masked(value: unknown, where: Hiding, name = ''): unknown {
  if (typeof value === 'string') return where === 'by name' ? value : maskText(value, name)
  // A number that a double cannot hold is an object by itself.
  if (typeof value !== 'object' || value === null || isRawJSON(value)) return value
  if (Array.isArray(value)) return value.map(item => masked(item, where, name))
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      inner !== null && secretName.test(key) ? redacted : masked(inner, where, key),
    ]),
  )
}

/** What stands where a secret stood. */
export const redacted = '[redacted]'

function maskText(text: string, name: string): string {
  return addressName.test(name) && !text.includes('//') ? maskBare(text) : maskAddress(text)
}

/** The same of an address that says neither scheme nor where its host begins. */
function maskBare(text: string): string {
  return maskAddress(`//${text}`).slice('//'.length)
}

/** A user with a password before the host, in each address that a text holds, with a scheme or without. */
const userinfo = /\/\/[^/?#]*@/g

/**
 * A text without users, passwords and the values of queries in the addresses that it holds. Names of values stay; a
 * part of a query without a name is a value.
 */
export function maskAddress(text: string): string {
  const told = text.replace(userinfo, `//${redacted}@`)
  // From the first query to the end: nobody can tell where an address in a text ends.
  const begin = told.indexOf('//')
  const query = begin < 0 ? 0 : told.indexOf('?', begin) + 1
  return query === 0 ? told : told.slice(0, query) + told.slice(query).split('&').map(maskPart).join('&')
}

function maskPart(part: string): string {
  const [name] = part.split('=', 1)
  if (part === '' || part === `${name}=`) return part
  return name === part ? redacted : `${name}=${redacted}`
}

/** An address in bytes of JSON that could not be parsed, to the end of its text or of the bytes. */
const rawAddress = /(?:\\?\/){2}(?:[^"\\\n]|\\.)*\\?/g

/** What may be written with an escape and tells the parts of an address apart. */
const escaped = /\\(?:(\/)|u00(2[36f]|3[adf]|40)|.)/gi

/** The same in bytes that could not be parsed; where they end within a user and a password, these are hidden too. */
function maskRawAddresses(text: string): string {
  return text.replace(rawAddress, (raw: string, at: number) => {
    const address = unescaped(raw)
    const isCut = at + raw.length === text.length && !/[/?#@]/.test(address.slice('//'.length))
    return isCut ? `//${redacted}` : maskAddress(address)
  })
}

/** What looks like an address is masked with all others. */
function maskRawBare(raw: string): string {
  const text = unescaped(raw)
  return text.includes('//') ? raw : maskBare(text)
}

function unescaped(raw: string): string {
  return raw.replace(escaped, (all: string, slash?: string, code?: string) => {
    return slash ?? (code ? String.fromCharCode(Number.parseInt(code, 16)) : all)
  })
}

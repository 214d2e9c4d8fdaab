import type { z } from 'zod'
import { type Alternatives, leaf, leafOrList, unfit } from '../settings/leaf.ts'
import { isLine, milliseconds, parseDuration, text } from '../settings/values.ts'
import { listenAllowed, readListen } from './listen.ts'

/** How long rows are kept, as milliseconds, or for ever. */
export function retentionTime() {
  const least = milliseconds('1d')
  const allowed = 'a duration of 1d or more, in h or d, or the word forever'
  const json = { type: 'string', pattern: '^([0-9]+(ms|s|m|h|d)|forever)$' }
  return leaf<number | 'forever'>({ allowed, words: ['forever'], json }, text => {
    if (text === 'forever') return text
    const value = parseDuration(text)
    return value !== undefined && value >= least ? value : unfit
  })
}

export function headerName() {
  return text('a header name: letters, digits and -', /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/)
}

/** A path of the provider: `required` names stand in it once each, `allowed` ones may. */
export function pathOf(required: readonly string[], allowed: readonly string[] = []) {
  const marks = (names: readonly string[]) => names.map(name => `{${name}}`).join(' and ')
  const may = allowed.length === 0 ? '' : `, and ${marks(allowed)} if the provider wants it`
  const ahead = [...required.map(name => `(?=.*\\{${name}\\})`), ...required.concat(allowed).map(once)].join(
    '',
  )
  const names = [...required, ...allowed].join('|')
  const segment = `(?:[A-Za-z0-9._~-]+|\\{(?:${names})\\})`
  return text(`a path with ${marks(required)} in it${may}`, new RegExp(`^${ahead}(?:/${segment})+$`))
}

function once(name: string): string {
  return `(?!.*\\{${name}\\}.*\\{${name}\\})`
}

/** A path in the file system. */
export function path() {
  return text('a path', /^[^\0]+$/, { type: 'string', minLength: 1 })
}

/** The base address of a service, without a trailing slash. */
export function baseUrl() {
  const allowed = 'an address such as https://api.example.com, without user, password, query or fragment'
  return leaf({ allowed, json: { type: 'string', pattern: '^https?://' } }, written => {
    const url = URL.parse(written)
    if (!url || !/^https?:$/.test(url.protocol) || /[?#@\s]/.test(written)) return unfit
    return `${url.origin}${url.pathname}`.replace(/\/$/, '')
  })
}

/** An address to listen on. */
export function listen() {
  return leaf(
    { allowed: listenAllowed, json: { type: 'string', pattern: ':[0-9]+$' } },
    written => readListen(written) ?? unfit,
  )
}

/** A time zone by its name in the IANA database, which changes its clocks where people do. */
export function timeZone() {
  const allowed = 'a time zone by its name in the IANA database, such as Europe/Berlin'
  // Asked once of each name: an answer takes half a millisecond, and thousands of apps share few zones.
  const known = new Map<string, boolean>()
  return leaf({ allowed, json: { type: 'string' } }, written => {
    const isKnown = known.get(written) ?? isTimeZone(written)
    known.set(written, isKnown)
    return isKnown ? written : unfit
  })
}

function isTimeZone(name: string): boolean {
  try {
    // An offset such as +05:45 would be taken as well.
    return /^[A-Z]/i.test(name) && Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** A secret, one line. */
export function secret(what: string) {
  return leaf(
    { allowed: `${what}, in one line`, secret: true, json: { type: ['string', 'number'] } },
    written => (isLine(written) ? written : unfit),
  )
}

/** Where a secret is read from: a file that holds nothing else. */
export function secretFile() {
  return leaf(
    { allowed: 'the path of a file', secret: true, json: { type: 'string', minLength: 1 } },
    written => (isLine(written) ? written : unfit),
  )
}

/** A secret, or under a key of its own the file that holds nothing else; `again`: when the file is read again. */
export function secretOrFile<K extends string>(key: K, noun: string, meaning: string, again = whenRefused) {
  return {
    [key]: secret(noun).optional().describe(meaning),
    [`${key}File`]: secretFile().optional().describe(`File that holds ${noun}, instead of ${key}.${again}`),
  } as Record<K | `${K}File`, z.ZodOptional<ReturnType<typeof secret>>>
}

const whenRefused = ' It is read again when it is refused.'

/** That a secret must be given, in one of its forms. */
export function givenOnce(key: string, ...suffixes: readonly string[]): Alternatives {
  return { keys: ['', 'File', ...suffixes].map(suffix => `${key}${suffix}`), need: 'required' }
}

/** A program that prints a secret, and its arguments. There is no shell. */
export function secretCommand() {
  const allowed = 'a program and its arguments, as a list of words or as one line (split at spaces; no shell)'
  const words = { type: 'string', minLength: 1 }
  const json = { anyOf: [words, { type: 'array', items: words, minItems: 1 }] }
  return leafOrList({ allowed, secret: true, json }, written => {
    const split = typeof written === 'string' ? written.split(/\s+/).filter(word => word !== '') : written
    return split.length > 0 && split[0] !== '' && split.every(word => !word.includes('\0')) ? split : unfit
  })
}

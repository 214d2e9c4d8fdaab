import { type JsonSchema, leaf, leafOrList, unfit } from './leaf.ts'

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof units

const shape = /^(\d{1,12})(ms|s|m|h|d)$/

/** Reads "500ms", "30s", "5m", "1h" or "7d" as milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = shape.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  const ms = Number(count) * units[unit as Unit]
  return Number.isSafeInteger(ms) ? ms : undefined
}

/** Writes milliseconds in the largest unit that divides them: 90000 becomes "90s", 3600000 "1h". */
export function formatDuration(ms: number): string {
  const fitting = (['d', 'h', 'm', 's'] as const).find(unit => ms > 0 && ms % units[unit] === 0) ?? 'ms'
  return `${ms / units[fitting]}${fitting}`
}

export function formatSeconds(seconds: number): string {
  return formatDuration(seconds * 1_000)
}

/** A whole number from `min` to `max`. */
export function count(min: number, max: number, unit = '') {
  const allowed = `a whole number${unit && ` of ${unit}`} from ${min} to ${max}`
  return leaf({ allowed, json: { type: 'integer', minimum: min, maximum: max } }, text => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : unfit
  })
}

/** A length of time from `min` to `max`, as milliseconds. */
export function duration(min: string, max: string) {
  const [least, most] = [milliseconds(min), milliseconds(max)]
  const allowed = `a duration from ${formatDuration(least)} to ${formatDuration(most)}, in ms, s, m, h or d`
  return leaf({ allowed, json: { type: 'string', pattern: '^[0-9]+(ms|s|m|h|d)$' } }, text => {
    const value = parseDuration(text)
    return value !== undefined && value >= least && value <= most ? value : unfit
  })
}

export function milliseconds(text: string): number {
  const value = parseDuration(text)
  if (value === undefined) throw new TypeError(`${text} is not a duration`)
  return value
}

/** true or false. */
export function flag() {
  return leaf({ allowed: 'true or false', words: ['true', 'false'], json: { type: 'boolean' } }, text =>
    text === 'true' ? true : text === 'false' ? false : unfit,
  )
}

/** One word of a closed set. */
export function oneOf<const W extends string>(words: readonly W[]) {
  const allowed = words.length === 1 ? `${words[0]}` : `one of ${words.join(', ')}`
  return leaf<W>(
    { allowed, words, json: { enum: words } },
    text => words.find(word => word === text) ?? unfit,
  )
}

/** One of the words, or a list of some of them, each once. */
export function oneOrMoreOf<const W extends string>(words: readonly W[]) {
  const allowed = `one of ${words.join(', ')}, or a list of some`
  const one = { enum: words }
  const json = { anyOf: [one, { type: 'array', items: one, minItems: 1, uniqueItems: true }] }
  return leafOrList({ allowed, words, json }, written => {
    const named = [written].flat().map(text => words.find(word => word === text))
    const [first, ...others] = named.filter(word => word !== undefined)
    const isFit = first !== undefined && named.length === new Set([first, ...others]).size
    return isFit ? ([first, ...others] as const) : unfit
  })
}

/** A text that a pattern describes. The pattern must not backtrack. */
export function text(allowed: string, pattern: RegExp, json: JsonSchema = { type: 'string' }) {
  return leaf({ allowed, json }, written => (pattern.test(written) ? written : unfit))
}

/** An identifier of the provider: under 64 bytes, of any characters that can be printed. */
export function identifier(what: string) {
  return line(`${what}, under 64 bytes in UTF-8`, 63)
}

/** A channel may have another name than a room, which no document bounds; services of this kind take 64 bytes. */
export function channelName() {
  return line('a channel name of at most 64 bytes in UTF-8', 64)
}

function line(allowed: string, mostBytes: number) {
  return leaf({ allowed, json: { type: ['string', 'number'] } }, written =>
    isLine(written) && Buffer.byteLength(written) <= mostBytes ? written : unfit,
  )
}

/** Whether a text is one line that can be printed. */
export function isLine(written: string): boolean {
  return written !== '' && !/\p{Cc}/u.test(written)
}

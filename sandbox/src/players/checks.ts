/** Whether a value of a request keeps the rule of its field. */
export type Check = (value: unknown) => boolean

/** Fields of an object, each with its rule; null is as good as nothing, and fields without a rule pass. */
export type Checks = Readonly<Record<string, Check>>

const letters = 'abcdefghijklmnopqrstuvwxyz'
const alphanumeric = `${letters}${letters.toUpperCase()}0123456789`

/** What a channel and an account may be written with. */
export const channelAlphabet: ReadonlySet<string> = new Set(`${alphanumeric} !#$%&()+-:;<=.>?@[]^_|~,`)
export const nameAlphabet: ReadonlySet<string> = new Set(`${alphanumeric}-_`)

export const isString: Check = value => typeof value === 'string'
export const isBoolean: Check = value => typeof value === 'boolean'
export const isNumber: Check = value => typeof value === 'number' && Number.isFinite(value)
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function between(least: number, most: number): Check {
  return value => typeof value === 'number' && value >= least && value <= most
}

export function wholeBetween(least: number, most: number): Check {
  const isBetween = between(least, most)
  return value => Number.isInteger(value) && isBetween(value)
}

export function oneOf(...words: readonly string[]): Check {
  return value => typeof value === 'string' && words.includes(value)
}

/** A text that is not empty, of so many bytes at most, with these characters alone. */
export function text(bytes: number, alphabet?: ReadonlySet<string>): Check {
  return value => {
    if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > bytes) return false
    return alphabet === undefined || [...value].every(character => alphabet.has(character))
  }
}

/** The first field that breaks its rule. */
export function brokenField(
  fields: Readonly<Record<string, unknown>>,
  checks: Checks,
  prefix = '',
): string | undefined {
  const broken = Object.entries(checks).find(([name, check]) => {
    const value = fields[name]
    return value !== undefined && value !== null && !check(value)
  })
  return broken && prefix + broken[0]
}

const plus = 0x2b
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const upperE = 0x45
const lowerE = 0x65

/** A longer integer is an attack, and BigInt takes its time over millions of digits. */
const longestInteger = 1_000

const integer = /^-?\d+$/

const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => object }

/** Integers of fewer digits are exact; those of more are not. */
const DIGITS_OF_UNSAFE = 16
/** Numbers of so many digits before the point, the exponent counted, are below the largest double. */
const DIGITS_OF_FINITE = 308

/**
 * Where the number ends that begins at `start`; below zero where a double may not hold it. What is not
 * written as JSON has it is never among those: put aside, it would be mended.
 */
export function endOfNumber(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === minus ? start + 1 : start
  let end = endOfDigits(bytes, first)
  const digits = end - first
  let isWritten = digits === 1 || bytes[first] !== zero
  let next = bytes[end]
  if (next !== point && next !== lowerE && next !== upperE) {
    return isWritten && digits >= DIGITS_OF_UNSAFE && !isSafe(bytes, first, end) ? -end : end
  }
  if (next === point) {
    const fraction = end + 1
    end = endOfDigits(bytes, fraction)
    isWritten &&= end > fraction
    next = bytes[end]
  }
  let power = 0
  if (next === lowerE || next === upperE) {
    const sign = bytes[end + 1]
    const exponent = sign === plus || sign === minus ? end + 2 : end + 1
    end = endOfDigits(bytes, exponent)
    isWritten &&= end > exponent
    if (sign !== minus) power = valueIn(bytes, exponent, end)
  }
  return isWritten && digits + power > DIGITS_OF_FINITE ? -end : end
}

/** The number in the bytes from `start` to `end` with all of its digits; one that fits a double after all as that. */
export function exactNumber(bytes: Uint8Array, start: number, end: number): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
  if (integer.test(text)) return text.length <= longestInteger ? BigInt(text) : rawJSON(text)
  const value = Number(text)
  return Number.isFinite(value) ? value : rawJSON(text)
}

function endOfDigits(bytes: Uint8Array, start: number): number {
  let i = start
  while (bytes[i]! >= zero && bytes[i]! <= nine) i++
  return i
}

/** Beyond 2^53 the sum is rounded, but never to something below it. */
function isSafe(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === DIGITS_OF_UNSAFE && Number.isSafeInteger(valueIn(bytes, start, end))
}

function valueIn(bytes: Uint8Array, start: number, end: number): number {
  let value = 0
  for (let i = start; i < end; i++) value = value * 10 + (bytes[i]! - zero)
  return value
}

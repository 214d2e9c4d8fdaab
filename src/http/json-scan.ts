export interface JsonCaps {
  /**
   * Deepest nesting of objects and arrays; what is deeper is kept as text. JSON.stringify dies at some thousand levels,
   * JSON.parse does not.
   */
  readonly depth: number
  /** Most object keys, arrays and objects together: what costs memory far beyond its bytes. */
  readonly nodes: number
  /** Most numbers, texts and words in the place of a value: each takes eight bytes and more, however short it is. */
  readonly scalars: number
  /** Most members of one object, which is parsed in one go. */
  readonly members: number
  /** Most numbers that a double may not hold. */
  readonly precious: number
}

/** A body that is no acceptable JSON. The text is a clause of ours and holds nothing of the body. */
export class JsonError extends Error {
  override readonly name: string = 'JsonError'
}

/** A body that may be well, but has more parts than there is memory for: less must be asked for. */
export class JsonTooLarge extends JsonError {
  override readonly name = 'JsonTooLarge'
}

/** What is parsed in one go: a value, or some elements of an array that is too long for that. */
export interface Part {
  readonly holds: 'value' | 'elements'
  readonly from: number
  readonly to: number
  /** Number of the value that it is, or belongs to. */
  readonly of: number
  /** Begin, end and number of each value inside that stands elsewhere. */
  readonly marks: readonly number[]
}

export interface Scan {
  /** In the order in which they can be parsed: what is inside another comes before it. The last one is the body. */
  readonly parts: readonly Part[]
  /** Begin, end and number of each number that no double holds. */
  readonly precious: readonly number[]
  /** Begin, end and number of each object or array that is nested too deep. */
  readonly deep: readonly number[]
  /** How many values have a number. */
  readonly values: number
}

const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const upperE = 0x45
const openArray = 0x5b
const backslash = 0x5c
const closeArray = 0x5d
const lowerE = 0x65
const openObject = 0x7b
const closeObject = 0x7d

/** Bytes of a part, more or less: some milliseconds, whatever they hold. */
const PART_BYTES = 131_072

/**
 * One pass over the bytes before anything is built of them; no byte of a longer UTF-8 character looks like these.
 * Counts what the caps are about, finds the numbers that need care, and cuts a long body into parts. Whether it is JSON
 * is for JSON.parse to say; brackets alone must match, since parts are cut by them.
 */
export function scanJson(bytes: Uint8Array, caps: JsonCaps): Scan {
  const parts: Part[] = []
  const precious: number[] = []
  const deep: number[] = []
  /** Marks of the part that is open, those of the containers around it before them. */
  const marks: number[] = []
  /** For each open container: its first byte, where its open part begins, how many marks and cut bytes precede them. */
  const opened: number[] = []
  const before: number[] = []
  const begun: number[] = []
  const marked: number[] = []
  const gone: number[] = []
  /** Number of its value where it is cut; 0 while it is not. */
  const split: number[] = []
  const members: number[] = [0]
  let [depth, nodes, scalars, values, cut] = [0, 0, 0, 0, 0]

  const close = (holds: Part['holds'], from: number, to: number, of: number, inside: number) => {
    parts.push({ holds, from, to, of, marks: marks.splice(inside) })
  }

  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if ((byte >= zero && byte <= nine) || byte === minus) {
      scalars++
      const end = endOfNumber(bytes, i)
      if (end < 0) {
        marks.push(i, -end, ++values)
        precious.push(i, -end, values)
        if (precious.length > 3 * caps.precious) {
          throw new JsonTooLarge(`the body has more than ${caps.precious} numbers that a double may not hold`)
        }
      }
      i = Math.abs(end) - 1
    } else if (byte === comma) {
      if (depth === 0 || depth > caps.depth || i - begun[depth]! - (cut - gone[depth]!) < PART_BYTES) continue
      if (bytes[opened[depth]!] !== openArray) continue
      split[depth] ||= ++values
      close('elements', begun[depth]!, i, split[depth]!, marked[depth]!)
      begun[depth] = i + 1
      gone[depth] = cut
    } else if (byte === quote) {
      i = endOfString(bytes, i + 1)
      scalars++
    } else if (byte === openArray || byte === openObject) {
      nodes++
      depth++
      opened[depth] = i
      begun[depth] = i + 1
      marked[depth] = marks.length
      before[depth] = cut
      gone[depth] = cut
      split[depth] = 0
      members[depth] = 0
    } else if (byte === closeArray || byte === closeObject) {
      const first = opened[depth]!
      // The codes of a bracket and of the one that closes it are two apart.
      if (depth === 0 || bytes[first] !== byte - 2) throw new JsonError('the body is not JSON')
      let of = split[depth]!
      if (depth > caps.depth) {
        // Of what lies inside nothing is put anywhere.
        marks.length = marked[depth]!
        if (depth === caps.depth + 1) {
          of = ++values
          deep.push(first, i + 1, of)
        }
      } else if (of > 0) {
        close('elements', begun[depth]!, i, of, marked[depth]!)
      } else if (i - first - (cut - gone[depth]!) >= PART_BYTES) {
        of = ++values
        close('value', first, i + 1, of, marked[depth]!)
      }
      if (of > 0) {
        marks.push(first, i + 1, of)
        cut = before[depth]! + i + 1 - first
      }
      depth--
    } else if (byte === colon) {
      nodes++
      // What stands before it was a key, which has been counted as one.
      scalars--
      if (++members[depth]! > caps.members) {
        throw new JsonTooLarge(`an object of the body has more than ${caps.members} members`)
      }
    } else if (byte > 0x60) {
      while (bytes[i + 1]! > 0x60 && bytes[i + 1]! < openObject) i++
      scalars++
    }
    if (nodes > caps.nodes) throw new JsonTooLarge(`the body has more than ${caps.nodes} parts`)
    if (scalars > caps.scalars) throw new JsonTooLarge(`the body has more than ${caps.scalars} values`)
  }
  if (depth > 0) throw new JsonError('the body is not JSON')
  close('value', 0, bytes.length, 0, 0)
  return { parts, precious, deep, values: values + 1 }
}

function endOfString(bytes: Uint8Array, start: number): number {
  let i = start
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1
  return i
}

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
function endOfNumber(bytes: Uint8Array, start: number): number {
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

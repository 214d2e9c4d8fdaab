import type { Random } from '../../src/clock/clock.ts'

/**
 * A repeatable source of chance (xoshiro128** seeded through splitmix32): equal seeds give equal sequences
 * on every machine. Not for secrets.
 */
export function seededRandom(seed: number | string): Random {
  const state = seedState(typeof seed === 'number' ? seed >>> 0 : hash(seed))
  const word = () => {
    const result = Math.imul(rotate(Math.imul(state[1]!, 5), 7), 9) >>> 0
    const shifted = state[1]! << 9
    state[2]! ^= state[0]!
    state[3]! ^= state[1]!
    state[1]! ^= state[2]!
    state[0]! ^= state[3]!
    state[2]! ^= shifted
    state[3] = rotate(state[3]!, 11)
    return result
  }
  return { next: () => word() / 2 ** 32, uuid: () => uuidFrom([word(), word(), word(), word()]) }
}

function seedState(seed: number): Int32Array {
  let mixed = seed
  return Int32Array.from({ length: 4 }, () => {
    mixed = (mixed + 0x9e3779b9) | 0
    let word = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
    return word ^ (word >>> 15)
  })
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}

/** FNV-1a, so that a seed may be a word. */
function hash(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return sum >>> 0
}

function uuidFrom(words: readonly number[]): string {
  const hex = words.map(word => word.toString(16).padStart(8, '0')).join('')
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

/**
 * Chance without a sequence: the same words always meet the same fate, in whatever order one asks. For the
 * countless values that are made up on demand.
 */
export function hashOf(...words: readonly (string | number)[]): number {
  let sum = 0x811c9dc5
  for (const word of words) {
    const text = String(word)
    for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
    sum = Math.imul(sum ^ 0x1f, 0x01000193)
  }
  return scramble(sum)
}

/** Another hash of a hash and a number; cheap enough for millions. */
export function hashOn(hash: number, n: number): number {
  return scramble(hash ^ Math.imul(n | 0, 0x9e3779b1))
}

/** The hash as a share, 0 (included) to 1. */
export function shareOf(hash: number): number {
  return hash / 2 ** 32
}

/** Whether the lot falls on something that befalls a share of all. */
export function befalls(share: number, ...words: readonly (string | number)[]): boolean {
  return share > 0 && shareOf(hashOf(...words)) < share
}

function scramble(sum: number): number {
  let word = Math.imul(sum ^ (sum >>> 16), 0x21f0aaad)
  word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
  return (word ^ (word >>> 15)) >>> 0
}

/** A list in pieces of `most`; the last may be shorter. */
export function pieces<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
  const count = Math.ceil(list.length / most)
  return Array.from({ length: count }, (_, n) => list.slice(n * most, (n + 1) * most))
}

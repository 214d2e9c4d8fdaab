/** The word nearest to what was written, if it is near enough to be a slip. */
export function nearest(written: string, words: readonly string[]): string | undefined {
  const plain = simplify(written)
  const same = words.find(word => simplify(word) === plain)
  if (same !== undefined) return same
  const most = Math.max(1, Math.floor(plain.length / 3))
  const ranked = words
    .map(word => ({ word, distance: distance(plain, simplify(word)) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((a, b) => a.distance - b.distance)
  return ranked[0]?.word
}

/** Case, hyphens and underscores are the commonest slips. Long texts are no slips: the cut bounds the work. */
function simplify(word: string): string {
  return word
    .toLowerCase()
    .replace(/[-_\s]/g, '')
    .slice(0, 64)
}

/** Insertions, deletions, replacements and swaps of neighbours that make one word of the other. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : replaced
      row.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped))
    }
  }
  return at(a.length, b.length)
}

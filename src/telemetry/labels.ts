/** Stands for every value beyond the cap of a label. */
const otherLabel = 'other'

const longestLabel = 64

/** Gives each of the first `cap` values a label of its own, and all later ones one together. */
export function cappedLabel(cap: number): (value: string) => string {
  const labels = new Map<string, string>()
  return value => {
    const known = labels.get(value)
    if (known !== undefined) return known
    if (labels.size >= cap) return otherLabel
    const label = safeLabel(value)
    labels.set(value, label)
    return label
  }
}

/** Gives the values of a closed set as they are, and any other as one. */
export function closedLabel(values: readonly string[]): (value: string) => string {
  const known = new Set(values)
  return value => (known.has(value) ? value : otherLabel)
}

/** The exposition format escapes quotes and line ends, but lets NUL and lone surrogates through as they are. */
function safeLabel(value: string): string {
  return value.slice(0, longestLabel).replace(/[^\x20-\x7e]/g, '?')
}

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

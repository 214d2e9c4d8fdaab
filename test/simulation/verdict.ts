/** One line for people, or nothing where a run found nothing; the JSON beside it says more. */
function verdictLine(found: Readonly<Record<string, unknown>>): string | undefined {
  const words = Object.entries(found).map(([what, how]) => `${what} ${JSON.stringify(how)}`)
  return words.length === 0 ? undefined : `FAILED: ${words.join('; ')}`
}

/** Tells it, and lets the process end with 1 where something was found. */
export function pronounce(found: Readonly<Record<string, unknown>>): void {
  const line = verdictLine(found)
  if (line === undefined) return
  process.stderr.write(`${line}\n`)
  process.exitCode = 1
}

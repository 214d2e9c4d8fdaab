const fixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Reads an HTTP date (RFC 9110, IMF-fixdate) as ms since the epoch; undefined for anything else. The form is
 * checked first because Date.parse makes a date of nearly any word that is followed by a number.
 */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined || !fixdate.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

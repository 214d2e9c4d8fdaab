/**
 * Writes everything but printable ASCII as `\uXXXX`. On a line of JSON that changes no value, for such
 * characters stand only inside strings there; and no line can hold a second line, a colour, or text that a
 * terminal would show backwards.
 */
export function asciiLine(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

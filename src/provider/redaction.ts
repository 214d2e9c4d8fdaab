/** What stands where a secret stood. */
export const redacted = '[redacted]'

const tokenField = /("[^"\\]{0,64}(?:token|secret|password)[^"\\]{0,64}"\s*:\s*")(?:[^"\\]|\\.)*/gi

/**
 * Replaces the values of fields that are named like secrets in bytes that could not be parsed. Works byte by
 * byte, so that whatever else is in them stays as it came.
 */
export function redactBytes(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1')
  return Buffer.from(text.replace(tokenField, `$1${redacted}`), 'latin1')
}

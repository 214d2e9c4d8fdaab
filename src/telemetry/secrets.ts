export const redacted = '[redacted]'

/** A shorter word would also be found where it is no secret. */
const shortestSecret = 4

/** Replaces every known secret in a text, in each form in which it may have been written. */
export type SecretFilter = (text: string) => string

/**
 * A filter for these secrets as they are, URL-encoded, as base64 and as JSON writes them. The longest form goes
 * first, so that no piece of a secret stays behind where one secret is part of another.
 */
export function secretFilter(secrets: readonly string[]): SecretFilter {
  const forms = [...new Set(secrets.filter(secret => secret.length >= shortestSecret).flatMap(formsOf))]
  const longestFirst = forms.toSorted((a, b) => b.length - a.length)
  return text => longestFirst.reduce((rest, form) => rest.replaceAll(form, redacted), text)
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const wellFormed = secret.toWellFormed()
  return [
    secret,
    encodeURIComponent(wellFormed),
    new URLSearchParams([['', wellFormed]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]
}

const secretWords = /token|secret|authori[sz]ation|password|passwd|passphrase|cookie|credential|signature/i
const secretKey = /^key$|[_-]key$|[a-z]Key$/

/** Whether a field of this name may hold a secret. */
export function isSecretName(name: string): boolean {
  return secretWords.test(name) || secretKey.test(name)
}

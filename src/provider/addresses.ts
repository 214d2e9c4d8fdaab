/** What stands where a secret stood. */
export const redacted = '[redacted]'

/** A user with a password before the host, in each address that a text holds. */
const userinfo = /:\/\/[^/?#]*@/g

/** From the first query to the end: nobody can tell where an address in a text ends. */
const query = /(:\/\/[^?]*\?)([\s\S]*)/

/**
 * A text without users, passwords and the values of queries in the addresses that it holds. Names of values stay; a
 * part of a query without a name is a value.
 */
export function maskAddress(text: string): string {
  return text
    .replace(userinfo, `://${redacted}@`)
    .replace(query, (_, before: string, values: string) => before + values.split('&').map(maskPart).join('&'))
}

function maskPart(part: string): string {
  const [name] = part.split('=', 1)
  if (part === '' || part === `${name}=`) return part
  return name === part ? redacted : `${name}=${redacted}`
}

/** An address in bytes of JSON that could not be parsed, to the end of its text or of the bytes. */
const rawAddress = /:(?:\\?\/){2}(?:[^"\\\n]|\\.)*\\?/g

/** What may be written with an escape and tells the parts of an address apart. */
const escaped = /\\(?:(\/)|u00(2[36f]|3[adf]|40)|.)/gi

/** The same in bytes that could not be parsed; where they end within a user and a password, these are hidden too. */
export function maskRawAddresses(text: string): string {
  return text.replace(rawAddress, (raw: string, at: number) => {
    const address = raw.replace(escaped, (all: string, slash?: string, code?: string) => {
      return slash ?? (code ? String.fromCharCode(Number.parseInt(code, 16)) : all)
    })
    const isCut = at + raw.length === text.length && !/[/?#@]/.test(address.slice('://'.length))
    return isCut ? `://${redacted}` : maskAddress(address)
  })
}

import type { Config } from './config.ts'
import type { Secret } from './secret.ts'

/** Shorter texts occur everywhere: a filter that replaced them would make logs unreadable. */
const shortest = 4

/**
 * Plain texts of all secrets revealed so far, and the forms in which they travel (percent-encoded, and as
 * basic authentication), longest first. For the filter that keeps them out of logs and errors; ask again
 * after a secret was read anew.
 */
export function knownSecrets(config: Config): readonly string[] {
  const { database, provider, apps } = config
  const texts = [
    ...database.url.known().flatMap(addressSecrets),
    ...(provider.proxy?.known() ?? []).flatMap(proxySecrets),
    ...apps.flatMap(({ classroom, rest, notifications }) => [
      ...(classroom ? [...classroom.uid.known(), ...classroom.token.known()] : []),
      ...(notifications?.secret.known() ?? []),
      ...(rest ? [...rest.key.known(), ...rest.secret.known(), ...basic(rest.key, rest.secret)] : []),
    ]),
  ]
  const forms = texts.flatMap(text => [text, encodeURIComponent(text.toWellFormed())])
  return [...new Set(forms)].filter(text => text.length >= shortest).toSorted((a, b) => b.length - a.length)
}

function basic(key: Secret, secret: Secret): readonly string[] {
  return key
    .known()
    .flatMap(user => secret.known().map(password => Buffer.from(`${user}:${password}`).toString('base64')))
}

/** The password travels as the header has it, too. */
function proxySecrets(address: string): readonly string[] {
  const url = URL.parse(address)
  const pair = url ? `${decoded(url.username)}:${decoded(url.password)}` : ''
  return [...addressSecrets(address), ...(url?.password ? [Buffer.from(pair).toString('base64')] : [])]
}

/** An address without a password tells nothing that a log must not say. */
function addressSecrets(address: string): readonly string[] {
  const password = URL.parse(address)?.password
  return password ? [address, password, decoded(password)] : []
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

import type { Config } from './config.ts'
import type { Secret } from './secret.ts'

/**
 * Plain texts of all secrets revealed so far, pairs as basic authentication joins them, for the filter that keeps them
 * out of logs and errors; ask again after a secret was read anew.
 */
export function knownSecrets({ database, provider, apps }: Config): readonly string[] {
  return [
    ...[database.url, database.directUrl, database.readUrl].flatMap(
      url => url?.known().flatMap(addressSecrets) ?? [],
    ),
    ...(provider.proxy?.known() ?? []).flatMap(addressSecrets),
    ...apps.flatMap(({ classroom, rest, notifications }) => [
      ...(classroom ? [...classroom.uid.known(), ...classroom.token.known()] : []),
      ...(notifications?.secret.known() ?? []),
      ...(rest ? [...rest.key.known(), ...rest.secret.known(), ...pairs(rest.key, rest.secret)] : []),
    ]),
  ]
}

function pairs(key: Secret, secret: Secret): readonly string[] {
  return key.known().flatMap(user => secret.known().map(password => `${user}:${password}`))
}

/** An address without a password tells nothing that a log must not say. */
function addressSecrets(address: string): readonly string[] {
  const { username = '', password = '' } = URL.parse(address) ?? {}
  if (password === '') return []
  return [address, password, decoded(password), `${decoded(username)}:${decoded(password)}`]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

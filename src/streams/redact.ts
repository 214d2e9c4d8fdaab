import { maskSecrets } from '../provider/redaction.ts'
import type { Json } from '../tables/json.ts'

/** The item without its secrets, at any depth; one that holds none is handed back as it is. */
export function redact(item: unknown): Json {
  return maskSecrets(item) as Json
}

/** The same for what tells of players: what they play may have a password or a token in its address. */
export function redactPlayer(item: unknown): Json {
  return maskSecrets(item, 'in addresses too') as Json
}

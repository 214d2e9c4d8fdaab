import { createHash } from 'node:crypto'
import type { AppConfig } from '../config/config.ts'

/**
 * Whose counter an app's requests are debited to: the credential's, told by a digest of its key that tells nothing of
 * it, or the app's own where the operator knows that the provider counts so.
 */
export function counterScope(counters: 'credential' | 'app' | undefined, { id, rest }: AppConfig): string {
  if (counters === 'app' || !rest) return id
  // Loading the configuration has read the key, wherever it lies.
  const [key = ''] = rest.key.known()
  return `key:${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
}

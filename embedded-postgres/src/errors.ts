/**
 * Why the embedded Postgres could not be had.
 * platform: no binaries for this machine; account: no user to run it as; owned: another live process has it;
 * cluster: the data directory is not usable; start: Postgres itself did not come up or go down.
 */
export type EmbeddedFailure = 'platform' | 'account' | 'owned' | 'cluster' | 'start'

/** The only error this folder throws on purpose; its message says what is wrong and what to do. */
export class EmbeddedPostgresError extends Error {
  readonly kind: EmbeddedFailure

  constructor(kind: EmbeddedFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedPostgresError'
    this.kind = kind
  }
}

/** The code of a Node or Postgres error ('ENOENT', '3D000'), or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

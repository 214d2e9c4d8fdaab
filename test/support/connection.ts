/** A connection as the configuration has it where it says nothing. */
export const defaultConnection = {
  poolSize: 8,
  statementTimeout: 30_000,
  lockTimeout: 5_000,
  role: 'penstock_runtime',
}

export { EmbeddedPostgresError } from './errors.ts'
export { startEmbedded } from './start.ts'

import type { Operation } from '../operation.ts'
import { createPlayer } from './create.ts'
import { deletePlayer } from './delete.ts'
import { listPlayers } from './list.ts'

export * from './answers.ts'
export * from './create.ts'
export * from './delete.ts'
export * from './errors.ts'
export * from './fields.ts'
export * from './limits.ts'
export * from './list.ts'
export * from './notification.ts'

/** The three operations of the document. */
export const playerOperations: readonly Operation[] = [createPlayer, deletePlayer, listPlayers]

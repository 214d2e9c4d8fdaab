import { perMinute, perSecond, type Rate } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { createPlayer } from './create.ts'
import { deletePlayer } from './delete.ts'
import { listPlayers } from './list.ts'

export * from './create.ts'
export * from './delete.ts'
export * from './errors.ts'
export * from './list.ts'

/** The three operations of the document. */
export const playerOperations = [createPlayer, deletePlayer, listPlayers] as const

export const playerGroups = [
  'players-create',
  'players-create-unnamed',
  'players-delete',
  'players-list',
  'players-list-all',
] as const
export type PlayerGroup = (typeof playerGroups)[number]

/**
 * Rates of the players document. It does not say what its second limits of Create and List are for; elsewhere they
 * hold for players without a name and for lists without a filter.
 */
export const playerRates: Readonly<Record<PlayerGroup, readonly Rate[]>> = {
  'players-create': [perSecond(2)],
  'players-create-unnamed': [perSecond(50)],
  'players-delete': [perSecond(100)],
  'players-list': [perSecond(2), perMinute(15)],
  'players-list-all': [perSecond(10), perMinute(20)],
}

/**
 * How the document's limits are read. `joint`: all Creates and all Lists share the smaller limit, which is inside
 * either reading; `split`: those without a name or a filter have the larger one for themselves.
 */
export const playerLimitReadings = ['joint', 'split'] as const
export type PlayerLimitReading = (typeof playerLimitReadings)[number]

/** What tells the counters of one operation apart. */
export interface PlayerQuestion {
  /** Of a player that is created. */
  readonly name?: string | undefined
  /** Of a list. */
  readonly filter?: string | undefined
}

/** The group whose limits hold for a request; lists with a filter are counted for each filter by itself. */
export function playerGroupOf(
  operation: Operation,
  { name, filter }: PlayerQuestion,
  reading: PlayerLimitReading,
): { readonly group: PlayerGroup; readonly counter: string } {
  const group = operation.limitGroup as PlayerGroup
  if (reading === 'joint') return { group, counter: '' }
  if (operation.name === createPlayer.name) {
    return { group: name === undefined ? 'players-create-unnamed' : group, counter: '' }
  }
  if (operation.name !== listPlayers.name) return { group, counter: '' }
  return filter === undefined ? { group: 'players-list-all', counter: '' } : { group, counter: filter }
}

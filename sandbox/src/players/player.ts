import type { PlayerStatus } from '../../../src/provider/players/index.ts'
import type { Switches } from '../switches.ts'

/** Why a player is no longer there. */
export type EndReason = 'deleted' | 'idle-timeout' | 'server-error'

/** What a player is made of, once its rules have been read. */
export interface Draft {
  readonly region: string
  readonly streamUrl: string
  readonly channelName: string
  readonly uid: number | undefined
  readonly account: string | undefined
  readonly name: string | undefined
  readonly token: string | undefined
  /** Seconds, within what is allowed. */
  readonly idleTimeout: number
  /** Unix seconds; 0 is at once. */
  readonly playTs: number
  /** How often a file is played; below 0 again and again. */
  readonly repeatTime: number
  /** Seconds from the beginning of a file. */
  readonly seekPosition: number
}

export interface StatusChange {
  readonly status: PlayerStatus
  /** Unix milliseconds of the world. */
  readonly at: number
}

/** A cloud player that lives or has lived. */
export interface Player extends Draft {
  readonly id: string
  /** Place in the order of creation within its app, from 1. */
  readonly number: number
  /** Unix milliseconds of the world, as all times. */
  readonly createdAt: number
  /** From the beginning on; the last one is what it is now, or was at its end. */
  readonly changes: StatusChange[]
  destroyedAt: number | undefined
  reason: EndReason | undefined
}

/** Whole Unix seconds, as the provider tells the time of creation. */
export function createTs({ createdAt }: Pick<Player, 'createdAt'>): number {
  return Math.floor(createdAt / 1_000)
}

/** The same as answers have it. */
export function toldCreateTs(player: Pick<Player, 'createdAt'>, { playerTimes }: Switches): number | string {
  return playerTimes === 'text' ? String(createTs(player)) : createTs(player)
}

export function statusOf({ changes }: Player): PlayerStatus {
  return changes.at(-1)!.status
}

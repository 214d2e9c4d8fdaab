import type { CreateAnswer, PlayerItem } from '../../provider/players/index.ts'
import type { Named } from '../answers.ts'

/** A player that was made, or found again after an answer was lost. */
export interface Created extends Named<CreateAnswer> {
  /** Its name, made up where none was given. */
  readonly name: string
  /** Found again: the request that made it was answered to nobody. */
  readonly adopted: boolean
}

/** A player of a list as if its Create had been answered. */
export function adopted(name: string, player: Pick<PlayerItem, 'id'> & Partial<PlayerItem>): Created {
  const { uid, account, createTs, status } = player
  const told = Object.entries({ uid, account, createTs, status }).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  const fields = ['id', ...told.map(([field]) => field)].join(',')
  return { player: { id: player.id, ...Object.fromEntries(told) }, fields, name, adopted: true }
}

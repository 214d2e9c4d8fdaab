import { gone } from './refusals.ts'
import { readRegion } from './region.ts'
import type { Action, PlayerContext } from './visit.ts'

/** Reads a Delete. A player is found in its own region alone. Throws 400. */
export function readDelete({ request, world, now }: PlayerContext): Action {
  const region = readRegion(request)
  const { id = '' } = request.params
  return () => {
    const player = world.players.find(id)
    if (player?.region !== region) throw gone(id)
    world.players.destroy(player, 'deleted', now)
    return { resourceId: id }
  }
}

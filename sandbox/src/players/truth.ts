import type { Universe } from '../universe.ts'
import type { Notice } from './notices.ts'
import type { Player } from './player.ts'

/** A player as it was made, and all that became of it. Times are Unix milliseconds of the world. */
export type TruePlayer = Readonly<
  Pick<
    Player,
    | 'id'
    | 'region'
    | 'name'
    | 'uid'
    | 'account'
    | 'channelName'
    | 'streamUrl'
    | 'createdAt'
    | 'changes'
    | 'destroyedAt'
    | 'reason'
  >
>

/** Every player that an app ever had, in the order of creation. Throws where there is no such app. */
export function truePlayers(universe: Universe, app: string): readonly TruePlayer[] {
  universe.happened()
  return playersOf(universe, app).all.map(player => {
    const { id, region, name, uid, account, channelName, streamUrl } = player
    const { createdAt, changes, destroyedAt, reason } = player
    return {
      ...{ id, region, name, uid, account, channelName, streamUrl },
      ...{ createdAt, changes: [...changes], destroyedAt, reason },
    }
  })
}

/** Every notification about them, in the order of what happened. Throws where there is no such app. */
export function trueNotices(universe: Universe, app: string): readonly Notice[] {
  universe.happened()
  return playersOf(universe, app).notices.log.map(notice => ({ ...notice, sentAt: [...notice.sentAt] }))
}

function playersOf(universe: Universe, app: string) {
  const world = universe.app(app)
  if (!world) throw new Error(`the sandbox has no app ${app}`)
  return world.players
}
